// Proofs of envelopes and checkpoints (W-SEC-07, -09): keyed with a secret of the workspace that they come from.
import { ParleyError, type WorkspaceId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { Batch } from '../batch.ts'

export interface Proof {
  readonly proof: string
  readonly algorithm: string
}

/** Deterministic: the same workspace and value always have the same proof. */
export interface Proofs {
  prove(workspace: WorkspaceId, value: unknown): Proof
}

type ViolationBody = EventBody<'integrity_violation'>

export type Violation = Pick<ViolationBody, 'violation' | 'expected' | 'actual'>

export function violationOf(recorded: Proof | undefined, actual: Proof | null): Violation | undefined {
  if (!recorded) return { violation: 'proof_missing', expected: null, actual: null }
  if (actual?.proof === recorded.proof && actual.algorithm === recorded.algorithm) return undefined
  const violation = actual && actual.algorithm !== recorded.algorithm ? 'signature_invalid' : 'hash_mismatch'
  return { violation, expected: recorded.proof, actual: actual?.proof ?? null }
}

/** Null for what has no canonical form: it was never proven. */
export function tryToProve(proofs: Proofs, workspace: WorkspaceId, value: unknown): Proof | null {
  try {
    return proofs.prove(workspace, value)
  } catch (cause) {
    if (cause instanceof ParleyError && cause.code === 'not_canonical') return null
    throw cause
  }
}

/** Filed system-level, where nobody below the coordinator reads it. */
export function writeViolation(
  batch: Batch,
  subject: Pick<ViolationBody, 'subject_type' | 'subject_id' | 'action_taken' | 'mode'>,
  violation: Violation,
): void {
  batch.add('integrity_violation', null, 'protocol', { ...subject, ...violation })
}
