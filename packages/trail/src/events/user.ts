// User events (wacp-mechanisms 1.5.2): identity, state, capabilities and their denial.
import { event, initiator, none, protocol, user } from './definition.ts'
import { Claim, Id, Name, nullable, oneOf, optional, Text, Timestamp, UserId } from './fields.ts'
import { CAPABILITIES, DEACTIVATABLE_STATES, DENIAL_REASONS } from './names.ts'

const Capability = oneOf(CAPABILITIES)

export const userEvents = [
  event('user_created', none, initiator, 'E', 2, {
    user_id: UserId,
    created_by: UserId,
    timestamp: Timestamp,
  }),
  event('authentication_succeeded', none, user, 'E', 2, {
    user_id: UserId,
    method: Name,
    timestamp: Timestamp,
  }),
  event('authentication_failed', none, protocol, 'E', 2, {
    entity: Claim,
    context: Name,
    reason: Name,
    source: Claim,
    timestamp: Timestamp,
  }),
  event('user_suspended', none, initiator, 'E', 2, {
    user_id: UserId,
    reason: Text,
    suspended_by: UserId,
    timestamp: Timestamp,
  }),
  event('user_resumed', none, initiator, 'E', 2, {
    user_id: UserId,
    reason: Text,
    resumed_by: UserId,
    timestamp: Timestamp,
  }),
  event('user_blocked', none, initiator, 'E', 2, {
    user_id: UserId,
    blocking_condition: Text,
    blocked_by: UserId,
    timestamp: Timestamp,
  }),
  event('user_unblocked', none, initiator, 'E', 2, {
    user_id: UserId,
    resolved_condition: Text,
    timestamp: Timestamp,
  }),
  event('user_deactivated', none, initiator, 'E', 2, {
    user_id: UserId,
    reason: Text,
    deactivated_by: UserId,
    prior_state: oneOf(DEACTIVATABLE_STATES),
    timestamp: Timestamp,
  }),
  event('user_reactivated', none, initiator, 'E', 2, {
    user_id: UserId,
    reason: Text,
    reactivated_by: UserId,
    timestamp: Timestamp,
  }),
  event('capability_granted', none, initiator, 'E', 2, {
    user_id: UserId,
    capability: Capability,
    granted_by: UserId,
    timestamp: Timestamp,
  }),
  event('capability_revoked', none, initiator, 'E', 2, {
    user_id: UserId,
    capability: Capability,
    revoked_by: UserId,
    reason: optional(Text),
    timestamp: Timestamp,
  }),
  event('capability_denied', { under: 'denial' }, initiator, 'E', 1, {
    user_id: nullable(UserId),
    // Open: beside the 17 it may be `<dimension>:<name>` (agent form) or `receive_escalation` (W-SEC-12, AMB-50).
    capability: Name,
    action: Name,
    target: optional(Claim),
    reason: oneOf(DENIAL_REASONS),
    role: optional(Name),
    workspace: optional(Id),
    timestamp: Timestamp,
  }),
] as const
