// Workspace events (wacp-mechanisms 1.5.1): creation, state, budget, migration, suspension, conflict, ownership.
import { Type } from '@parley/core'
import { closed } from '../shapes.ts'
import {
  type ActorKind,
  anyone,
  type Compaction,
  caller,
  event,
  initiator,
  type Level,
  protocol,
  root,
  under,
} from './definition.ts'
import {
  AgentId,
  Amount,
  Budget,
  Duration,
  Flag,
  Id,
  Limit,
  listOf,
  Name,
  nullable,
  ObjectRef,
  oneOf,
  optional,
  Resource,
  Text,
  Timestamp,
  UserId,
} from './fields.ts'
import { bodyLimits } from './limits.ts'
import * as names from './names.ts'

/** An event in one workspace, and filed there. */
function within<const T extends string, F extends Type.TProperties>(
  type: T,
  actors: readonly ActorKind[],
  compaction: Compaction,
  level: Level,
  fields: F,
) {
  return event(type, under('workspace_id'), actors, compaction, level, { workspace_id: Id, ...fields })
}

/** Filed under the source; a salvage is filed under the target, whose own agent is the integrator (W-INT-19). */
const conflict = { under: 'merge', source: 'workspace_id' } as const

const State = oneOf(names.WORKSPACE_STATES)
const Resumable = oneOf(names.RESUMABLE_STATES)
const Priority = oneOf(names.WORKSPACE_PRIORITIES)
const Dimension = oneOf(names.BUDGET_DIMENSIONS)
const ConflictType = oneOf(names.CONFLICT_TYPES)
const Mode = oneOf(names.INTEGRATION_MODES)

const Authority = closed({ resources: listOf(Resource), actions: listOf(Name) })
const Capacity = closed({ available: Amount, required: Amount })
/** The four capacities of admission control (W-WS-20); empty for every other reason. */
const CapacityDetails = closed({
  compute: optional(Capacity),
  memory: optional(Capacity),
  storage: optional(Capacity),
  network: optional(Capacity),
})
/** Members of a batch may differ in what they had before. */
const PriorityByWorkspace = Type.Record(Type.String(), Priority, {
  additionalProperties: false,
  maxProperties: bodyLimits.listItems,
  propertyNames: Id,
})

export const workspaceEvents = [
  within('workspace_created', initiator, 'E', 1, {
    role: Name,
    parent: nullable(Id),
    delegate: Flag,
    originator: UserId,
    owner: UserId,
    visibility_set: listOf(Id),
    authority_set: Authority,
    timeout: nullable(Duration),
    budget: optional(Budget),
    priority: Priority,
    group: optional(nullable(Name)),
    // Optional, since agents have an authenticated identity only from level 2 on (W-SEC-03).
    agent: optional(AgentId),
    directive: optional(nullable(Id)),
    task_ref: optional(nullable(Id)),
    context: optional(ObjectRef),
    liveness_interval: optional(nullable(Duration)),
    mounts: optional(listOf(Name)),
    caused_by: optional(Id),
    // Genesis only, and there all five (W-TRAIL-13): rules.ts. A run without a taxonomy has null (W-TAX-08).
    hash_algorithm: optional(Name),
    taxonomy_id: optional(nullable(Name)),
    taxonomy_version: optional(nullable(Name)),
    protocol_version: optional(Name),
    deployment_model: optional(oneOf(names.DEPLOYMENT_MODELS)),
    // Genesis only: every object of the run carries a proof of this kind (W-SEC-16). Runs of older versions have none.
    content_proof: optional(Name),
    // With it: the kinds of the objects that stand before this entry, in order, so that none of them can be taken away.
    content_objects: optional(listOf(Name)),
  }),
  within('workspace_state_changed', initiator, 'E-if-terminal', 1, {
    from_state: State,
    to_state: State,
    trigger: oneOf(names.TRIGGERS),
    initiator: Name,
    // Required when `to_state` is `failed`: rules.ts.
    reason: optional(Text),
    budget_dimension: optional(Dimension),
  }),
  event('workspace_rejected', caller, protocol, 'E', 1, {
    reason: oneOf(names.WORKSPACE_REJECTION_REASONS),
    capacity_details: CapacityDetails,
  }),
  within('budget_warning', protocol, 'A', 2, {
    budget_dimension: Dimension,
    consumed: Amount,
    limit: Limit,
    threshold_percent: Type.Number({ minimum: 0, maximum: 100 }),
  }),
  within('budget_exceeded', protocol, 'E', 2, { budget_dimension: Dimension, consumed: Amount, limit: Limit }),
  within('budget_modified', initiator, 'E', 2, { budget_dimension: Dimension, old_limit: Limit, new_limit: Limit }),
  within('liveness_warning', protocol, 'A', 2, { interval: Duration, last_activity_timestamp: Timestamp }),
  within('priority_changed', initiator, 'A', 2, { old_priority: Priority, new_priority: Priority }),
  within('visibility_granted', initiator, 'A', 2, { target: Id, reason: Text }),
  event('batch_abort', root, initiator, 'E', 2, {
    group_id: Name,
    affected_workspaces: listOf(Id),
    skipped_workspaces: listOf(Id),
  }),
  event('batch_priority_changed', root, initiator, 'E', 2, {
    group_id: Name,
    old_priority: PriorityByWorkspace,
    new_priority: Priority,
    affected_workspaces: listOf(Id),
    skipped_workspaces: listOf(Id),
  }),
  within('migration_started', initiator, 'E', 3, { old_agent: AgentId, new_agent: AgentId, reason: Text }),
  within('migration_completed', protocol, 'E', 3, { old_agent: AgentId, new_agent: AgentId, duration: Duration }),
  within('migration_failed', protocol, 'E', 3, { old_agent: AgentId, new_agent: AgentId, reason: Text, error: Text }),
  within('suspension_started', initiator, 'E', 1, { pre_suspension_state: Resumable, reason: Text }),
  within('suspension_resumed', initiator, 'E', 1, { resumed_to_state: Resumable, duration: Duration }),
  within('graceful_termination_initiated', initiator, 'E', 3, { grace_period: Duration, reason: Text }),
  within('graceful_termination_expired', protocol, 'E', 3, {
    grace_period: Duration,
    partial_checkpoint: optional(nullable(Id)),
  }),
  event('conflict_detected', conflict, initiator, 'E', 2, {
    workspace_id: Id,
    conflict_type: ConflictType,
    resources: listOf(Resource),
    description: Text,
    conflict_id: Id,
    mode: Mode,
  }),
  event('conflict_resolved', conflict, anyone, 'E', 2, {
    workspace_id: Id,
    conflict_type: ConflictType,
    resolution_strategy: oneOf(names.RECORDED_RESOLUTION_STRATEGIES),
    resolution: Text,
    outcome: oneOf(names.CONFLICT_OUTCOMES),
    conflict_id: Id,
    mode: Mode,
  }),
  within('workspace_ownership_transferred', initiator, 'E', 2, {
    from_user: UserId,
    to_user: UserId,
    reason: optional(Text),
    transferred_by: UserId,
    timestamp: Timestamp,
  }),
  within('workspace_reparented', ['protocol', 'system'], 'E', 2, {
    old_parent: Id,
    new_parent: Id,
    reason: oneOf(names.REPARENT_REASONS),
    timestamp: Timestamp,
  }),
] as const
