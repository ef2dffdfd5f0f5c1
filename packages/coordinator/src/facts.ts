// What a run and a workspace are about, as the context object of each keeps it: everything that is needed to go on after a restart.
import type { ProjectFacts } from './folder/run-folders.ts'
import type { PlannedTask, Team } from './team/team.ts'

/** The context of the root. */
export interface RunFacts {
  readonly intent: string
  readonly team: Team
  /** The plan with the intent filled in. */
  readonly plan: readonly PlannedTask[]
  readonly project: ProjectFacts
  readonly principal: string
  readonly origin: string
  /** `ask`: nothing is submitted before a person has approved the plan. */
  readonly approval: 'ask' | 'given'
}

interface Common {
  /** The task of the plan. */
  readonly task: string
  /** The commit that its folder starts from. */
  readonly commit: string
}

/** The context of a workspace that works on a task. */
export interface WorkFacts extends Common {
  readonly kind: 'work'
  /** `<agent>#<slot>`. */
  readonly agent: string
  readonly attempt: number
  /** Results of the tasks that it needs. */
  readonly results: readonly { readonly title: string; readonly text: string }[]
  /** Why earlier attempts were sent back or failed, the newest last. */
  readonly feedback: readonly string[]
}

/** The context of a workspace that judges the work of another: a command that must succeed, or an agent that gives a verdict. */
export interface JudgeFacts extends Common {
  readonly kind: 'check' | 'review'
  readonly agent: string
  /** The workspace whose work is judged. */
  readonly of: string
}

export type WorkspaceFacts = WorkFacts | JudgeFacts
