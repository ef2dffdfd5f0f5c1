// Delivery (W-ENV-08 to -12, -15, -16): what happens when an envelope arrives at its receiver, arrives again, or never
// arrives; and consumption by the agent (W-WS-21).
import { type EnvelopeId, ok, type Result, type WorkspaceId } from '@parley/core'
import { actorOf, type Batch } from '../batch.ts'
import { writeAnswered } from '../highway/answer.ts'
import { type Violation, writeViolation } from '../integrity/proofs.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { BY_PROTOCOL, writeTransition, writeTurnedBack, writeUndelivered } from '../lifecycle/transition.ts'
import { kernelLimits } from '../limits.ts'
import { mayMint, writeRight } from '../port-right/decide.ts'
import { heldRight, type PortRight } from '../port-right/port-right.ts'
import { invalidState, notFound, type Refusal, refusal } from '../refusal.ts'
import { knownWorkspace, type Run, workspaceOf } from '../run/run.ts'
import { DELIVERY_EXHAUSTED, writeDelivered, writeEmitted } from '../signal/signal.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type Envelope, type EnvelopeRecord, inboxNext, inboxSize, onItsWay } from './envelope.ts'
import { arrivalViolation, consumptionViolation } from './proof.ts'

/** Whether all mail for a workspace is held now: no attempt is made and no time runs (W-ENV-11). */
export function holdsMail(workspace: Workspace): boolean {
  return STATE_RULES[workspace.status].mail !== 'placed' || inboxSize(workspace.inbox) >= kernelLimits.inbox
}

/** Whether an unconsumed `blocking` envelope keeps out all that are not (W-ENV-13). */
export function isBlockedByMail({ inbox }: Workspace): boolean {
  return inbox !== undefined && inbox.blocking.length > 0
}

/** The envelope that its channel may deliver next; nothing overtakes it (W-ENV-10). */
export function channelHead(run: Run, from: WorkspaceId, to: WorkspaceId): Envelope | undefined {
  const receiver = run.workspaces.get(to)
  const head = receiver?.incoming?.get(from)?.[0]
  if (!receiver || head === undefined || holdsMail(receiver)) return undefined
  const envelope = run.envelopes.get(head)
  if (envelope?.priority !== 'blocking' && isBlockedByMail(receiver)) return undefined
  // What waits at a gate is not offered, and its channel waits with it (W-HWY-03).
  return envelope?.gate === undefined ? envelope : undefined
}

/** `arrived` is what the transport handed in, where it carries the envelope itself; `ok` confirms the delivery. */
export function decideArrival(batch: Batch, id: EnvelopeId, arrived?: unknown): Result<void> {
  const { run } = batch
  const envelope = run.envelopes.get(id)
  if (!envelope) return notFound('envelope', id)
  // Given up or rejected: it never moves again (W-ENV-04), and who rejected mail was for need not exist.
  const placed = envelope.status === 'delivered' || envelope.status === 'acknowledged'
  if (!placed && !onItsWay(envelope)) return ok(undefined)
  const receiver = knownWorkspace(run, envelope.to)
  if (placed) {
    writeRedelivered(batch, envelope, receiver)
    return ok(undefined)
  }
  if (channelHead(run, envelope.from, envelope.to) !== envelope)
    return invalidState(`${id} cannot be placed now: ${receiver.id} holds mail, or an earlier envelope comes first.`)
  const violation = arrivalViolation(batch, envelope, arrived)
  if (violation) writeForged(batch, envelope, violation)
  else writePlaced(batch, envelope, receiver)
  return ok(undefined)
}

/** W-ENV-04: the proof failed before placement. It never moves again, and its channel goes on. */
function writeForged(batch: Batch, envelope: Envelope, violation: Violation): void {
  writeViolation(batch, { subject_type: 'envelope', subject_id: envelope.id, action_taken: 'rejected' }, violation)
  writeTurnedBack(batch, envelope, 'integrity_violation')
}

/** W-ENV-08: the record, leaving `idle`, the rights that travel along, the receipt. */
function writePlaced(batch: Batch, envelope: Envelope, receiver: Workspace): void {
  const { id: envelope_id, from, to } = envelope
  batch.add('envelope_delivered', receiver, 'protocol', { envelope_id, from, to, delivered_at: batch.at })
  if (receiver.status === 'idle') {
    writeTransition(batch, receiver, { to: 'active', trigger: 'first_envelope', ...BY_PROTOCOL })
  }
  writeHandedOn(batch, envelope, receiver)
  writeReceipt(batch, envelope, receiver)
  writeAnswered(batch, envelope)
}

