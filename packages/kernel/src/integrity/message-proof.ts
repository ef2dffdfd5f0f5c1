// The message in a proof chain (W-SEC-17), checked against the proof or digest on record.
import type { CheckpointId, EnvelopeId, ObjectId, WorkspaceId } from '@parley/core'
import type { Entry, ReadableRun } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import { type CheckpointRecord, proveCheckpoint } from '../checkpoint/checkpoint.ts'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { recordViolation } from '../envelope/proof.ts'
import type { GateRecord } from '../highway/gate.ts'
import { referenceTo } from '../highway/subject.ts'
import { found } from './acting.ts'
import type { ProofStep } from './proof-report.ts'
import { type Proofs, violationOf } from './proofs.ts'

interface Source {
  readonly trail: ReadableRun
  readonly proofs: Proofs | undefined
}

type Check<T extends EventType> = (source: Source, body: EventBody<T>) => Promise<ProofStep> | ProofStep

const verified = (detail: string): ProofStep => ({ status: 'verified', detail })
const failed = (detail: string): ProofStep => ({ status: 'failed', detail })
const missing = (detail: string): ProofStep => ({ status: 'missing', detail })
const none: ProofStep = { status: 'none', detail: 'The entry itself is all that was said.' }

export async function messageOf(source: Source, { event_type, body }: Entry): Promise<ProofStep> {
  const check = CHECKS[event_type] as Check<EventType> | undefined
  return check ? check(source, body) : none
}

const ofEnvelope: Check<'envelope_created' | 'envelope_delivered' | 'envelope_redelivered'> = (source, body) =>
  envelope(source, body.envelope_id as EnvelopeId)

const CHECKS: { readonly [T in EventType]?: Check<T> } = {
  checkpoint_created: checkpoint,
  envelope_created: ofEnvelope,
  envelope_delivered: ofEnvelope,
  envelope_redelivered: ofEnvelope,
  // Of a rejected envelope only the fact is kept.
  human_injection: (source, body) =>
    body.status === 'delivered' && body.envelope_id !== null ? envelope(source, body.envelope_id as EnvelopeId) : none,
  escalation_resolved: (source, body) =>
    body.response_type === 'envelope' && body.response_ref !== undefined
      ? envelope(source, body.response_ref as EnvelopeId)
      : none,
  gate_triggered: (source, body) => gate(source, body.gate_id, body.subject),
  gate_resolved: resolution,
}

/** W-SEC-09 */
async function checkpoint(
  { trail, proofs }: Source,
  { checkpoint_id: id, workspace, integrity }: EventBody<'checkpoint_created'>,
): Promise<ProofStep> {
  if (!proofs || !integrity) return missing(`There is no proof of the checkpoint ${id}.`)
  const record = await valueAt<CheckpointRecord>(trail, id)
  const actual = record && proveCheckpoint(proofs, workspace as WorkspaceId, record)
  if (record && record.id === (id as CheckpointId) && !violationOf(integrity, actual ?? null))
    return verified(`The content of ${id} is what its agent handed in.`)
  return failed(`What the store holds of ${id} does not match its proof.`)
}

/** W-SEC-07 */
async function envelope({ trail, proofs }: Source, id: EnvelopeId): Promise<ProofStep> {
  if (!proofs) return missing(`There is no proof of the envelope ${id}.`)
  const record = await valueAt<EnvelopeRecord>(trail, id)
  if (record && !recordViolation(proofs, id, record)) return verified(`The envelope ${id} is as its sender sealed it.`)
  return failed(`What the store holds of ${id} does not match its proof.`)
}

/** AMB-19: the subject that a human was shown, by the digest in the entry that opened the gate. */
async function gate(
  { trail }: Source,
  id: string,
  subject: EventBody<'gate_triggered'>['subject'],
): Promise<ProofStep> {
  const record = await valueAt<GateRecord>(trail, id)
  const digest = record && referenceTo(subject.kind, subject.id, record.subject).digest
  return digest === subject.digest
    ? verified(`What the gate ${id} was about is as it was shown.`)
    : failed(`What the store holds of the gate ${id} does not match its digest.`)
}

async function resolution(source: Source, body: EventBody<'gate_resolved'>): Promise<ProofStep> {
  const query = { event_type: 'gate_triggered', body: { gate_id: body.gate_id }, limit: 1 }
  const [opened] = await found(source.trail, query)
  if (!opened) return missing(`The opening of the gate ${body.gate_id} is not on record.`)
  const shown = await gate(source, body.gate_id, (opened.body as EventBody<'gate_triggered'>).subject)
  if (shown.status !== 'verified') return shown
  for (const reference of [body.modifications?.description, body.modifications?.payload]) {
    if (!reference) continue
    const value = await valueAt(source.trail, reference.id)
    if (value === undefined || referenceTo(reference.kind, reference.id, value).digest !== reference.digest)
      return failed(`What the store holds of ${reference.id} does not match its digest.`)
  }
  return shown
}

async function valueAt<T>(trail: ReadableRun, id: string): Promise<T | undefined> {
  try {
    return (await trail.object(id as ObjectId))?.value as T | undefined
  } catch {
    return undefined
  }
}
