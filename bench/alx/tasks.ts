// Whole tasks of `bench kernel`, by its own code, in a process of their own: the same runtime, without a server before
// it.
import { Parley } from '../kernel/parley.ts'
import type { Measured } from './http-client.ts'

export interface TasksAsked {
  readonly runs: number
  readonly milliseconds: number
}

process.on('message', async ({ runs, milliseconds }: TasksAsked) => {
  // With signatures, as a profile comes.
  const parley = await Parley.open(true)
  const perSecond = await parley.tasks(runs, milliseconds)
  await parley.close()
  process.send!({ perSecond } satisfies Measured)
})
process.once('disconnect', () => process.exit(0))
