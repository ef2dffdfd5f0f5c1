// A process with a whole profile whose turns never end, for a test that kills it: `served-profile.ts <home> <name>`. Says when it listens and when
// a turn has begun.
import { ok, SystemClock } from '@parley/core'
import { ReplayJournal } from '../envelope/replay-journal.ts'
import { linkPaths, loadIdentity } from '../identity/files.ts'
import { LinkServer } from '../server/server.ts'
import type { AskPart } from '../service/ask-port.ts'
import { LinkService } from '../service/service.ts'

const [home, profile] = process.argv.slice(2) as [string, string]
const clock = new SystemClock()
const paths = linkPaths(home)

async function* forever(): AsyncGenerator<AskPart> {
  console.log('asked')
  yield { type: 'text', text: 'thinking' }
  await new Promise(() => undefined)
}

const service = new LinkService({
  home,
  profile,
  clock,
  ask: { start: async () => ok(forever()) },
  dailyUsd: () => 5,
})
await LinkServer.start({
  identity: loadIdentity(home),
  clock,
  journal: ReplayJournal.open(paths.replay, { clock }),
  socket: paths.socket,
  pins: service.pins,
  handler: service.handler,
})
console.log('listening')
