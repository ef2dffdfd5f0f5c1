// What a run at work is given by its runtime, and what of it a decision may look at.
import type { Clock, IdSource, RunId, StrictClock, Ticks, WorkspaceId } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import type { Context, UserDirectory } from '../batch.ts'
import type { Identify } from '../integrity/identity.ts'
import type { Proofs } from '../integrity/proofs.ts'
import type { CapacityProbe } from '../workspace/admission.ts'
import type { StateCache } from './state-cache.ts'
import type { Transport } from './transport.ts'

export interface ActorOptions {
  readonly id: RunId
  readonly trail: RunTrail
  readonly clock: Clock
  readonly stamps: StrictClock
  readonly ids: IdSource
  readonly transport: Transport
  readonly redeliveryBase: number
  /** Waits before a commit is tried again. */
  readonly commitRetries: readonly number[]
  /** How many commands are held while the trail cannot be written (W-REC-08). */
  readonly heldCommands: number
  readonly users?: UserDirectory | undefined
  readonly escalationQueue?: number | undefined
  readonly proofs?: Proofs | undefined
  readonly identify?: Identify | undefined
  readonly capacity?: CapacityProbe | undefined
  /** Keeps states of this run, so that it opens fast. */
  readonly states?: StateCache | undefined
  /** A workspace exists because its gate was approved; its agent is to be bound. */
  readonly onCreated: (workspace: WorkspaceId, role: string, creator: WorkspaceId) => void
  /** The run's last entry is durable. */
  readonly onEnd: () => void
  /** A subscriber threw. */
  readonly onFault: (cause: unknown) => void
}

/** The context of a decision at that moment. */
export function contextAt(options: ActorOptions, now: Ticks): Context {
  const { ids, users, escalationQueue, proofs, identify, capacity, transport } = options
  return {
    now,
    ids,
    ...(users && { users }),
    ...(escalationQueue !== undefined && { escalationQueue }),
    ...(proofs && { proofs }),
    ...(identify && { identify }),
    ...(capacity && { capacity }),
    carriesSignals: transport.signals ?? false,
  }
}
