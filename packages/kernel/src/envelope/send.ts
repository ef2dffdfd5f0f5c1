// Submitting an envelope: the nine checks of W-ENV-05 in their order, then `envelope_created`.
import { type EnvelopeId, type GateId, ok, type Result, type WorkspaceId } from '@parley/core'
import { bodyLimits, type EventBody } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { gate } from '../highway/gate.ts'
import { type Violation, writeViolation } from '../integrity/proofs.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelLimits } from '../limits.ts'
import { mayMint, writeRight } from '../port-right/decide.ts'
import { heldRight, type PortRight, sendRight } from '../port-right/port-right.ts'
import { limitReached, type Refusal, refusal } from '../refusal.ts'
import { maySend, type Relation } from '../role/matrix.ts'
import { type Run, workspaceOf } from '../run/run.ts'
import { agentOf, isAbove, isRoot, type Workspace } from '../workspace/workspace.ts'
import { type EnvelopeDraft, type EnvelopeRecord, envelopeDrafts, type PayloadDraft } from './envelope.ts'
import { draftViolation, sealed } from './proof.ts'

export interface Sent {
  readonly envelope: EnvelopeId
  readonly gate?: GateId
}

interface Accepted {
  readonly draft: EnvelopeDraft
  readonly receiver: Workspace
  readonly right: PortRight | undefined
}

export interface Rejection {
  readonly reason: EventBody<'envelope_rejected'>['reason']
  readonly message: string
  readonly violation?: Violation
}

/** What the runtime composes for a workspace: it goes out in the name of whoever asked for it (§9.1). */
interface Composed {
  /** The id of a directive that was promised at creation (W-WS-07). */
  readonly reserved?: EnvelopeId
  readonly accepted?: () => void
  /** `none`: needs no right and uses none up (W-TERM-02). `minted`: makes one for this envelope where there is none. */
  readonly right?: 'none' | 'minted'
  readonly actor?: string
}

export function decideSend(batch: Batch, sender: Workspace, submitted: unknown, composed: Composed = {}): Result<Sent> {
  const full = mailLimit(batch.run)
  if (full) return full
  const id = composed.reserved ?? batch.newId<EnvelopeId>('env')
  const checked = check(batch, sender, submitted, composed.right)
  if ('reason' in checked) return writeRejected(batch, sender, id, submitted, checked)
  composed.accepted?.()
  write(batch, sender, id, checked, composed)
  // W-HWY-03: it is accepted all the same; only its delivery waits.
  const verdict = gate(batch, { type: 'envelope_delivery', envelope: id })
  return ok({ envelope: id, ...(typeof verdict === 'object' && { gate: verdict.waits }) })
}

export function mailLimit(run: Run): Refusal | undefined {
  if (run.envelopes.size >= kernelLimits.envelopes) return limitReached('envelopes in one run', kernelLimits.envelopes)
  if (run.undelivered >= kernelLimits.undelivered)
    return limitReached('envelopes that wait for delivery', kernelLimits.undelivered)
  return undefined
}

/** W-ENV-05. The first failure decides. */
function check(batch: Batch, sender: Workspace, submitted: unknown, without?: Composed['right']): Accepted | Rejection {
  const { run } = batch
  // 1
  if (!STATE_RULES[sender.status].sends || (isRoot(sender) && sender.status !== 'active'))
    return { reason: 'permission_denied', message: `${sender.id} is ${sender.status} and sends nothing.` }
  // 2
  const draft = structured(batch, sender, submitted)
  if ('reason' in draft) return draft
  const rights = draft.rights ?? []
  if (draft.to === sender.id) return invalid('An envelope goes to another workspace.')
  for (const right of rights) {
    if (right.target === draft.to || !workspaceOf(run, right.target))
      return invalid('A listed right needs a target that exists and is not the receiver.')
  }
  // 3. W-SEC-07
  const { proofs } = batch.context
  if (draft.integrity && !proofs) return invalid('This runtime makes no proofs and can check none.')
  const violation = proofs && draftViolation(proofs, { from: sender.id, agent: agentOf(sender) }, draft)
  if (violation) {
    const message = `The proof does not belong to this envelope, or not to the agent of ${sender.id}.`
    return { reason: 'integrity_violation', message, violation }
  }
  // 4 to 6
  const receiver = receiverOf(run, draft)
  if ('reason' in receiver) return receiver
  // 7. W-ROLE-06
  if (!maySend(run.vocabulary, sender, draft.type, receiver, relationOf(sender, receiver))) {
    const message = `The role ${sender.role} sends no '${draft.type}' to the role ${receiver.role}.`
    return { reason: 'permission_denied', message }
  }
  // 8. W-PORT-04
  const right = without === 'none' ? undefined : sendRight(sender, receiver)
  if (!right && without === undefined)
    return { reason: 'no_send_right', message: `${sender.id} holds no right to send to ${receiver.id}.` }
  // 9. W-PORT-06
  const handedOn = new Set<PortRight>()
  for (const listed of rights) {
    const target = workspaceOf(run, listed.target)
    if (target && mayMint(sender, receiver, target)) continue
    // Each entry needs a right of its own.
    const held = target && heldRight(sender, listed.type, target, handedOn)
    if (!held) return invalid(`${sender.id} holds no '${listed.type}' right to ${listed.target} that it could hand on.`)
    handedOn.add(held)
  }
  return { draft, receiver, right }
}

