// The proof of an envelope (W-SEC-07, AMB-17, W-ENV-08), and a sender's own of its draft (W-ENV-05 check 3).
import { timingSafeEqual } from 'node:crypto'
import { type EnvelopeId, ok, type Result, type WorkspaceId } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { type Proof, type Proofs, tryToProve, type Violation, violationOf } from '../integrity/proofs.ts'
import { deepFreeze } from '../plain.ts'
import { invalidArgument, refusal } from '../refusal.ts'
import { type Envelope, type EnvelopeDraft, type EnvelopeRecord, envelopeDrafts } from './envelope.ts'

/** Adds the proof, where this runtime makes any. Every write of an envelope's record goes through here. */
export function sealed(batch: Batch, record: EnvelopeRecord): EnvelopeRecord {
  const { proofs } = batch.context
  if (!proofs) return record
  const whole = deepFreeze({ ...record, integrity: proofs.prove(record.from, provenFields(record)) })
  sealedHere.add(whole)
  return whole
}

/** Records that this process proved and froze: they cannot have changed, so their proof still holds. */
const sealedHere = new WeakSet<object>()

/** Everything that a record brings is under its proof, also a field that should not be there. */
function provenFields(record: object): object {
  const { integrity: _integrity, status: _status, ...fields } = record as Record<string, unknown>
  return fields
}

/** The sender's fields with defaults, and its identity: what an agent sealed is of no use to its successor. */
function proveDraft(proofs: Proofs, { from, agent }: Sender, draft: EnvelopeDraft): Proof {
  const { to, type, payload, in_reply_to = null, rights = [], priority = 'normal' } = draft
  const { format, content, attachments = [] } = payload
  return proofs.prove(from, {
    agent,
    from,
    to,
    type,
    payload: { format, content, attachments },
    in_reply_to,
    rights,
    priority,
  })
}

/** A workspace, and the identity of the agent that speaks for it (W-SEC-03, -07). */
export interface Sender {
  readonly from: WorkspaceId
  readonly agent: string
}

export function sealDraft(proofs: Proofs | undefined, sender: Sender, draft: unknown): Result<EnvelopeDraft> {
  if (!proofs) return refusal('unsupported', 'This runtime has no secret, and so it makes no proofs.')
  const checked = envelopeDrafts.check(draft)
  if (!checked.ok) return invalidArgument(checked.error.message)
  return ok({ ...checked.value, integrity: proveDraft(proofs, sender, checked.value) })
}

/** Never records the expected proof: that would be a valid proof of the forgery. */
export function draftViolation(proofs: Proofs, sender: Sender, draft: EnvelopeDraft): Violation | undefined {
  const claimed = draft.integrity
  if (!claimed) return undefined
  const made = proveDraft(proofs, sender, draft)
  if (claimed.algorithm !== made.algorithm)
    return { violation: 'signature_invalid', expected: null, actual: claimed.proof }
  if (same(claimed.proof, made.proof)) return undefined
  return { violation: 'hash_mismatch', expected: null, actual: claimed.proof }
}

/** In a time that says nothing about where they differ. */
function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

export function arrivalViolation(
  batch: Batch,
  envelope: Envelope,
  arrived: unknown = envelope.record,
): Violation | undefined {
  const { proofs } = batch.context
  if (!proofs) return undefined
  const recorded = envelope.record?.integrity
  const brought = integrityOf(arrived)
  if (!recorded || !brought) return { violation: 'proof_missing', expected: recorded?.proof ?? null, actual: null }
  // The one on record counts: an earlier version of what a human changed since (W-HWY-08) has a valid proof too.
  if (brought.proof !== recorded.proof || brought.algorithm !== recorded.algorithm)
    return {
      violation: 'hash_mismatch',
      expected: recorded.proof,
      actual: clip(brought.proof, bodyLimits.digestLength) || null,
    }
  if (sealedHere.has(arrived as object)) return undefined
  return violationOf(recorded, tryToProve(proofs, envelope.from, provenFields(arrived as object)))
}

/** A record that came out of the content store, against the proof that it carries. Another envelope's is wrong here. */
export function recordViolation(proofs: Proofs, id: EnvelopeId, record: EnvelopeRecord): Violation | undefined {
  const actual = record.id === id ? tryToProve(proofs, record.from, provenFields(record)) : null
  return violationOf(record.integrity, actual)
}

/** The proof for the last time, before the receiver gets it (W-SEC-10). */
export function consumptionViolation(
  { context }: Batch,
  id: EnvelopeId,
  record: EnvelopeRecord | undefined,
): Violation | undefined {
  if (!context.proofs || !record || sealedHere.has(record)) return undefined
  return recordViolation(context.proofs, id, record)
}

/** What a transport hands in has any shape. */
function integrityOf(arrived: unknown): Proof | undefined {
  const integrity = (arrived as { readonly integrity?: Partial<Proof> } | null)?.integrity
  return typeof integrity?.proof === 'string' && typeof integrity.algorithm === 'string'
    ? (integrity as Proof)
    : undefined
}
