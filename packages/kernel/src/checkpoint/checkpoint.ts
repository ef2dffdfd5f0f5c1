// The checkpoint (W-CP-01), and its proof (W-SEC-09, W-CP-13): checked before content is shown or integrated. An
// integrator brings the proof alone, since commands wait in queues and contents can be large.
import { type CheckpointId, type Static, Type, type WorkspaceId } from '@parley/core'
import {
  bodyLimits,
  CHECKPOINT_STATUSES,
  type CheckpointStatus,
  CONFIDENCES,
  type EventBody,
  type Integrity,
  ResourceUsage,
} from '@parley/trail/events'
import { type Proof, type Proofs, tryToProve } from '../integrity/proofs.ts'
import { kernelLimits } from '../limits.ts'

const Path = Type.String({ minLength: 1, maxLength: bodyLimits.resourceLength })

/** What an agent supplies (W-CP-02). Checkpoint types may require further fields of the payload. */
export const CheckpointDraftSchema = Type.Object(
  {
    type: Type.String(),
    payload: Type.Object(
      {
        files_changed: Type.Optional(Type.Array(Path, { maxItems: kernelLimits.filesChanged })),
        content: Type.Optional(Type.String({ maxLength: kernelLimits.payloadLength })),
        artifacts: Type.Optional(
          Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: kernelLimits.artifacts }),
        ),
      },
      { additionalProperties: true },
    ),
    intent: Type.String({ minLength: 1, maxLength: kernelLimits.intentLength }),
    parent: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    status: Type.Enum([...CHECKPOINT_STATUSES]),
    confidence: Type.Enum([...CONFIDENCES]),
    resource_usage: Type.Optional(ResourceUsage),
  },
  { additionalProperties: false },
)
export type CheckpointDraft = Static<typeof CheckpointDraftSchema>

/** An entry of `payload.artifacts` with the id that the runtime gave it (W-CP-11). */
export type Artifact = Readonly<Record<string, unknown>> & { readonly artifact_id: string }

export interface CheckpointRecord {
  readonly id: CheckpointId
  readonly workspace: WorkspaceId
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>> & {
    readonly files_changed: readonly string[]
    readonly content: string
    readonly artifacts: readonly Artifact[]
  }
  readonly intent: string
  readonly parent: CheckpointId | null
  readonly status: CheckpointStatus
  readonly confidence: EventBody<'checkpoint_created'>['confidence']
  readonly resource_usage?: ResourceUsage
  readonly timestamp: string
  /** The proof on the trail, shown to whoever reads the checkpoint; absent where this runtime made none. */
  readonly integrity?: Integrity
}

export interface Checkpoint {
  readonly id: CheckpointId
  readonly workspace: WorkspaceId
  readonly type: string
  readonly status: CheckpointStatus
  readonly confidence: EventBody<'checkpoint_created'>['confidence']
  readonly parent: CheckpointId | null
  readonly filesChanged: readonly string[]
  readonly artifacts: readonly string[]
  /** As recorded at its creation (W-SEC-09). */
  readonly integrity: Integrity | undefined
}

export interface Evidence {
  readonly checkpoint: CheckpointId
  /** Of what the store holds now; null where that is gone or cannot be read. */
  readonly proof: Proof | null
}

export const EVIDENCE_MISSING = 'evidence_missing'

/** Over every field but the time, unexpected ones included, with the key of the workspace that made it. */
export function proveCheckpoint(proofs: Proofs, workspace: WorkspaceId, record: CheckpointRecord): Proof | null {
  const { timestamp: _timestamp, integrity: _integrity, ...content } = record
  return tryToProve(proofs, workspace, content)
}
