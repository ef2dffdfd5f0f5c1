// A process with a whole profile whose turns never end, for a test that kills it: `served-profile.ts <home> <name>`.
// Says when it listens and when a turn has begun.
import { SystemClock } from '@parley/core'
import { openLedger } from '../budget/ledger-file.ts'
import { ReplayJournal } from '../envelope/replay-journal.ts'
import { linkPaths, loadIdentity } from '../identity/files.ts'
import { LinkServer } from '../server/server.ts'
import { LinkService } from '../service/service.ts'
import { owner, ScriptedRuns } from './scripted-runs.ts'

const [home, profile] = process.argv.slice(2) as [string, string]
const clock = new SystemClock()
const paths = linkPaths(home)

const runs = new ScriptedRuns(async function* () {
  console.log('asked')
  yield { text: 'thinking' }
  await new Promise(() => undefined)
})

const service = new LinkService({
  home,
  profile,
  clock,
  runs: () => runs,
  owner,
  ledger: openLedger(paths.ledger, { clock, cap: () => 5 }),
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
