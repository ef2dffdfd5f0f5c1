// Stored content as agents are shown it (W-SEC-10): what does not match its proof is refused, on record.
import { type CheckpointId, type EnvelopeId, err, type ObjectId, ok, type Result, type WorkspaceId } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import { actorOf, clip } from '../../batch.ts'
import { type CheckpointRecord, type Evidence, proveCheckpoint } from '../../checkpoint/checkpoint.ts'
import type { EnvelopeRecord } from '../../envelope/envelope.ts'
import { recordViolation } from '../../envelope/proof.ts'
import { type Proofs, type Violation, violationOf } from '../../integrity/proofs.ts'
import { deepFreeze } from '../../plain.ts'
import { notFound, refusal } from '../../refusal.ts'
import type { Run } from '../../run/run.ts'
import { ended } from '../../workspace/workspace.ts'
import type { AgentKeys } from './agent-keys.ts'
import type { RunHandle } from './run-handle.ts'

/** W-CP-06: deeply frozen copies, opened with the reader's own keys only (W-SEC-13). */
export async function readContent<T>(
  run: RunHandle,
  kind: string,
  id: string,
  keys?: AgentKeys,
  forged?: 'shown',
): Promise<Result<T>> {
  const object = await run.object(id as ObjectId, keys, forged)
  if (!object.ok) {
    const { code, details } = object.error
    const withheld = code === 'content_key_missing' && details.reason === 'not_given'
    return keys && withheld ? recordWithheld(run, keys, kind, id) : err(object.error)
  }
  return object.value ? ok(deepFreeze(object.value.value as T)) : notFound(kind, id)
}

export async function readCheckpointContent(
  run: RunHandle,
  id: CheckpointId,
  keys?: AgentKeys,
): Promise<Result<CheckpointRecord>> {
  const content = await readContent<CheckpointRecord>(run, 'checkpoint', id, keys, run.proofs && 'shown')
  if (!content.ok || !run.proofs) return content
  const found = await run.tryRead(state => state.checkpoints.get(id))
  if (!found.ok) return found
  const checkpoint = found.value
  if (!checkpoint) return notFound('checkpoint', id)
  const actual = proveCheckpoint(run.proofs, checkpoint.workspace, content.value)
  const violation = violationOf(checkpoint.integrity, actual)
  if (violation) return forged(run, 'checkpoint', id, violation)
  return ok(deepFreeze({ ...content.value, ...(checkpoint.integrity && { integrity: checkpoint.integrity }) }))
}

export async function readEnvelopeContent(
  run: RunHandle,
  id: EnvelopeId,
  keys?: AgentKeys,
): Promise<Result<EnvelopeRecord>> {
  // What a human changed at its gate is what was sent; the original stays under the envelope's own id (W-HWY-08).
  const current = await run.tryRead(state => state.envelopes.get(id)?.changed ?? id)
  if (!current.ok) return current
  const content = await readContent<EnvelopeRecord>(run, 'envelope', current.value, keys, run.proofs && 'shown')
  if (!content.ok || !run.proofs) return content
  const violation = recordViolation(run.proofs, id, content.value)
  return violation ? forged(run, 'envelope', id, violation) : content
}

/** Access control let pass what the agent has no key for: a read outside its scope (W-SEC-12, -14). */
async function recordWithheld(
  run: RunHandle,
  { workspace }: AgentKeys,
  kind: string,
  id: string,
): Promise<Result<never>> {
  const found = await run.tryRead(state => {
    const known = state.workspaces.get(workspace)
    return known && { actor: actorOf(known), over: ended(known) }
  })
  if (!found.ok) return found
  const caller = found.value
  const recorded = await run.record([
    {
      event_type: 'capability_denied',
      workspace,
      actor: caller?.actor ?? 'protocol',
      body: {
        user_id: null,
        capability: 'access:read',
        action: `read_${kind}`,
        target: clip(id, 64),
        reason: 'permission_denied',
        ...(caller?.over && { workspace }),
      },
    },
  ])
  return recorded.ok ? notFound(kind, id) : recorded
}

/** Security events are never silent (W-SEC-18). */
async function forged(
  run: RunHandle,
  subject_type: 'checkpoint' | 'envelope',
  subject_id: string,
  violation: Violation,
): Promise<Result<never>> {
  const body = { subject_type, subject_id, ...violation, action_taken: 'flagged' } as const
  const recorded = await run.record([{ event_type: 'integrity_violation', workspace: null, actor: 'protocol', body }])
  if (!recorded.ok) return recorded
  const message = `What the store holds of the ${subject_type} ${subject_id} does not match its proof; it is not shown.`
  return refusal('rejected', message, { reason: 'integrity_violation' })
}

const DAMAGE = new Set(['trail_damaged', 'blob_missing', 'content_damaged'])

/** What an integrator brings along (W-INT-05): the proof of the checkpoint that it picks, as the store holds it now. */
export async function evidenceOf(
  run: RunHandle,
  proofs: Proofs,
  source: WorkspaceId,
  pick: (state: Run) => CheckpointId | undefined,
): Promise<Result<Evidence | undefined>> {
  const found = await run.tryRead(pick)
  if (!found.ok) return found
  if (found.value === undefined) return ok(undefined)
  const checkpoint = found.value
  return evidenceIn(await run.object(checkpoint as string as ObjectId, undefined, 'shown'), proofs, source, checkpoint)
}

export function evidenceIn(
  object: Result<TrailObject | undefined>,
  proofs: Proofs,
  source: WorkspaceId,
  checkpoint: CheckpointId,
): Result<Evidence> {
  if (object.ok) {
    const record = object.value?.value as CheckpointRecord | undefined
    return ok({ checkpoint, proof: record ? proveCheckpoint(proofs, source, record) : null })
  }
  // Damage is the integrator's to see; a store that is away for now is tried again.
  const { code } = object.error
  return DAMAGE.has(code) ? ok({ checkpoint, proof: null }) : object
}
