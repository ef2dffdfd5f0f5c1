// Submitting an envelope: the nine checks of W-ENV-05 in their order, then `envelope_created`.
import { compile, type EnvelopeId, ok, type Result } from '@parley/core'
import { bodyLimits, type EnvelopeRejectionReason } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelLimits } from '../limits.ts'
import { mayMint } from '../port-right/decide.ts'
import { heldRight, type PortRight, sendRight } from '../port-right/port-right.ts'
import { limitReached, refusal } from '../refusal.ts'
import { maySend, type Relation } from '../role/matrix.ts'
import { workspaceOf } from '../run/run.ts'
import { isAbove, isRoot, type Workspace } from '../workspace/workspace.ts'
import {
  type EnvelopeDraft,
  EnvelopeDraftSchema,
  type EnvelopeRecord,
  type PayloadDraft,
} from './envelope.ts'

const validator = compile(EnvelopeDraftSchema, { name: 'envelope' })

export interface Sent {
  readonly envelope: EnvelopeId
}

interface Accepted {
  readonly draft: EnvelopeDraft
  readonly receiver: Workspace
  readonly right: PortRight
}

interface Rejection {
  readonly reason: EnvelopeRejectionReason
  readonly message: string
}

/** `reserved` is the id of a directive that was promised at creation (W-WS-07). */
export function decideSend(
  batch: Batch,
  sender: Workspace,
  submitted: unknown,
  reserved?: EnvelopeId,
): Result<Sent> {
  const { run } = batch
  if (run.envelopes.size >= kernelLimits.envelopes)
    return limitReached('envelopes in one run', kernelLimits.envelopes)
  if (run.undelivered >= kernelLimits.undelivered)
    return limitReached('envelopes that wait for delivery', kernelLimits.undelivered)
  const id = reserved ?? batch.newId<EnvelopeId>('env')
  const checked = check(batch, sender, submitted)
  if ('reason' in checked) return reject(batch, sender, id, submitted, checked)
  write(batch, sender, id, checked)
  return ok({ envelope: id })
}

/** W-ENV-05. The first failure decides; check 3 belongs to level 2. */
function check(batch: Batch, sender: Workspace, submitted: unknown): Accepted | Rejection {
  const { run } = batch
  // 1
  if (!STATE_RULES[sender.status].sends || (isRoot(sender) && sender.status !== 'active'))
    return { reason: 'permission_denied', message: `${sender.id} is ${sender.status} and sends nothing.` }
  // 2
  const invalid = (message: string): Rejection => ({ reason: 'invalid_structure', message })
  const structure = validator.check(submitted)
  if (!structure.ok) return invalid(structure.error.message)
  const draft = structure.value
  const rights = draft.rights ?? []
  if (isTooLarge(draft.payload))
    return invalid(`A payload takes at most ${kernelLimits.payloadLength} characters of JSON.`)
  if (draft.from !== undefined && draft.from !== sender.id) return invalid('The runtime alone sets `from`.')
  if (draft.to === sender.id) return invalid('An envelope goes to another workspace.')
  if (draft.in_reply_to != null && !run.envelopes.has(draft.in_reply_to as EnvelopeId))
    return invalid(`There is no envelope ${draft.in_reply_to} to reply to.`)
  for (const right of rights) {
    if (right.target === draft.to || !workspaceOf(run, right.target))
      return invalid('A listed right needs a target that exists and is not the receiver.')
  }
  // 4
  if (!run.vocabulary.envelopeTypes.has(draft.type))
    return { reason: 'invalid_type', message: `The envelope type '${draft.type}' is not registered.` }
  // 5, 6
  const receiver = workspaceOf(run, draft.to)
  if (!receiver) return { reason: 'target_not_found', message: `There is no workspace ${draft.to}.` }
  if (STATE_RULES[receiver.status].mail === 'refused')
    return { reason: 'target_terminal', message: `${receiver.id} is ${receiver.status} and takes no mail.` }
  // 7. W-ROLE-06
  if (!maySend(run.vocabulary, sender, draft.type, receiver, relationOf(sender, receiver))) {
    const message = `The role ${sender.role} sends no '${draft.type}' to the role ${receiver.role}.`
    return { reason: 'permission_denied', message }
  }
  // 8. W-PORT-04
  const right = sendRight(sender, receiver)
  if (!right)
    return { reason: 'no_send_right', message: `${sender.id} holds no right to send to ${receiver.id}.` }
  // 9. W-PORT-06
  const handedOn = new Set<PortRight>()
  for (const listed of rights) {
    const target = workspaceOf(run, listed.target)
    if (target && mayMint(sender, receiver, target)) continue
    // Each entry needs a right of its own.
    const held = target && heldRight(sender, listed.type, target, handedOn)
    if (!held)
      return invalid(
        `${sender.id} holds no '${listed.type}' right to ${listed.target} that it could hand on.`,
      )
    handedOn.add(held)
  }
  return { draft, receiver, right }
}

/** JSON takes up to six characters for one: only what could be too large is written out. */
function isTooLarge(payload: PayloadDraft): boolean {
  const { content, attachments = [] } = payload
  if (attachments.length === 0 && content.length < kernelLimits.payloadLength / 8) return false
  return JSON.stringify(payload).length > kernelLimits.payloadLength
}

/** The record, and with it the use of a `send_once` (W-PORT-07). */
function write(batch: Batch, sender: Workspace, id: EnvelopeId, { draft, receiver, right }: Accepted): void {
  const record: EnvelopeRecord = {
    id,
    from: sender.id,
    to: receiver.id,
    type: draft.type,
    payload: { ...draft.payload, attachments: draft.payload.attachments ?? [] },
    in_reply_to: (draft.in_reply_to ?? null) as EnvelopeId | null,
    rights: draft.rights ?? [],
    priority: draft.priority ?? 'normal',
    timestamp: batch.at,
    origin: 'agent',
    originator: sender.originator,
  }
  batch.store('envelope', id, record)
  batch.add('envelope_created', sender, actorOf(sender), {
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
  if (right.type !== 'send_once') return
  batch.add('port_right_consumed', sender, 'protocol', {
    right_id: right.id,
    holder: sender.id,
    target: receiver.id,
    via_envelope: id,
  })
}

/** W-ENV-07: on record, the id is used up, the receiver learns nothing. */
function reject(
  batch: Batch,
  sender: Workspace,
  id: EnvelopeId,
  submitted: unknown,
  { reason, message }: Rejection,
): Result<never> {
  const claims = (submitted ?? {}) as { readonly to?: unknown; readonly type?: unknown }
  const claim = (value: unknown) => (typeof value === 'string' ? clip(value, bodyLimits.nameLength) : null)
  const entry = batch.add('envelope_rejected', sender, 'protocol', {
    envelope_id: id,
    from: sender.id,
    to: claim(claims.to),
    type: claim(claims.type),
    reason,
    timestamp: batch.at,
  })
  return refusal('rejected', message, { reason, envelope: id, entry })
}

export function relationOf(sender: Workspace, receiver: Workspace): Relation {
  if (isAbove(sender, receiver)) return 'sender_above'
  return isAbove(receiver, sender) ? 'receiver_above' : 'apart'
}
