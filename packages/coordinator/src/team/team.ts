// A team as a run keeps it: plain JSON with every default filled in, durations in milliseconds, sizes in bytes, the
// plan in order.
import type { AgentSettings } from '@parley/core'
import type { TaskPriority } from '@parley/trail/events'
import type { TeamAgent } from './agent-fields.ts'
import type { Limits } from './budget-fields.ts'
import type { Furnishing } from './folder-fields.ts'
import type { Gates } from './highway-fields.ts'
import { teamDefaults } from './limits.ts'
import { type Merge, mergeOf } from './merge-fields.ts'
import type { Salvage } from './moving-work-fields.ts'
import type { TeamProblem } from './problem.ts'
import { INTENT } from './rules.ts'
import type { APPROVALS } from './schema.ts'
import { shorten } from './words.ts'

export type { TeamAgent }

export interface TeamLimits {
  /** Turns at once in the run. */
  readonly concurrency: number
  /** Tries of one task, the first included. */
  readonly attempts: number
  /** Of the whole run. */
  readonly timeoutMs?: number
  /** The last part of it, in which agents finish and nothing is begun. */
  readonly graceMs?: number
  /** Of the whole run. */
  readonly budget: Limits
  readonly breakers: Breakers
}

/** When work that leads nowhere is ended; zero: never. */
export interface Breakers {
  readonly noProgress: number
  readonly repetition: number
}

interface Planned {
  readonly id: string
  readonly title: string
  readonly prompt: string
  readonly needs: readonly string[]
  /** Globs of what it may change; everything without them, nothing if there are none in the list. */
  readonly paths?: readonly string[]
  /** Its symbolic links may lead out of the project; not without it. */
  readonly symlinks?: 'outside'
  readonly attempts: number
  /** Of one turn. */
  readonly timeoutMs?: number
  /** The last part of it, for which the agent is asked to finish. */
  readonly graceMs?: number
  readonly priority: TaskPriority
  /** A person is asked before it starts, whatever the request for the run has approved. */
  readonly approve?: true
  readonly check?: readonly string[]
  readonly review?: { readonly by: string; readonly prompt: string; readonly fallback?: readonly string[] }
  /** Of all attempts together. */
  readonly budget: Limits
  readonly merge: Merge
  /** What becomes of kept work once it has failed for good; undefined: the file does not say. */
  readonly salvage?: Salvage
}

export interface AgentTask extends Planned {
  readonly standsInFor?: undefined
  readonly agent: string
  /** Who takes over where that one cannot work, in order. */
  readonly fallback?: readonly string[]
  readonly plan?: undefined
}

/** A task that a team inside the team does; its prompt is what all its parts are told beside their own. */
export interface TeamTask extends Planned {
  /**
   * The task beside it, before it in the plan, whose place it takes. It begins when that one has failed for good by its
   * own work, and never after a person, a budget or the time has ended it; otherwise it is cancelled without a word.
   * The plan is done when one of the two is. No task needs either of them. No field of team files.
   */
  readonly standsInFor?: string
  readonly agent?: undefined
  readonly fallback?: undefined
  readonly plan: readonly PlannedTask[]
}

export type PlannedTask = AgentTask | TeamTask

export function doerOf(task: PlannedTask): string {
  return task.agent ?? 'team'
}

/** The tasks of a plan with those of all plans inside it, each behind the one that it is part of. */
export function* allTasks(plan: readonly PlannedTask[]): Generator<PlannedTask> {
  for (const task of plan) {
    yield task
    if (task.plan) yield* allTasks(task.plan)
  }
}

/** All who may have a turn about a task itself, those who take over and judge included. */
export function agentsOf({ agent, fallback = [], review, merge, salvage }: PlannedTask): readonly string[] {
  const judges = [review?.by, ...(review?.fallback ?? []), merge.by, salvage?.way === 'agent' ? salvage.by : undefined]
  return [agent, ...fallback, ...judges].filter(name => name !== undefined)
}

export function mayChange(plan: readonly PlannedTask[]): boolean {
  return [...allTasks(plan)].some(({ plan: parts, paths }) => !parts && (paths === undefined || paths.length > 0))
}

/** Its furnishing is that of folders whose work has no agent; the agents have theirs already. */
export interface Team extends Furnishing {
  readonly name: string
  readonly description: string
  /** The folder of the team file, if its reader said so: programs with a slash are relative to it. */
  readonly base?: string
  /** Own members only: a name may be one that every object has, such as `constructor`. */
  readonly agents: Readonly<Record<string, TeamAgent>>
  readonly limits: TeamLimits
  readonly approval: (typeof APPROVALS)[number]
  /** Undefined: the file says nothing about gates. */
  readonly gates?: Gates
  /** What holds for a task that does not say; the tasks of the plan have it already. */
  readonly symlinks?: 'outside'
  /** Every task behind those that it needs. Empty if the file has no plan: then there is one agent. */
  readonly plan: readonly PlannedTask[]
  readonly warnings: readonly TeamProblem[]
}

/** A team of one agent without a plan. `name` is that of the team and of its agent. */
export function soloTeam(name: string, agent: AgentSettings & { readonly slots?: number }): Team {
  const { concurrency, attempts, slots, approval } = teamDefaults
  return {
    name,
    description: '',
    agents: { [name]: { ...agent, slots: agent.slots ?? slots } },
    limits: { concurrency, attempts, budget: {}, breakers: breakersOf() },
    approval,
    plan: [],
    warnings: [],
  }
}

/** Of a run in which nobody works. */
export const NO_TEAM: Team = {
  name: '',
  description: '',
  agents: {},
  limits: {
    concurrency: teamDefaults.concurrency,
    attempts: 1,
    budget: {},
    breakers: { noProgress: 0, repetition: 0 },
  },
  approval: 'none',
  plan: [],
  warnings: [],
}

export function breakersOf({
  on = true,
  no_progress = teamDefaults.breakers.no_progress,
  repetition = teamDefaults.breakers.repetition,
}: {
  readonly on?: boolean
  readonly no_progress?: number
  readonly repetition?: number
} = {}): Breakers {
  return on ? { noProgress: no_progress, repetition } : { noProgress: 0, repetition: 0 }
}

const titleLength = 80

/** The tasks of one run: the plan with the intent filled in, or the intent as the one task of the one agent. */
export function planFor(team: Team, intent: string): readonly PlannedTask[] {
  // A function as replacement: dollar signs in an intent are nothing special.
  const fill = (prompt: string) => prompt.replaceAll(INTENT, () => intent)
  const filled = (task: PlannedTask): PlannedTask => {
    const { review, merge, salvage } = task
    const texts = {
      prompt: fill(task.prompt),
      ...(review && { review: { ...review, prompt: fill(review.prompt) } }),
      merge: { ...merge, ...(merge.prompt !== undefined && { prompt: fill(merge.prompt) }) },
      ...(salvage?.way === 'agent' &&
        salvage.prompt !== undefined && { salvage: { ...salvage, prompt: fill(salvage.prompt) } }),
    }
    return task.plan ? { ...task, ...texts, plan: task.plan.map(filled) } : { ...task, ...texts }
  }
  if (team.plan.length > 0) return team.plan.map(filled)
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
      budget: {},
      merge: mergeOf(undefined, undefined),
      ...(team.symlinks && { symlinks: team.symlinks }),
    },
  ]
}
