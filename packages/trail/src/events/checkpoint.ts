// Checkpoint events (wacp-mechanisms 1.5.5).
import { event, protocol, role, under } from './definition.ts'
import {
  Amount,
  Claim,
  Id,
  Integrity,
  listOf,
  Name,
  nullable,
  oneOf,
  optional,
  ResourceUsage,
  Timestamp,
} from './fields.ts'
import * as names from './names.ts'

const self = under('workspace')

export const checkpointEvents = [
  event('checkpoint_created', self, role, 'E', 1, {
    checkpoint_id: Id,
    workspace: Id,
    type: Name,
    status: oneOf(names.CHECKPOINT_STATUSES),
    confidence: oneOf(names.CONFIDENCES),
    parent: nullable(Id),
    timestamp: Timestamp,
    resource_usage: optional(ResourceUsage),
    // Optional, since checkpoints have a proof only from level 2 on (W-SEC-09).
    integrity: optional(Integrity),
    artifact_ids: optional(listOf(Id)),
  }),
  event('checkpoint_rejected', self, protocol, 'E', 1, {
    workspace: Id,
    // As the agent wrote it; null where the structure was so broken that there is none (W-CP-04 check 2).
    type: nullable(Claim),
    reason: oneOf(names.CHECKPOINT_REJECTION_REASONS),
    timestamp: Timestamp,
  }),
  event('resource_discrepancy', self, protocol, 'E', 3, {
    checkpoint_id: Id,
    workspace: Id,
    field: oneOf(names.USAGE_FIELDS),
    agent_value: Amount,
    runtime_value: Amount,
    timestamp: Timestamp,
  }),
] as const
