// Recovery, security and trail events (wacp-mechanisms 1.5.9).
import { closed } from '../shapes.ts'
import { caller, event, none, protocol } from './definition.ts'
import {
  Claim,
  Count,
  Digest,
  Duration,
  Id,
  listOf,
  Name,
  nullable,
  oneOf,
  optional,
  Text,
  Timestamp,
} from './fields.ts'
import * as names from './names.ts'

export const recoveryEvents = [
  event('system_degraded', none, ['protocol', 'system'], 'E', 1, {
    reason: Text,
    scope: oneOf(names.DEGRADED_SCOPES),
    affected_workspaces: listOf(Id),
    coordinator_action: oneOf(names.COORDINATOR_ACTIONS),
    degraded_from: optional(Timestamp),
    degraded_to: optional(Timestamp),
  }),
  event('recovery_completed', none, protocol, 'E', 2, {
    downtime: Duration,
    workspaces_recovered: Count,
    workspaces_failed: Count,
    envelopes_redelivered: Count,
    signals_requeued: Count,
    timers_reconstructed: Count,
    trail_entries_examined: Count,
    quarantined_entries: Count,
    // Objects behind this entry carry a proof of this kind; those before it were written by a version that made none.
    content_proof: optional(Name),
  }),
] as const

export const securityEvents = [
  event('integrity_violation', none, protocol, 'E', 2, {
    subject_type: oneOf(names.VIOLATION_SUBJECTS),
    // The claimed id: a forged signal never got one.
    subject_id: Claim,
    violation: oneOf(names.VIOLATIONS),
    // Null where there is nothing to compare with: a missing proof, a first entry, a record that cannot be read.
    expected: nullable(Digest),
    actual: nullable(Digest),
    action_taken: oneOf(names.VIOLATION_ACTIONS),
    // Of work that a salvage would have merged (W-INT-19).
    mode: optional(oneOf(names.INTEGRATION_MODES)),
  }),
] as const

export const trailEvents = [
  event('trail_compacted', none, protocol, 'E', 3, {
    workspace: Id,
    entries_archived: Count,
    entries_preserved: Count,
    archive_range: closed({ from: Timestamp, to: Timestamp }),
    archive_hash: Digest,
  }),
  event('trail_access_denied', caller, ['role', 'system'], 'E', 1, {
    requester: Name,
    requested_scope: oneOf(names.TRAIL_SCOPES),
    requested_workspace: optional(Claim),
    reason: Text,
  }),
  event('trail_snapshot_created', none, ['protocol', 'system'], 'E', 3, {
    snapshot_id: Id,
    up_to: Count,
    entry_count: Count,
    head_hash: Digest,
  }),
] as const
