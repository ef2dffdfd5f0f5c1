// Users (W-USER-01 to -05): who they are to the kernel, and everything that can change about them. Only the house run keeps users;
// other runs see them through the directory in `decide`'s context.
import type { Capability, UserState } from '@parley/trail/events'

export interface User {
  readonly id: string
  state: UserState
  /** Suspended when it was blocked: the suspension survives the block. */
  suspended: boolean
  readonly capabilities: Set<Capability>
}

/** `by` is a `user_id` or `system`. */
export type UserChange = { readonly user: unknown } & (
  | { readonly type: 'authenticated'; readonly method: unknown }
  | {
      readonly type: 'suspend' | 'resume' | 'deactivate' | 'reactivate'
      readonly by: string
      readonly reason: unknown
    }
  | { readonly type: 'block'; readonly by: string; readonly condition: unknown }
  | { readonly type: 'unblock'; readonly by: string; readonly condition: unknown }
  | { readonly type: 'grant'; readonly by: string; readonly capability: unknown }
  | { readonly type: 'revoke'; readonly by: string; readonly capability: unknown; readonly reason?: unknown }
)

/** A claim to be somebody that did not hold (W-USER-04). */
export interface FailedClaim {
  /** The claimed name, known or not. */
  readonly entity: string
  readonly context: string
  readonly reason: string
  readonly source: string
}
