// What a run at work is given by its runtime, and what of it a decision may look at.
import type { Clock, IdSource, ParleyError, RunId, StrictClock, Ticks, WorkspaceId } from '@parley/core'
import type { EntryDraft, RunTrail } from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import type { Context, UserDirectory } from '../../batch.ts'
import type { Evidence } from '../../checkpoint/checkpoint.ts'
import type { Identify } from '../../integrity/identity.ts'
import type { Proofs } from '../../integrity/proofs.ts'
import type { CapacityProbe } from '../../workspace/create.ts'
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
  readonly commitRetries: readonly number[]
  /** How many commands are held while the trail cannot be written (W-REC-08). */
  readonly heldCommands: number
  readonly users?: UserDirectory | undefined
  readonly escalationQueue?: number | undefined
  readonly resourceTolerance?: number | undefined
  readonly proofs?: Proofs | undefined
  readonly identify?: Identify | undefined
  readonly level?: 1 | 2 | 3 | undefined
  readonly capacity?: CapacityProbe | undefined
  readonly deployment?: DeploymentModel | undefined
  /** The run goes on after a restart: anchors and signatures of what is read are checked (W-REC-12). */
  readonly proven?: boolean
  readonly states?: StateCache | undefined
  /** A workspace exists because its gate was approved; its agent is to be bound. */
  readonly onCreated: (workspace: WorkspaceId, role: string, creator: WorkspaceId) => void
  /** An entry is durable that a migration begins or may end with. */
  readonly onMigration: (entry: EntryDraft) => void
  readonly onEnd: () => void
  /** The trail could not be written; told at every attempt. */
  readonly onUnwritable?: ((error: ParleyError) => void) | undefined
  readonly onFault: (cause: unknown) => void
}

export function contextAt(options: ActorOptions, now: Ticks, evidence?: Evidence): Context {
  const { ids, users, escalationQueue, proofs, identify, capacity, deployment, transport } = options
  return {
    now,
    ids,
    ...(users && { users }),
    ...(escalationQueue !== undefined && { escalationQueue }),
    ...(options.resourceTolerance !== undefined && { resourceTolerance: options.resourceTolerance }),
    ...(proofs && { proofs }),
    ...(evidence && { evidence }),
    ...(identify && { identify }),
    ...(options.level !== undefined && { level: options.level }),
    ...(capacity && { capacity }),
    ...(deployment && { deployment }),
    carriesSignals: transport.signals ?? false,
  }
}
