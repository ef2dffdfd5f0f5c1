// What envelope entries do to the state.
import { type EnvelopeId, invariant, type WorkspaceId } from '@parley/core'
import { countDelivered } from '../budget/charge.ts'
import { answerLost } from '../highway/escalation.ts'
import { claim } from '../objects.ts'
import { type Folds, knownWorkspace, type Run, ticksOf } from '../run/run.ts'
import { dropTermination, loseTermination, startTermination, tellTermination } from '../workspace/terminate.ts'
import { type Envelope, type EnvelopeRecord, emptyInbox } from './envelope.ts'

export const envelopeFolds: Folds = {
  envelope_created(run, body) {
    const record = claim<EnvelopeRecord>(run, body.envelope_id, 'envelope')
    const envelope = envelopeOf(run, record, 'validated', record)
    run.envelopes.set(envelope.id, envelope)
    run.undelivered++
    const receiver = knownWorkspace(run, record.to)
    if (receiver.directive === envelope.id) receiver.directiveDraft = undefined
    tellTermination(receiver, envelope.type, envelope.id)
    receiver.incoming ??= new Map()
    const channel = receiver.incoming.get(record.from)
    if (channel) channel.push(envelope.id)
    else receiver.incoming.set(record.from, [envelope.id])
    if (envelope.inReplyTo === null) return
    const parent = run.envelopes.get(envelope.inReplyTo)
    if (!parent) return
    parent.replies ??= []
    parent.replies.push(envelope.id)
  },

  envelope_delivered(run, body, entry) {
    const envelope = leaveChannel(run, body.envelope_id)
    envelope.status = 'delivered'
    const receiver = knownWorkspace(run, envelope.to)
    startTermination(receiver, envelope.id, ticksOf(entry))
    // The node reads what people ask of the library as it is filed.
    if (run.library) envelope.consumed = true
    // A delivery that the agent had seen before it was on record (W-REC-17) is not offered again.
    if (envelope.consumed) {
      envelope.record = undefined
      return
    }
    receiver.inbox ??= emptyInbox()
    receiver.inbox[envelope.priority].push(envelope.id)
    if (run.counting) countDelivered(run, knownWorkspace(run, envelope.from), envelope.record)
  },

  envelope_undeliverable(run, body) {
    const envelope = leaveChannel(run, body.envelope_id)
    envelope.undeliverable = body.reason
    loseTermination(knownWorkspace(run, envelope.to), envelope.id)
    answerLost(run, envelope.id)
    envelope.record = undefined
  },

  envelope_rejected(run, body) {
    const id = body.envelope_id as EnvelopeId
    const receiver = run.workspaces.get(body.to as WorkspaceId)
    // A directive that was refused used up the id that was promised for it.
    if (receiver?.directive === id) receiver.directiveDraft = undefined
    dropTermination(run, body)
    // After validation only a gate and a proof that failed before placement reject (AMB-11).
    if (run.envelopes.has(id)) {
      const envelope = leaveChannel(run, id)
      envelope.status = 'rejected'
      envelope.record = undefined
      answerLost(run, id)
      return
    }
    const { from, to, type } = body
    const lost = { id, from, to: to ?? '', type: type ?? '', priority: 'normal', in_reply_to: null, origin: 'agent' }
    run.envelopes.set(id, envelopeOf(run, { ...lost, originator: '' } as EnvelopeRecord, 'rejected', undefined))
  },
}

function envelopeOf(
  { seq }: Run,
  { id, from, to, type, priority, in_reply_to: inReplyTo, origin, originator }: EnvelopeRecord,
  status: Envelope['status'],
  record: EnvelopeRecord | undefined,
): Envelope {
  return {
    id,
    from,
    to,
    type,
    priority,
    inReplyTo,
    origin,
    originator,
    seq,
    status,
    record,
    undeliverable: undefined,
    gate: undefined,
    changed: undefined,
    consumed: false,
    forged: false,
    replies: undefined,
  }
}

function leaveChannel(run: Run, id: string): Envelope {
  const envelope = run.envelopes.get(id as EnvelopeId)
  invariant(envelope, 'only an accepted envelope is delivered')
  const { incoming } = knownWorkspace(run, envelope.to)
  const channel = incoming?.get(envelope.from)
  const index = channel?.indexOf(envelope.id) ?? -1
  invariant(channel && index >= 0, 'an envelope on its way stands in its channel')
  channel.splice(index, 1)
  if (channel.length === 0) incoming?.delete(envelope.from)
  run.undelivered--
  return envelope
}