/** W-ENV-16: recognised by its id; acknowledged only if it never was. */
function writeRedelivered(batch: Batch, envelope: Envelope, receiver: Workspace): void {
  const { id: envelope_id, from, to } = envelope
  batch.add('envelope_redelivered', receiver, 'protocol', { envelope_id, from, to, timestamp: batch.at })
  if (envelope.status === 'delivered' && !batch.isEnded(receiver)) writeReceipt(batch, envelope, receiver)
}

/** W-ENV-09: to the sender, wherever it stands in the tree. */
export function writeReceipt(batch: Batch, envelope: Pick<Envelope, 'id' | 'from'>, receiver: Workspace): void {
  const sender = knownWorkspace(batch.run, envelope.from)
  const receipt = writeEmitted(batch, receiver, {
    type: 'acknowledged',
    ref: envelope.id,
    actor: 'protocol',
    to: sender === receiver ? undefined : sender,
  })
  writeDelivered(batch, receipt)
}

/** W-PORT-06: minted by those who may, otherwise moved; a right that is gone by now stays away without an entry. */
function writeHandedOn(batch: Batch, envelope: Envelope, receiver: Workspace): void {
  const sender = knownWorkspace(batch.run, envelope.from)
  const moved = new Set<PortRight>()
  for (const listed of envelope.record?.rights ?? []) {
    const target = workspaceOf(batch.run, listed.target)
    if (!target || target === receiver || batch.isEnded(target)) continue
    if (mayMint(sender, receiver, target)) {
      writeRight(batch, { actor: actorOf(sender), id: sender.id }, listed.type, receiver.id, target.id)
      continue
    }
    const right = heldRight(sender, listed.type, target, moved)
    if (!right) continue
    moved.add(right)
    batch.add('port_right_transferred', receiver, 'protocol', {
      right_id: right.id,
      right_type: right.type,
      from_holder: sender.id,
      to_holder: receiver.id,
      target: target.id,
      via_envelope: envelope.id,
    })
  }
}

/** W-ENV-15: given up. The `failed` signal is a notice to the sender and changes no state. */
export function decideExhausted(batch: Batch, id: EnvelopeId): Result<void> {
  const envelope = batch.run.envelopes.get(id)
  if (!envelope) return notFound('envelope', id)
  if (!onItsWay(envelope)) return invalidState(`${id} is not on its way any more.`)
  const sender = knownWorkspace(batch.run, envelope.from)
  writeUndelivered(batch, envelope, DELIVERY_EXHAUSTED)
  const receiver = knownWorkspace(batch.run, envelope.to)
  const notice = writeEmitted(batch, receiver, {
    type: 'failed',
    reason: DELIVERY_EXHAUSTED,
    ref: id,
    actor: 'protocol',
    // What a person writes to the root goes out in the root's name: there is nobody else to tell (W-SIG-08).
    to: sender === receiver ? undefined : sender,
  })
  writeDelivered(batch, notice)
  return ok(undefined)
}

/** Hands the next envelope to the agent; the marker is durable before that. Undefined: the inbox is empty. */
export function decideConsume(batch: Batch, caller: Workspace): Result<EnvelopeRecord | undefined> {
  const { status } = caller
  // Before its first mail there is nothing that could be kept from it.
  if (status === 'idle') return invalidState(`${caller.id} is idle and has no mail yet.`)
  if (!STATE_RULES[status].consumes)
    return batch.deny(caller, {
      capability: 'access:read',
      action: 'consume',
      target: caller.id,
      reason: status === 'suspended' || status === 'migrating' ? 'frozen' : 'permission_denied',
      code: 'invalid_state',
      message: `${caller.id} is ${status} and reads no mail.`,
    })
  const next = inboxNext(caller.inbox)
  if (next === undefined) return ok(undefined)
  batch.store('consumed', batch.newId('obj'), { workspace: caller.id, envelope: next })
  const record = batch.run.envelopes.get(next)?.record
  // W-SEC-10, AX-53: it may have been changed at rest since it was placed. It leaves the inbox, so that it does not
  // hold up what follows.
  const violation = consumptionViolation(batch, next, record)
  return violation ? refuseForged(batch, next, violation) : ok(record)
}

function refuseForged(batch: Batch, id: EnvelopeId, violation: Violation): Refusal {
  writeViolation(batch, { subject_type: 'envelope', subject_id: id, action_taken: 'rejected' }, violation)
  const message = `What the store holds of the envelope ${id} does not match its proof; it was taken out of the inbox unread.`
  return refusal('rejected', message, { reason: 'integrity_violation', envelope: id })
}