/** Checks 4 to 6: the type is registered, and the receiver is there and takes mail. */
export function receiverOf(run: Run, { type, to }: EnvelopeDraft, hint = ''): Workspace | Rejection {
  if (!run.vocabulary.envelopeTypes.has(type))
    return { reason: 'invalid_type', message: `The envelope type '${type}' is not registered.` }
  const receiver = workspaceOf(run, to)
  if (!receiver) return { reason: 'target_not_found', message: `There is no workspace ${to}.` }
  if (STATE_RULES[receiver.status].mail !== 'refused') return receiver
  return { reason: 'target_terminal', message: `${receiver.id} is ${receiver.status} and takes no mail${hint}.` }
}

export function structured(batch: Batch, sender: Workspace, submitted: unknown): EnvelopeDraft | Rejection {
  const structure = envelopeDrafts.check(submitted)
  if (!structure.ok) return invalid(structure.error.message)
  const draft = structure.value
  if (isTooLarge(draft.payload))
    return invalid(`A payload takes at most ${kernelLimits.payloadLength} characters of JSON.`)
  if (draft.from !== undefined && draft.from !== sender.id) return invalid('The runtime alone sets `from`.')
  if (draft.in_reply_to != null && !batch.run.envelopes.has(draft.in_reply_to as EnvelopeId))
    return invalid(`There is no envelope ${draft.in_reply_to} to reply to.`)
  return draft
}

function invalid(message: string): Rejection {
  return { reason: 'invalid_structure', message }
}

/** JSON takes up to six characters for one: only what could be too large is written out. */
function isTooLarge(payload: PayloadDraft): boolean {
  const { content, attachments = [] } = payload
  if (attachments.length === 0 && content.length < kernelLimits.payloadLength / 8) return false
  return JSON.stringify(payload).length > kernelLimits.payloadLength
}

/** The record, and with it the use of a `send_once` (W-PORT-07). */
function write(
  batch: Batch,
  sender: Workspace,
  id: EnvelopeId,
  { draft, receiver, right }: Accepted,
  { actor = actorOf(sender), right: without }: Composed,
): void {
  const by = { actor, id: sender.id }
  const minted = !right && without === 'minted' ? writeRight(batch, by, 'send_once', sender.id, receiver.id) : undefined
  writeCreated(batch, sender, { id, draft, origin: 'agent', originator: sender.originator }, actor)
  const once = minted ?? (right?.type === 'send_once' ? right.id : undefined)
  if (once === undefined) return
  batch.add('port_right_consumed', sender, 'protocol', {
    right_id: once,
    holder: sender.id,
    target: receiver.id,
    via_envelope: id,
  })
}

export function writeCreated(
  batch: Batch,
  sender: Workspace,
  approved: Pick<EnvelopeRecord, 'id' | 'origin' | 'originator'> & { readonly draft: EnvelopeDraft },
  actor: string,
): void {
  const { id, draft, origin, originator } = approved
  const record = sealed(batch, {
    id,
    from: sender.id,
    to: draft.to as WorkspaceId,
    type: draft.type,
    payload: { ...draft.payload, attachments: draft.payload.attachments ?? [] },
    in_reply_to: (draft.in_reply_to ?? null) as EnvelopeId | null,
    rights: draft.rights ?? [],
    priority: draft.priority ?? 'normal',
    timestamp: batch.at,
    origin,
    originator,
  })
  batch.store('envelope', id, record, { of: 'mail', from: record.from, to: record.to })
  batch.add('envelope_created', sender, actor, {
    envelope_id: id,
    from: record.from,
    to: record.to,
    type: record.type,
    priority: record.priority,
    in_reply_to: record.in_reply_to,
    originator: record.originator,
    timestamp: batch.at,
    origin: record.origin,
  })
}

/** W-ENV-07: on record, the id is used up, the receiver learns nothing. */
export function writeRejected(
  batch: Batch,
  sender: Workspace,
  id: EnvelopeId,
  submitted: unknown,
  { reason, message, violation }: Rejection,
): Result<never> {
  if (violation)
    writeViolation(batch, { subject_type: 'envelope', subject_id: id, action_taken: 'rejected' }, violation)
  const body = { envelope_id: id, from: sender.id, ...claimsOf(submitted), reason, timestamp: batch.at }
  const entry = batch.add('envelope_rejected', sender, 'protocol', body)
  return refusal('rejected', message, { reason, envelope: id, entry })
}

/** What a draft that may be anything says of its receiver and its type. */
export function claimsOf(submitted: unknown): { readonly to: string | null; readonly type: string | null } {
  const { to, type } = (submitted ?? {}) as { readonly to?: unknown; readonly type?: unknown }
  const claim = (value: unknown) => (typeof value === 'string' ? clip(value, bodyLimits.nameLength) : null)
  return { to: claim(to), type: claim(type) }
}

export function relationOf(sender: Workspace, receiver: Workspace): Relation {
  if (isAbove(sender, receiver)) return 'sender_above'
  return isAbove(receiver, sender) ? 'receiver_above' : 'apart'
}
