// Users (W-USER-01 to -05): who they are to the kernel, and everything that can change about them. Only the house run
// keeps users; other runs see them through the directory in `decide`'s context.
import type { Capability, EventType, UserState } from '@parley/trail/events'

/** A suspension in force; it survives a block, which is why its words are kept. */
export interface Suspension {
  readonly by: string
  readonly reason: string
}

export interface User {
  readonly id: string
  state: UserState
  suspension: Suspension | undefined
  readonly capabilities: Set<Capability>
}

/** `by` is a `user_id` or `system`. */
export type UserChange = { readonly user: unknown } & (
  | { readonly type: 'authenticated'; readonly method: unknown }
  | { readonly type: UserTransition; readonly by: string; readonly reason: unknown }
  | { readonly type: 'grant'; readonly by: string; readonly capability: unknown }
  | { readonly type: 'revoke'; readonly by: string; readonly capability: unknown; readonly reason?: unknown }
)

export type UserTransition = 'suspend' | 'resume' | 'block' | 'unblock' | 'deactivate' | 'reactivate'

/** The recording events, in order, with the user's state after each; empty where nothing changed. */
export interface UserChanged {
  readonly user: string
  readonly changes: readonly { readonly event: UserEvent; readonly state: UserState }[]
}

export type UserEvent = Extract<EventType, `user_${string}` | 'authentication_succeeded' | `capability_${string}`>

/** A claim to be somebody that did not hold (W-USER-04). */
export interface FailedClaim {
  readonly entity: string
  readonly context: string
  readonly reason: string
  readonly source: string
}
