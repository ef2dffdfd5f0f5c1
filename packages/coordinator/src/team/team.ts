// A team as a run keeps it: plain JSON with every default filled in, durations in milliseconds, sizes in bytes, and the plan
// in an order in which it can be worked off.
import type { TaskPriority } from '@parley/trail/events'
import type { AgentConfig } from './agent-fields.ts'
import { teamDefaults } from './limits.ts'
import type { TeamProblem } from './problem.ts'
import { INTENT } from './rules.ts'
import type { APPROVALS } from './schema.ts'
import { shorten } from './words.ts'

export type { AgentConfig }

export type TeamAgent = AgentConfig & {
  /** Turns of this agent at once. */
  readonly slots: number
}

export interface TeamLimits {
  /** Turns at once in the run. */
  readonly concurrency: number
  /** Tries of one task, the first included. */
  readonly attempts: number
  /** Of the whole run. */
  readonly timeoutMs?: number
}

export interface PlannedTask {
  readonly id: string
  readonly title: string
  readonly agent: string
  readonly prompt: string
  readonly needs: readonly string[]
  /** Globs of what it may change; everything without them, nothing if there are none in the list. */
  readonly paths?: readonly string[]
  readonly attempts: number
  readonly timeoutMs?: number
  readonly priority: TaskPriority
  readonly check?: readonly string[]
  readonly review?: { readonly by: string; readonly prompt: string }
}

export interface Team {
  readonly name: string
  readonly description: string
  /** The folder of the team file, if its reader said so: programs with a slash are relative to it. */
  readonly base?: string
  /** Own members only: a name may be one that every object has, such as `constructor`. */
  readonly agents: Readonly<Record<string, TeamAgent>>
  readonly limits: TeamLimits
  readonly approval: (typeof APPROVALS)[number]
  /** Every task behind those that it needs. Empty if the file has no plan: then there is one agent. */
  readonly plan: readonly PlannedTask[]
  readonly warnings: readonly TeamProblem[]
}

/** A team of one agent without a plan. `name` is that of the team and of its agent. */
export function soloTeam(name: string, agent: AgentConfig & { readonly slots?: number }): Team {
  const { concurrency, attempts, slots, approval } = teamDefaults
  return {
    name,
    description: '',
    agents: { [name]: { ...agent, slots: agent.slots ?? slots } },
    limits: { concurrency, attempts },
    approval,
    plan: [],
    warnings: [],
  }
}

const titleLength = 80

/** The tasks of one run: the plan with the intent filled in, or the intent as the one task of the one agent. */
export function planFor(team: Team, intent: string): readonly PlannedTask[] {
  // A function as replacement: dollar signs in an intent are nothing special.
  const fill = (prompt: string) => prompt.replaceAll(INTENT, () => intent)
  if (team.plan.length > 0) {
    return team.plan.map(({ review, ...task }) => ({
      ...task,
      prompt: fill(task.prompt),
      ...(review && { review: { ...review, prompt: fill(review.prompt) } }),
    }))
  }
  const [agent] = Object.keys(team.agents)
  if (agent === undefined) throw new TypeError(`the team ${team.name} has neither a plan nor an agent`)
  const firstLine = intent.split(/\r\n|\r|\n/).find(line => line.trim() !== '')
  return [
    {
      id: 'solve',
      title: shorten(firstLine?.trim() ?? 'solve', titleLength),
      agent,
      prompt: intent,
      needs: [],
      attempts: team.limits.attempts,
      priority: teamDefaults.priority,
    },
  ]
}
