// The proof of a checkpoint (W-SEC-09, W-CP-13): made at creation and recorded in `checkpoint_created.integrity`;
// checked before its content is shown or integrated. The content lies in the store, so whoever asks for an integration
// brings along what its proof comes to now: the proof alone, since commands wait in queues and contents can be large.
import type { CheckpointId, WorkspaceId } from '@parley/core'
import type { Proof, Proofs } from '../integrity/proofs.ts'
import { tryToProve } from '../integrity/verify.ts'
import type { CheckpointRecord } from './checkpoint.ts'

export interface Evidence {
  readonly checkpoint: CheckpointId
  /** Of what the store holds now; null where that is gone or cannot be read. */
  readonly proof: Proof | null
}

/** Why an integration was refused that brought no evidence, or that of another checkpoint. */
export const EVIDENCE_MISSING = 'evidence_missing'

/** Over every field but the time, unexpected ones included, with the key of the workspace that made it. */
export function proveCheckpoint(proofs: Proofs, workspace: WorkspaceId, record: CheckpointRecord): Proof | null {
  const { timestamp: _timestamp, integrity: _integrity, ...content } = record
  return tryToProve(proofs, workspace, content)
}
