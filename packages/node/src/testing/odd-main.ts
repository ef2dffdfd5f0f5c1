// A background process for tests that misbehaves as its environment tells it: `hang` never stops by itself, `throw` has
// an error that nobody catches, `full` one of the machine, `no-room` meets one as it starts, `sleep` never becomes a
// node, `crash` ends at once, `block` lets nothing else happen for a while, `freeze` for ever.
import { NODE_EXIT } from '../exit.ts'
import { runNode } from '../run.ts'
import { ScriptedCoordinator } from './scripted-coordinator.ts'

const how = process.env.PARLEY_ODD
if (how === 'crash') throw new Error('this node has no luck')
if (how === 'sleep') setInterval(() => undefined, 60_000)
else {
  const ended = await runNode({
    flags: { profile: process.argv[3] },
    startedBy: 'up',
    complain: text => process.stderr.write(text),
    conduct: async options => {
      if (how === 'no-room') throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      const coordinator = new ScriptedCoordinator(options)
      if (how === 'hang') coordinator.closing = new Promise(() => undefined)
      return coordinator
    },
    started: () => {
      process.stdout.write('started\n')
      if (how === 'block') setTimeout(() => blockLoop(4_000), 200)
      if (how === 'freeze') setTimeout(() => blockLoop(Infinity), 200)
      if (how === 'full') setImmediate(() => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })))
      if (how === 'throw') setImmediate(() => Promise.reject(new Error('nobody catches this')))
    },
  })
  process.exit(NODE_EXIT[ended])
}

function blockLoop(milliseconds: number): void {
  for (const until = Date.now() + milliseconds; Date.now() < until; );
}
