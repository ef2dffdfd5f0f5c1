// RunPort: how link, crosstalk and alx start runs without knowing the kernel. Whoever holds one acts for a
// principal that an IdentityProvider has vouched for.

import type { EntryId, RunId } from '../ids.ts'
import type { Result } from '../result.ts'
import type { Timestamp } from '../timestamp.ts'
import type { TurnBudget, TurnContextPart, Usage } from './agent.ts'
import type { Principal } from './principal.ts'

export interface RunRequest {
  /** Becomes the originator of everything in the run. */
  readonly principal: Principal
  /** What is wanted, in words. */
  readonly intent: string
  /** Where it came from: `alx`, `alp`, `crosstalk`, `cli`, `console`. */
  readonly origin: string
  /** The agent or team that shall do it; the node's default if absent. */
  readonly team?: string
  /** What every turn that works on the intent is told first, for instance what was said before. */
  readonly told?: readonly TurnContextPart[]
  /** Stored with the root: session, correlation id and the like. Canonical JSON, at most `limits.runFactsBytes`. */
  readonly context?: Readonly<Record<string, unknown>>
  /** The same principal and key give the same run, never a second one. */
  readonly idempotencyKey?: string
  readonly budget?: TurnBudget
  /** Milliseconds after which the run is ended. */
  readonly timeoutMs?: number
}

/** One trail entry as a watcher sees it. `seq` is the cursor; nothing else orders. */
export interface RunEvent {
  readonly seq: number
  readonly id: EntryId
  readonly timestamp: Timestamp
  readonly type: string
  readonly body: Readonly<Record<string, unknown>>
}

export const runOutcomes = ['complete', 'failed', 'cancelled'] as const
export type RunOutcome = (typeof runOutcomes)[number]

export interface RunEnd {
  readonly outcome: RunOutcome
  /** What was said as the answer, whole. Not what was watched put together. */
  readonly text?: string
  readonly error?: { readonly code: string; readonly message: string }
  /** The sum over all turns; a member is undefined where none of them measured it. */
  readonly usage: Usage
}

export type RunPage = {
  readonly events: readonly RunEvent[]
  /** `seq` of the last event seen: pass it as `after` to go on from here, in another process too. */
  readonly cursor: number
  /**
   * What agents said at their work since the last page. For watching only: it is not on record, a watch that begins later does not have it,
   * and of more than a slow reader may leave waiting the oldest is left out, which a mark says.
   */
  readonly text?: string
  /** Present on the last page only. */
  readonly end?: RunEnd
}

export interface RunPort {
  /**
   * Resolves when the run's first entries are durable. Refusals: `permission_denied`, `budget_exceeded`,
   * `unknown_team`, `invalid_argument`, `overloaded`, `machine_fault`, `unavailable` and `trail_unavailable` (these four retryable), and
   * what keeps the folder from being worked in. After a refusal nothing was started. A rejection is a defect, and with an idempotency key it is safe to ask again.
   */
  start(request: RunRequest): Promise<Result<{ readonly run: RunId }>>

  /**
   * Pages of committed entries after `after` (default: from the first), each entry once and in order, then the
   * end. The iterator holds no more than one page; a slow reader slows only itself. Leaving the loop or firing
   * `signal` ends the watch and nothing else. Throws `not_found` for a run that does not exist or that the
   * principal may not see, `unavailable` (retryable, go on from the last cursor) when the node stops.
   */
  watch(
    run: RunId,
    options: { readonly principal: Principal; readonly after?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<RunPage>

  /**
   * Resolves when the abort is durable; turns are still being ended then, and `watch` shows the end. Cancelling a
   * run that has ended is accepted and changes nothing. Refusals: `not_found`, `permission_denied`,
   * `trail_unavailable` (retryable).
   */
  cancel(
    run: RunId,
    options: { readonly principal: Principal; readonly reason: string },
  ): Promise<Result<void>>
}
