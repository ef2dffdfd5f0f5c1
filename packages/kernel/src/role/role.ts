// A role as the runtime enforces it: base, taxonomy rows, override, remove and add already resolved (W-ROLE-08).
// Computed once when the taxonomy is loaded; what a set does not hold is denied (W-ROLE-01).

import type { SignalType } from '@parley/trail/events'
import type { BaseRole } from './base.ts'

export interface Role {
  readonly name: string
  /** The role itself if it is a base role. */
  readonly base: BaseRole
  /** Envelope type to the roles it may go to, base or derived; no type has an empty set. */
  readonly send: ReadonlyMap<string, ReadonlySet<string>>
  /** Envelope types that a holder of this role does not get, whoever may send them to its family (W-ROLE-06). */
  readonly removedReceive: ReadonlySet<string>
  readonly read: ReadonlySet<string>
  /** Checkpoint types; a registered one must also permit the role (W-CP-03, `mayCreate`). */
  readonly create: ReadonlySet<string>
  readonly emit: ReadonlySet<SignalType>
  /** Access.modify is "own files" (W-WS-22). */
  readonly writesMemory: boolean
}
