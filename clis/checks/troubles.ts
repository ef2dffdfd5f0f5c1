// A model that does not answer: another agent takes the task, soon.
import { clisLimits } from '../limits.ts'
import type { Trouble } from '../server/dialect.ts'
import { type Check, done, equal, fail, team } from './check.ts'

const PLAN = `  stand-in: { command: [sh, -c, 'echo done > done.txt'], prompt: none }
plan:
  - { id: work, agent: AGENT, fallback: stand-in, prompt: '{intent}' }
`

function trouble(name: string, title: string, kind: Trouble): Check {
  return {
    name,
    title: `${title}: another agent takes over`,
    async run({ program, world }) {
      world.team(team(program, { rest: PLAN.replace('AGENT', program.name) }))
      Object.assign(world.env, kind === 'subscription_limit' ? program.subscription : {})
      world.server.script = () => ({ trouble: kind })
      const view = await world.solveWithin(clisLimits.fallbackMs, 'Write done into done.txt.')
      if (!view) fail(`nobody has taken over after ${clisLimits.fallbackMs / 1000} s`)
      done(view)
      equal('done.txt', world.result(view, 'done.txt')?.trim(), 'done')
      if (world.server.turns.length === 0) fail('the model was not asked')
    },
  }
}

export const troubleChecks: readonly Check[] = [
  trouble('401', 'a wrong key', 'unauthorized'),
  trouble('429', 'too many requests', 'rate_limited'),
  trouble('500', 'an error of the server', 'server_error'),
  trouble('529', 'an overloaded server', 'overloaded'),
  trouble('limit', 'a limit of the subscription', 'subscription_limit'),
  trouble('credit', 'no credit', 'no_credit'),
]
