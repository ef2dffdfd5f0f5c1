// RunPort: how link, crosstalk and alx start runs, for a principal of an IdentityProvider, without knowing the kernel.
import type { EntryId, RunId, WorkspaceId } from '../ids.ts'
import type { Result } from '../result.ts'
import type { Ticks, Timestamp } from '../timestamp.ts'
import type { TurnBudget, TurnContextPart, Usage } from './agent.ts'
import type { Principal } from './principal.ts'

/** Under a key a principal has one run: a second start answers with it. */
export interface RunKey {
  /** 1 to 256 characters. */
  readonly text: string
  /** `unless_failed`: a run that failed, or was cancelled, makes room for another one under the same key. */
  readonly reuse: 'always' | 'unless_failed'
}

/** What is wanted. How to do it (team, folder, approval) is the decision of the side that starts the run. */
export interface RunRequest {
  /** Becomes the originator of everything in the run. */
  readonly principal: Principal
  readonly intent: string
  /** Where it came from: `alx`, `alp`, `crosstalk`, `cli`, `console`. */
  readonly origin: string
  /** What every turn that works on the intent is told first, for instance what was said before. */
  readonly told?: readonly TurnContextPart[]
  /** Stored with the root: session, correlation id and the like. Canonical JSON, at most `limits.runFactsBytes`. */
  readonly context?: Readonly<Record<string, unknown>>
  /** A start under a key is no loop that a breaker must end. */
  readonly key?: RunKey
  readonly budget?: TurnBudget
  /** Milliseconds after which the run is ended. */
  readonly timeoutMs?: number
}

/** One trail entry as a watcher sees it. `seq` is the cursor; nothing else orders. */
export interface RunEntry {
  readonly seq: number
  readonly id: EntryId
  readonly timestamp: Timestamp
  readonly type: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface RunEnd {
  readonly outcome: 'complete' | 'failed' | 'cancelled'
  /** What was said as the answer, whole. Not what was watched put together. */
  readonly text?: string
  readonly error?: {
    readonly code: string
    readonly message: string
    /** The code of what the turn failed of, where a turn did. */
    readonly cause?: string
  }
  /** The sum over all turns; a member is undefined where none of them measured it. */
  readonly usage: Usage
  /** A turn was cut off before its agent said what it cost: `usage` is less than what was spent. */
  readonly unknownCost?: true
}

export type RunPage = {
  readonly events: readonly RunEntry[]
  /** `seq` of the last event seen: pass it as `after` to continue from here, in another process too. */
  readonly cursor: number
  /** What agents said since the last page. Not on record; what a slow reader missed is replaced by a mark. */
  readonly text?: string
  /** Present on the last page only. */
  readonly end?: RunEnd
}

export interface StoredRun {
  readonly run: RunId
  readonly root: WorkspaceId
  readonly started: Ticks
  readonly principal: string
  readonly origin: string
  /** What the request stored; empty if nothing. */
  readonly context: Readonly<Record<string, unknown>>
}

export interface RunQuery {
  readonly origin?: string
  /** None that began before it. */
  readonly since?: Ticks
  /** The cursor of the page before. */
  readonly after?: RunId
  /** At most `limits.foundRuns`, which is the default. */
  readonly limit?: number
}

export interface FoundRuns {
  readonly runs: readonly StoredRun[]
  /** Pass it as `after` to continue; absent on the last page. */
  readonly cursor?: RunId
}

export type GateDecision =
  | {
      readonly decision: 'approve' | 'reject'
      readonly reason?: string | undefined
      /** Of work that is rejected at its merge: its task is done once more, and its agent is told the reason. */
      readonly again?: boolean | undefined
    }
  | {
      readonly decision: 'modify'
      readonly changes: Readonly<Record<string, unknown>>
      readonly reason?: string | undefined
    }

/** `envelope`: words for the agent, which then continues. `delegate`: the coordinator is to handle it. */
export type QuestionAnswer =
  | { readonly answer: 'envelope'; readonly text: string }
  | { readonly answer: 'abort' | 'delegate' }

export interface RunPort {
  /**
   * Resolves when the run's first entries are durable. Refusals: `permission_denied`, `budget_exceeded`,
   * `unknown_team`, `invalid_argument`, `overloaded`, `too_many_runs` (of this principal), `machine_fault`,
   * `unavailable` and `trail_unavailable` (these five retryable), and what keeps the folder from being worked in. After
   * a refusal nothing was started. A rejection is a defect, and with a key it is safe to ask again.
   */
  start(request: RunRequest): Promise<Result<{ readonly run: RunId }>>

  /**
   * Pages of committed entries after `after` (default: from the first), each entry once and in order, then the
   * end. The iterator holds no more than one page; a slow reader slows only itself. Leaving the loop or firing
   * `signal` ends the watch and nothing else. Throws `not_found` for a run that does not exist or that the
   * principal may not see, `unavailable` (retryable, continue from the last cursor) when the node stops.
   */
  watch(
    run: RunId,
    options: { readonly principal: Principal; readonly after?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<RunPage>

  /**
   * Resolves when the abort is durable; turns are still being ended then, and `watch` shows the end. Cancelling a run
   * that has ended is accepted and changes nothing. It is on record under the principal's name, so that must be who
   * does it: `system` where no person does. Refusals: `not_found`, `permission_denied`, `trail_unavailable`
   * (retryable).
   */
  cancel(
    run: RunId,
    options: { readonly principal: Principal | 'system'; readonly reason: string },
  ): Promise<Result<void>>

  /**
   * Answers a gate or a question by its id, as a person does in the inbox; the answer is on record under the
   * principal's name, which must have the right to give it. Refusals: `not_found`, `ambiguous`, `invalid_argument`,
   * `invalid_state` (also for a reply to a gate, or a decision on a question), `permission_denied`, `trail_unavailable`
   * (retryable).
   */
  answer(
    waiting: string,
    options: { readonly principal: Principal; readonly answer: GateDecision | QuestionAnswer },
  ): Promise<Result<{ readonly run: RunId }>>

  /**
   * How one run was started, and how far its record reaches now: a watch that has seen `head` has seen all that is
   * acknowledged. Refusals: `not_found`, also for a run that the principal may not see, and those of the trail.
   */
  stored(run: RunId, options: { readonly principal: Principal }): Promise<Result<StoredRun & { readonly head: number }>>

  /** Runs that the principal may see, newest first, ended ones included. Throws if a run's start cannot be read. */
  find(query: RunQuery & { readonly principal: Principal }): Promise<FoundRuns>
}
