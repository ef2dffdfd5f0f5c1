// The profile in a process of its own, so that whoever calls it has a core to itself. Says where it listens, and ends
// with its parent.
import { serveProfile } from './profile.ts'

const { target, close } = await serveProfile()
process.once('disconnect', () => void close().then(() => process.exit(0)))
process.send!(target)
