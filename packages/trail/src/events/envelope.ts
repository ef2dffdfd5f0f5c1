// Envelope and port right events (wacp-mechanisms 1.5.4).
import { event, initiator, protocol, under } from './definition.ts'
import { Claim, Id, Name, nullable, oneOf, Text, Timestamp, UserId } from './fields.ts'
import * as names from './names.ts'

const RightType = oneOf(names.RIGHT_TYPES)

const mail = { envelope_id: Id, from: Id, to: Id }

const right = { right_id: Id, right_type: RightType, target: Id }

export const envelopeEvents = [
  event('envelope_created', under('from'), ['system', 'role', 'user', 'fallback'], 'E', 1, {
    ...mail,
    type: Name,
    priority: oneOf(names.ENVELOPE_PRIORITIES),
    in_reply_to: nullable(Id),
    originator: UserId,
    timestamp: Timestamp,
    origin: oneOf(names.ENVELOPE_ORIGINS),
  }),
  event('envelope_delivered', under('to'), protocol, 'A', 1, {
    ...mail,
    delivered_at: Timestamp,
  }),
  event('envelope_rejected', under('from'), protocol, 'E', 1, {
    envelope_id: Id,
    from: Id,
    // As the sender wrote them; null where the structure was so broken that there is none (W-ENV-05 check 2).
    to: nullable(Claim),
    type: nullable(Claim),
    reason: oneOf(names.ENVELOPE_REJECTION_REASONS),
    timestamp: Timestamp,
  }),
  event('envelope_undeliverable', under('from'), protocol, 'E', 1, {
    ...mail,
    reason: oneOf(names.UNDELIVERABLE_REASONS),
    timestamp: Timestamp,
  }),
  event('envelope_redelivered', under('to'), protocol, 'E', 1, {
    ...mail,
    timestamp: Timestamp,
  }),
  event('port_right_created', under('holder'), initiator, 'E', 1, {
    ...right,
    holder: Id,
    created_by: UserId,
  }),
  event('port_right_transferred', under('to_holder'), protocol, 'E', 1, {
    ...right,
    from_holder: Id,
    to_holder: Id,
    via_envelope: Id,
  }),
  event('port_right_revoked', under('holder'), initiator, 'E', 1, {
    ...right,
    holder: Id,
    revoked_by: UserId,
    reason: Text,
  }),
  event('port_right_consumed', under('holder'), protocol, 'E', 1, {
    right_id: Id,
    holder: Id,
    target: Id,
    via_envelope: Id,
  }),
] as const
