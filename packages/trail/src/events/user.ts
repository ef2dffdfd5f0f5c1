// User events (wacp-mechanisms 1.5.2): identity, state, capabilities and their denial.
import type { Type } from '@parley/core'
import { type ActorKind, event, initiator, none, protocol, user } from './definition.ts'
import { Claim, Id, Name, nullable, oneOf, optional, Text, Timestamp, UserId } from './fields.ts'
import * as names from './names.ts'

const Capability = oneOf(names.CAPABILITIES)

/** An event about one user. */
function about<const T extends string, F extends Type.TProperties>(type: T, actors: readonly ActorKind[], fields: F) {
  return event(type, none, actors, 'E', 2, { user_id: UserId, ...fields, timestamp: Timestamp })
}

export const userEvents = [
  about('user_created', initiator, { created_by: UserId }),
  about('authentication_succeeded', user, { method: Name }),
  event('authentication_failed', none, protocol, 'E', 2, {
    entity: Claim,
    context: Name,
    reason: Name,
    source: Claim,
    timestamp: Timestamp,
  }),
  about('user_suspended', initiator, { reason: Text, suspended_by: UserId }),
  about('user_resumed', initiator, { reason: Text, resumed_by: UserId }),
  about('user_blocked', initiator, { blocking_condition: Text, blocked_by: UserId }),
  about('user_unblocked', initiator, { resolved_condition: Text }),
  about('user_deactivated', initiator, {
    reason: Text,
    deactivated_by: UserId,
    prior_state: oneOf(names.DEACTIVATABLE_STATES),
  }),
  about('user_reactivated', initiator, { reason: Text, reactivated_by: UserId }),
  about('capability_granted', initiator, { capability: Capability, granted_by: UserId }),
  about('capability_revoked', initiator, { capability: Capability, revoked_by: UserId, reason: optional(Text) }),
  event('capability_denied', { under: 'denial' }, initiator, 'E', 1, {
    user_id: nullable(UserId),
    // Open: beside the 17 it may be `<dimension>:<name>` (agent form) or `receive_escalation` (W-SEC-12, AMB-50).
    capability: Name,
    action: Name,
    target: optional(Claim),
    reason: oneOf(names.DENIAL_REASONS),
    role: optional(Name),
    workspace: optional(Id),
    timestamp: Timestamp,
  }),
] as const
