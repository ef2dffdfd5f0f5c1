// What a run and a workspace are about, as their context objects keep it: all that a restart needs.
import type { TurnContextPart } from '@parley/core'
import type { GateType } from '@parley/trail/events'
import type { ProjectFacts } from '../folder/model.ts'
import type { PlannedTask, Team } from '../team/team.ts'

/** What comes of a run was known before it began: the answer, or why there is none. */
export type KnownEnd =
  | { readonly outcome: 'complete'; readonly text: string }
  | { readonly outcome: 'failed'; readonly code: string; readonly message: string }

export interface RunFacts {
  readonly intent: string
  readonly team: Team
  readonly plan: readonly PlannedTask[]
  /** Undefined: no agent of the run works on files. */
  readonly project?: ProjectFacts
  readonly principal: string
  readonly origin: string
  /** `given`: the tasks of the plan are approved with the request itself, all but those with `approve`. */
  readonly approval: 'ask' | 'given'
  /** Under whose name tasks are approved that nobody is asked about; the principal's without it. */
  readonly approver?: string
  /** What a person is asked before, on the way. */
  readonly gates?: readonly GateType[]
  /** How long questions of agents wait, null without end, and what happens then. */
  readonly questions: { readonly timeout: number | null; readonly fallback: string }
  /** Globs under `carry` that name no ignored file of the project. */
  readonly uncarried?: readonly string[]
  readonly parent?: string
  /** What every turn of work is told first. */
  readonly context?: readonly TurnContextPart[]
  /** What the request stored for whoever asks for the run. */
  readonly stored?: Readonly<Record<string, unknown>>
  /** The idempotency key of the request. */
  readonly key?: string
  /** It ends as it begins: its plan is empty, and so is its team. */
  readonly ends?: KnownEnd
}

interface Common {
  readonly task: string
  /** The commit that its folder starts from. */
  readonly commit: string
  /** `<agent>#<slot>`; of a team `team:<task>`. */
  readonly agent: string
}

interface Attempt extends Common {
  readonly attempt: number
  /** Results of the tasks that it needs. */
  readonly results: readonly { readonly title: string; readonly text: string }[]
  /** Why earlier attempts were sent back or failed, the newest last. */
  readonly feedback: readonly string[]
}

/** The context of a workspace in which an agent works on a task. */
export interface WorkFacts extends Attempt {
  readonly kind: 'work'
  /** What its folder holds at first, where that is more than `commit`: an attempt before it that was cut off. */
  readonly start?: string
}

/** The context of a delegate: a team inside the team works on the task. */
export interface TeamFacts extends Attempt {
  readonly kind: 'team'
}

/** The context of a workspace that judges another: by a command that must succeed, or an agent's verdict. */
export interface JudgeFacts extends Common {
  readonly kind: 'check' | 'review'
  readonly of: string
}

/** The context of a workspace that makes one of two versions: its folder starts with the draft of the merge. */
export interface MergeFacts extends Common {
  readonly kind: 'merge'
  readonly of: string
  /** Files of the draft in which both versions stand between marks. */
  readonly conflicts: readonly string[]
}

export type WorkspaceFacts = WorkFacts | TeamFacts | JudgeFacts | MergeFacts
