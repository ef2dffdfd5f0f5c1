// Objects changed at rest (W-SEC-16). Envelopes and checkpoints also have proofs that every use checks.
import { ParleyError, type RunId } from '@parley/core'
import type { EntryDraft, ProposedEntry, TrailObject } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { recordViolation } from '../envelope/proof.ts'
import type { Run } from '../run/run.ts'
import type { Proofs } from './proofs.ts'

/** Checks objects during replay; throws `content_damaged` for what must not become part of the state. */
export class ObjectCheck {
  readonly #run: Run
  readonly #proofs: Proofs | undefined
  readonly #first: string[] = []
  /** What was changed, and is let in for its own proof to give it away. */
  readonly #suspects: TrailObject[] = []

  constructor(run: Run, proofs: Proofs | undefined) {
    this.#run = run
    this.#proofs = proofs
  }

  object(object: TrailObject): void {
    const run = this.#run
    if (run.seq === 0) this.#first.push(object.kind)
    if (!isForged(object, run.contentProven)) return
    if (!showsItself(object, this.#proofs)) throw forgedObject(run.id, object)
    this.#suspects.push(object)
  }

  entry({ event_type, body }: EntryDraft): void {
    const { seq, id } = this.#run
    if (seq > 0 || event_type !== 'workspace_created' || !this.#proofs) return
    const { content_objects: expected } = body as EventBody<'workspace_created'>
    if (expected === undefined || expected.join() === this.#first.join()) return
    const message = `${id} began with other objects than its first entry says (${expected.join(', ')}); restore it from a backup.`
    throw new ParleyError('content_damaged', message, { details: { run: id } })
  }

  end(): void {
    for (const suspect of this.#suspects)
      if (this.#run.staged.has(suspect.id)) throw forgedObject(this.#run.id, suspect)
  }
}

/** Whether it was changed, or has lost its proof. `required`: it was written when objects had one. */
export function isForged({ proof }: TrailObject, required: boolean): boolean {
  return proof === 'forged' || (proof === 'missing' && required)
}

function showsItself({ kind, value }: TrailObject, proofs: Proofs | undefined): boolean {
  if (kind === 'checkpoint') return true
  if (kind !== 'envelope' || !proofs) return false
  const record = value as EnvelopeRecord
  return recordViolation(proofs, record.id, record) !== undefined
}

function forgedObject(run: RunId, { id, kind }: Pick<TrailObject, 'id' | 'kind'>): ParleyError {
  return damagedObject(run, id, `The ${kind} ${id} of ${run} is not what was proven`)
}

export function missingDirective(run: RunId, id: string): ParleyError {
  return damagedObject(run, id, `The directive ${id} of ${run} is missing`)
}

function damagedObject(run: RunId, object: string, what: string): ParleyError {
  const message = `${what}; restore the trail from a backup.`
  return new ParleyError('content_damaged', message, { details: { run, object } })
}

export function forgedEntry(id: string): ProposedEntry<'integrity_violation'> {
  const body = { subject_type: 'trail_entry', subject_id: id, violation: 'hash_mismatch' } as const
  return {
    event_type: 'integrity_violation',
    workspace: null,
    actor: 'protocol',
    body: { ...body, expected: null, actual: null, action_taken: 'flagged' },
  }
}
