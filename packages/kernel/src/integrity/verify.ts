// Checking proofs (W-SEC-10): what is missing or wrong is a violation, and there is no lenient mode.
import { ParleyError, type WorkspaceId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { Proof, Proofs } from './proofs.ts'

type ViolationBody = EventBody<'integrity_violation'>

export type Violation = Pick<ViolationBody, 'violation' | 'expected' | 'actual'>

/** Compares the proof on record with the one that the content comes to now; null where there is no such content. */
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
