// What agents are shown of the content store (W-SEC-10): a record that does not match its proof is refused, and that is on record.
import {
  asParleyError,
  type CheckpointId,
  type EnvelopeId,
  err,
  type ObjectId,
  ok,
  type Result,
  type WorkspaceId,
} from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { CheckpointRecord } from '../checkpoint/checkpoint.ts'
import { type Evidence, proveCheckpoint } from '../checkpoint/proof.ts'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { recordViolation } from '../envelope/proof.ts'
import type { Proofs } from '../integrity/proofs.ts'
import { type Violation, violationOf } from '../integrity/verify.ts'
import { deepFreeze } from '../plain.ts'
import { notFound, refusal } from '../refusal.ts'
import type { RunHandle } from './run-handle.ts'

/** W-CP-06: copies that nobody takes for the original. */
export async function readContent<T>(run: RunHandle, kind: string, id: string): Promise<Result<T>> {
  const object = await run.object(id as ObjectId)
  if (!object.ok) return err(object.error)
  return object.value ? ok(deepFreeze(object.value.value as T)) : notFound(kind, id)
}

export async function readCheckpointContent(
  run: RunHandle,
  id: CheckpointId,
): Promise<Result<CheckpointRecord>> {
  const content = await readContent<CheckpointRecord>(run, 'checkpoint', id)
  if (!content.ok || !run.proofs) return content
  const checkpoint = await run.read(state => state.checkpoints.get(id))
  if (!checkpoint) return notFound('checkpoint', id)
  const actual = proveCheckpoint(run.proofs, checkpoint.workspace, content.value)
  const violation = violationOf(checkpoint.integrity, actual)
  if (violation) return forged(run, 'checkpoint', id, violation)
  return ok(
    deepFreeze({ ...content.value, ...(checkpoint.integrity && { integrity: checkpoint.integrity }) }),
  )
}

export async function readEnvelopeContent(run: RunHandle, id: EnvelopeId): Promise<Result<EnvelopeRecord>> {
  // What a human changed at its gate is what was sent; the original stays under the envelope's own id (W-HWY-08).
  const current = await run.read(state => state.envelopes.get(id)?.changed ?? id)
  const content = await readContent<EnvelopeRecord>(run, 'envelope', current)
  if (!content.ok || !run.proofs) return content
  const violation = recordViolation(run.proofs, id, content.value)
  return violation ? forged(run, 'envelope', id, violation) : content
}

/** Security events are never silent (W-SEC-18). */
async function forged(
  run: RunHandle,
  subject_type: 'checkpoint' | 'envelope',
  subject_id: string,
  violation: Violation,
): Promise<Result<never>> {
  const body: EventBody<'integrity_violation'> = {
    subject_type,
    subject_id,
    ...violation,
    action_taken: 'flagged',
  }
  const recorded = await run.record([
    { event_type: 'integrity_violation', workspace: null, actor: 'protocol', body },
  ])
  if (!recorded.ok) return recorded
  const message = `What the store holds of the ${subject_type} ${subject_id} does not match its proof; it is not shown.`
  return refusal('rejected', message, { reason: 'integrity_violation' })
}

/** What an integrator brings along (W-INT-05): the proof of the source's deliverable, as the store holds it now. */
export async function evidenceOf(
  run: RunHandle,
  proofs: Proofs,
  source: WorkspaceId,
): Promise<Result<Evidence | undefined>> {
  const found = await deliverableOf(run, source)
  if (!found.ok) return found
  if (found.value === undefined) return ok(undefined)
  const checkpoint = found.value
  const object = await run.object(checkpoint as string as ObjectId)
  if (object.ok) {
    const record = object.value?.value as CheckpointRecord | undefined
    return ok({ checkpoint, proof: record ? proveCheckpoint(proofs, source, record) : null })
  }
  // Damage is the integrator's to see; a store that is away for now is tried again.
  const { code } = object.error
  return code === 'trail_damaged' || code === 'blob_missing' ? ok({ checkpoint, proof: null }) : object
}

/** A finished run is read from its trail, which may be away. */
async function deliverableOf(run: RunHandle, source: WorkspaceId): Promise<Result<CheckpointId | undefined>> {
  try {
    return ok(await run.read(state => state.workspaces.get(source)?.deliverable))
  } catch (cause) {
    return err(asParleyError(cause))
  }
}
