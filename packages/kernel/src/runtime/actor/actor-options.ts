// What a run at work is given by its runtime, and what of it a decision may look at.
import type { Clock, ParleyError, RunId, StrictClock, Ticks, WorkspaceId } from '@parley/core'
import type { EntryDraft, RunTrail } from '@parley/trail'
import type { Context } from '../../batch.ts'
import type { Evidence } from '../../checkpoint/checkpoint.ts'
import type { StateCache } from './state-cache.ts'
import type { Transport } from './transport.ts'

export interface ActorOptions extends Omit<Context, 'now' | 'evidence' | 'carriesSignals'> {
  readonly id: RunId
  readonly trail: RunTrail
  readonly clock: Clock
  readonly stamps: StrictClock
  readonly transport: Transport
  readonly redeliveryBase: number
  readonly commitRetries: readonly number[]
  /** How many commands are held while the trail cannot be written (W-REC-08). */
  readonly heldCommands: number
  /** The run goes on after a restart: anchors and signatures of what is read are checked (W-REC-12). */
  readonly proven?: boolean
  readonly states?: StateCache | undefined
  readonly onCreated: (workspace: WorkspaceId, role: string, creator: WorkspaceId) => void
  readonly onMigration: (entry: EntryDraft) => void
  readonly onEnd: () => void
  readonly onUnwritable?: ((error: ParleyError) => void) | undefined
  readonly onFault: (cause: unknown) => void
}

export function contextAt(options: ActorOptions, now: Ticks, evidence?: Evidence): Context {
  const { ids, users, escalationQueue, resourceTolerance, proofs, identify, level, capacity, deployment } = options
  const carriesSignals = options.transport.signals ?? false
  const given = { ids, users, escalationQueue, resourceTolerance, proofs, identify, level, capacity, deployment }
  return { now, ...given, evidence, carriesSignals }
}
