// The proof check of an integration (W-INT-05): a deliverable whose stored content is not what its agent handed in is
// never merged, and no human is asked about it.
import { type CheckpointId, ok, type Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import { EVIDENCE_MISSING, type Evidence } from '../checkpoint/checkpoint.ts'
import { type Violation, violationOf, writeViolation } from '../integrity/verify.ts'
import { invalidArgument, type Refusal, refusal } from '../refusal.ts'
import { byProtocol, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { writeAbortion } from './integration.ts'
import { targetOf } from './source.ts'

/** What is wrong with the deliverable, if anything; at level 1 there are no proofs. */
export function deliverableViolation(
  batch: Batch,
  checkpoint: CheckpointId,
  evidence: Evidence | undefined,
): Result<Violation | undefined> {
  if (!batch.context.proofs) return ok(undefined)
  if (evidence?.checkpoint !== checkpoint) {
    const message = `The proof of ${checkpoint} as it is stored now is needed; the agent's handle brings it.`
    return invalidArgument(message, EVIDENCE_MISSING)
  }
  return ok(violationOf(batch.run.checkpoints.get(checkpoint)?.integrity, evidence.proof))
}

/** The same for a merge that continues later: the runtime brings the proof, since the caller may be gone. */
export function storedViolation(batch: Batch, checkpoint: CheckpointId): Result<Violation | undefined> {
  const { proofs, evidence } = batch.context
  if (proofs && evidence?.checkpoint !== checkpoint) batch.lacks = checkpoint
  return deliverableViolation(batch, checkpoint, evidence)
}

export function writeForged(
  batch: Batch,
  checkpoint: CheckpointId,
  violation: Violation,
  mode?: { readonly mode: 'salvage' },
): void {
  const subject = { subject_type: 'checkpoint', subject_id: checkpoint, action_taken: 'flagged' } as const
  writeViolation(batch, { ...subject, ...mode }, violation)
}

export function writeFlagged(batch: Batch, source: Workspace, checkpoint: CheckpointId, violation: Violation): Refusal {
  const reason = 'integrity_violation'
  writeForged(batch, checkpoint, violation)
  // Where it was open before this batch, the failure itself ends it.
  if (!source.integration)
    writeAbortion(batch, { source, target: targetOf(batch, source) }, 'normal', reason, 'protocol')
  writeFailure(batch, source, { ...byProtocol('integration_error'), aborts: reason })
  return notMerged(source, checkpoint)
}

export function notMerged(source: Workspace, checkpoint: CheckpointId): Refusal {
  const message = `What the store holds of ${checkpoint} does not match its proof; ${source.id} has failed and nothing was merged.`
  return refusal('rejected', message, { reason: 'integrity_violation', checkpoint })
}
