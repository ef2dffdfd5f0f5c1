// One realistic body per event type, for tests and benchmarks of everything that writes or reads a trail.
import type { EventBody, EventType } from '../events/index.ts'
import type { GENESIS_FIELDS } from '../events/rules.ts'
import {
  checkpoint,
  conflict,
  delegate,
  earlier,
  earlierEnvelope,
  envelope,
  now,
  root,
  task,
  worker,
} from './example-ids.ts'
import { MESSAGE_EXAMPLES } from './message-examples.ts'

type WorkspaceCreated = EventBody<'workspace_created'>
/** The body of a run's first entry. */
type GenesisBody = WorkspaceCreated & { parent: null } & {
  [F in (typeof GENESIS_FIELDS)[number]]-?: Exclude<WorkspaceCreated[F], undefined>
}

const EXAMPLES: { readonly [T in EventType]: EventBody<T> } = {
  workspace_created: {
    workspace_id: worker,
    role: 'worker',
    parent: root,
    delegate: false,
    originator: 'alice',
    owner: 'alice',
    visibility_set: [worker],
    authority_set: { resources: ['src/parser'], actions: ['send:query', 'create:artifact'] },
    timeout: 1_800_000,
    budget: { compute_budget: { token_limit: 200_000 }, cost_limit: 2.5 },
    priority: 'normal',
    group: 'parser',
    agent: 'builder#1',
    directive: envelope,
    task_ref: task,
    context: 'obj_06bxq3nh5k9m3p7s1v6x0z4b8d',
    liveness_interval: 60_000,
    mounts: ['git'],
    caused_by: earlierEnvelope,
  },
  workspace_state_changed: {
    workspace_id: worker,
    from_state: 'active',
    to_state: 'failed',
    trigger: 'budget_exceeded',
    initiator: 'protocol',
    reason: 'budget_exceeded',
    budget_dimension: 'token_limit',
  },
  workspace_rejected: {
    reason: 'capacity_exhausted',
    capacity_details: { memory: { available: 512, required: 2048 } },
  },
  budget_warning: {
    workspace_id: worker,
    budget_dimension: 'token_limit',
    consumed: 160_412,
    limit: 200_000,
    threshold_percent: 80,
  },
  budget_exceeded: {
    workspace_id: worker,
    budget_dimension: 'token_limit',
    consumed: 200_311,
    limit: 200_000,
  },
  budget_modified: {
    workspace_id: worker,
    budget_dimension: 'token_limit',
    old_limit: 200_000,
    new_limit: 300_000,
  },
  liveness_warning: { workspace_id: worker, interval: 60_000, last_activity_timestamp: earlier },
  priority_changed: { workspace_id: worker, old_priority: 'normal', new_priority: 'critical' },
  visibility_granted: { workspace_id: worker, target: delegate, reason: 'needs the interface of the lexer' },
  batch_abort: { group_id: 'parser', affected_workspaces: [worker], skipped_workspaces: [delegate] },
  batch_priority_changed: {
    group_id: 'parser',
    old_priority: { [worker]: 'normal' },
    new_priority: 'background',
    affected_workspaces: [worker],
    skipped_workspaces: [delegate],
  },
  migration_started: {
    workspace_id: worker,
    old_agent: 'builder#1',
    new_agent: 'builder#2',
    reason: 'host is being drained',
  },
  migration_completed: {
    workspace_id: worker,
    old_agent: 'builder#1',
    new_agent: 'builder#2',
    duration: 1_842,
  },
  migration_failed: {
    workspace_id: worker,
    old_agent: 'builder#1',
    new_agent: 'builder#2',
    reason: 'migration_error',
    error: 'runtime_restart',
  },
  suspension_started: {
    workspace_id: worker,
    pre_suspension_state: 'blocked',
    reason: 'provider is rate limited',
  },
  suspension_resumed: { workspace_id: worker, resumed_to_state: 'blocked', duration: 90_000 },
  graceful_termination_initiated: {
    workspace_id: worker,
    grace_period: 30_000,
    reason: 'plan has changed',
  },
  graceful_termination_expired: {
    workspace_id: worker,
    grace_period: 30_000,
    partial_checkpoint: checkpoint,
  },
  conflict_detected: {
    workspace_id: worker,
    conflict_type: 'content_overlap',
    resources: ['src/parser/lexer.ts'],
    description: 'changed by an earlier integration into the same target',
    conflict_id: conflict,
    mode: 'normal',
  },
  conflict_resolved: {
    workspace_id: worker,
    conflict_type: 'content_overlap',
    resolution_strategy: 'coordinator_resolve',
    resolution: 'three-way merge was clean',
    outcome: 'closed',
    conflict_id: conflict,
    mode: 'normal',
  },
  workspace_ownership_transferred: {
    workspace_id: worker,
    from_user: 'alice',
    to_user: 'bob',
    reason: 'alice is on leave',
    transferred_by: 'system',
    timestamp: now,
  },
  workspace_reparented: {
    workspace_id: worker,
    old_parent: delegate,
    new_parent: root,
    reason: 'parent_aborted_cross_ownership',
    timestamp: now,
  },

  user_created: { user_id: 'alice', created_by: 'system', timestamp: now },
  authentication_succeeded: { user_id: 'alice', method: 'token', timestamp: now },
  authentication_failed: {
    entity: 'mallory',
    context: 'highway_access',
    reason: 'unknown_identity',
    source: '127.0.0.1:52114',
    timestamp: now,
  },
  user_suspended: { user_id: 'alice', reason: 'on leave', suspended_by: 'bob', timestamp: now },
  user_resumed: { user_id: 'alice', reason: 'back from leave', resumed_by: 'bob', timestamp: now },
  user_blocked: {
    user_id: 'alice',
    blocking_condition: 'second factor is not set up',
    blocked_by: 'system',
    timestamp: now,
  },
  user_unblocked: {
    user_id: 'alice',
    resolved_condition: 'second factor is set up',
    timestamp: now,
  },
  user_deactivated: {
    user_id: 'alice',
    reason: 'left the team',
    deactivated_by: 'bob',
    prior_state: 'suspended',
    timestamp: now,
  },
  user_reactivated: { user_id: 'alice', reason: 'joined again', reactivated_by: 'bob', timestamp: now },
  capability_granted: { user_id: 'alice', capability: 'abort_own', granted_by: 'bob', timestamp: now },
  capability_revoked: {
    user_id: 'alice',
    capability: 'abort_own',
    revoked_by: 'bob',
    reason: 'moved to review',
    timestamp: now,
  },
  capability_denied: {
    user_id: null,
    capability: 'emit:escalation',
    action: 'emit',
    target: worker,
    reason: 'permission_denied',
    role: 'reviewer',
    timestamp: now,
  },
  ...MESSAGE_EXAMPLES,
}

/** A fresh, valid body of that type, with every optional field that fits it. */
export function exampleBody<T extends EventType>(type: T, overrides: Partial<EventBody<T>> = {}): EventBody<T> {
  return { ...structuredClone(EXAMPLES[type]), ...overrides }
}

/** The first body of a run: the root's `workspace_created` (W-TRAIL-13). */
export function exampleGenesis(overrides: Partial<GenesisBody> = {}): GenesisBody {
  return {
    workspace_id: root,
    role: 'coordinator',
    parent: null,
    delegate: false,
    originator: 'system',
    owner: 'alice',
    visibility_set: [root],
    authority_set: { resources: [], actions: [] },
    timeout: null,
    priority: 'normal',
    agent: 'coordinator#1',
    hash_algorithm: 'sha-256',
    taxonomy_id: 'parley',
    taxonomy_version: '1',
    protocol_version: '0.1',
    deployment_model: 'single-runtime',
    ...overrides,
  }
}
