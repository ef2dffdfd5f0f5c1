// AskPort: how an inbound `link.ask` gets its turn (ALP-ASK-02). Link runs no agent: whoever wires the node hands in one of these, and answers
// for tools, approvals and memory being those of the profile.
import type { Result, TurnBudget, Usage } from '@parley/core'

export interface AskCaller {
  /** The handle in the peer list. */
  readonly id: string
  readonly identity: string
  /** `SHA256:…`, by which an IdentityProvider knows it. */
  readonly fingerprint: string
}

/** One message of what was said before (ALP-ASK-08), in the order in which the agent should read it. */
export interface AskMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

export interface AskRequest {
  /** Fresh for every call; what `link.cancel` names. */
  readonly session: string
  readonly caller: AskCaller
  /** Trimmed, never empty. */
  readonly prompt: string
  readonly history: readonly AskMessage[]
  /** What the turn may spend; the ledger has set it aside. */
  readonly budget: TurnBudget
  /** Under which it was set aside: after a crash, `Ledger.orphans` names it, and whoever knows the cost settles it. */
  readonly reservation: string
  /** Fires when the turn is to be interrupted; its reason is a ParleyError that says why. */
  readonly signal: AbortSignal
}

/** Text as it comes, for those who watch; then the end, once. */
export type AskPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'end'; readonly end: AskEnd }

export interface AskEnd {
  /** What the agent said as its answer. Not what was watched put together. */
  readonly segments: readonly string[]
  /** The engine's error, in words that the caller may read. */
  readonly error?: string
  /** The turn was interrupted before it was done. */
  readonly interrupted: boolean
  readonly usage: Usage
  /** A turn was cut off before it said what it cost (ALP-BUD-08): all that was set aside counts as spent. */
  readonly unknownCost?: boolean
}

export interface AskPort {
  /**
   * Starts a turn and resolves when it is certain to have begun. After a refusal nothing was started: `overloaded` and
   * `machine_fault` tell the caller that the target is busy, `budget_exceeded` and `permission_denied` are told as such, anything else is an internal error with the message.
   *
   * The parts are read once, one at a time, and held back while nobody asks for the next. They end with `end`; when the signal fires, that
   * comes soon, with `interrupted` and what the turn had cost by then. Throwing instead is a defect: then nobody knows the cost.
   */
  start(request: AskRequest): Promise<Result<AsyncIterable<AskPart>>>
}
