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
      const solving = world.start('solve', 'Write done into done.txt.', '--yes')
      await Promise.race([world.server.until(({ turn }) => turn !== undefined), solving.ended])
      // From the first answer that refuses to the end of the run.
      const began = performance.now()
      const late = new Promise<'late'>(resolve => setTimeout(() => resolve('late'), clisLimits.fallbackMs))
      if ((await Promise.race([solving.ended, late])) === 'late')
        fail(`nobody has taken over after ${clisLimits.fallbackMs / 1000} s`)
      const seconds = Math.ceil((performance.now() - began) / 1000)
      const view = await world.show()
      done(view)
      equal('done.txt', world.result(view, 'done.txt')?.trim(), 'done')
      if (world.server.turns.length === 0) fail('the model was not asked')
      return `${seconds} s`
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
