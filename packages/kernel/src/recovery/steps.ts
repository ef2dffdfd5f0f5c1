// Recovery as the sheet's five steps (W-REC-11): what replay found becomes a plan, and the plan is carried out command
// by command before anything from outside is taken. Each step is decided on the state of its moment, so that taking one
// twice does nothing.
import type { CheckpointId, EnvelopeId, SignalId, Ticks, WorkspaceId } from '@parley/core'
import type { SignalType } from '@parley/trail/events'
import type { ResolvedGate } from './trace.ts'

export type RecoveryStep =
  /** An entry that replay left out is on record as such (W-REC-13). */
  | { readonly type: 'quarantine'; readonly entry: string }
  /** A migration that a stop left open or half ended (W-REC-24). */
  | { readonly type: 'migration'; readonly workspace: WorkspaceId }
  | HalfApplied
  /** Accepted and not placed, or placed and not acknowledged (W-REC-17). */
  | { readonly type: 'envelope'; readonly envelope: EnvelopeId }
  /** A signal whose transition may be missing (W-REC-16). */
  | { readonly type: 'drive'; readonly signal: DrivingSignal }
  /** Emitted and not delivered (W-REC-18). */
  | { readonly type: 'signal'; readonly signal: SignalId; readonly to: WorkspaceId }
  /** The marker with its eight numbers (W-REC-22); `floor` is the newest moment that was on record before. */
  | { readonly type: 'completed'; readonly counts: Omit<RecoveryCounts, 'downtime'>; readonly floor: Ticks }

/** W-REC-24: decisions of which only the first part is on record. */
export type HalfApplied =
  /** In one batch, so that what follows the end of one gate is not taken for the effect of another. */
  | { readonly type: 'gate_effects'; readonly resolved: readonly ResolvedGate[] }
  | { readonly type: 'abort'; readonly workspace: WorkspaceId; readonly by: string }
  | { readonly type: 'close'; readonly workspace: WorkspaceId; readonly by: string }
  /** It failed, and something below it has not. */
  | { readonly type: 'cascade'; readonly workspace: WorkspaceId }
  | { readonly type: 'checkpoint_signal'; readonly checkpoint: CheckpointId }
  | { readonly type: 'initial_rights'; readonly workspace: WorkspaceId }
  /** It has mail and is still idle (W-REC-16). */
  | { readonly type: 'first_envelope'; readonly workspace: WorkspaceId }
  /** What its state means for its task; `reason` is that of its failure. */
  | { readonly type: 'task_status'; readonly workspace: WorkspaceId; readonly reason: string | undefined }

export interface DrivingSignal {
  readonly id: SignalId
  readonly from: WorkspaceId
  readonly type: Extract<SignalType, 'started' | 'blocked' | 'complete' | 'failed'>
  readonly reason: string | undefined
  readonly ref: string | undefined
  readonly actor: string
  readonly seq: number
}

export interface RecoveryCounts {
  readonly downtime: number
  readonly workspaces_recovered: number
  readonly workspaces_failed: number
  readonly envelopes_redelivered: number
  readonly signals_requeued: number
  readonly timers_reconstructed: number
  readonly trail_entries_examined: number
  readonly quarantined_entries: number
}
