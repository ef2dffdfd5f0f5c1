// One realistic body per event type, for tests and benchmarks of everything that writes or reads a trail.
import type { EventBody, EventType, GenesisBody } from '../events/index.ts'

const root = 'ws_06bxq3n8y0r5d1k7m2p9t4v6wz'
const delegate = 'ws_06bxq3nf2kc8t5w1j4q7z0a3rd'
const worker = 'ws_06bxq3nj9h4v6x0e2s5m8y1b7c'
const envelope = 'env_06bxq3p1a7g3k9n5r2t8w4z0d6'
const earlierEnvelope = 'env_06bxq3p0v5x1b7d3h9k4m8q2s6'
const signal = 'sig_06bxq3p4e2j8m0s6v1x7c5f9h3'
const checkpoint = 'cp_06bxq3p8c6f2h4k0n9r5t1w7y3'
const earlierCheckpoint = 'cp_06bxq3p6z1b5d9g3j7m2p8s4v0'
const task = 'task_06bxq3n4w8y2a6c0e5g1j7m3q9'
const earlierTask = 'task_06bxq3n4s0t6v2x8z4b1d5f9h3'
const graph = 'graph_06bxq3n3r7t1v5x9z2b6d0f4h8'
const right = 'right_06bxq3nm1p5s9v3x7z2b6d0g4j'
const gate = 'gate_06bxq3nt8w2y6a0c4e9g3j7m1p'
const conflict = 'conf_06bxq3q2d6f0h4k8n1r5t9w3y7'
const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
const now = '2026-03-01T09:05:00.000042Z'
const earlier = '2026-03-01T09:04:58.731904Z'

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

  signal_emitted: {
    signal_id: signal,
    from: worker,
    type: 'checkpoint',
    reason: 'first half is done',
    ref: checkpoint,
    timestamp: now,
  },
  signal_delivered: { signal_id: signal, from: worker, delivered_to: root, delivered_at: now },

  envelope_created: {
    envelope_id: envelope,
    from: root,
    to: worker,
    type: 'directive',
    priority: 'normal',
    in_reply_to: earlierEnvelope,
    originator: 'alice',
    timestamp: now,
    origin: 'agent',
  },
  envelope_delivered: { envelope_id: envelope, from: root, to: worker, delivered_at: now },
  envelope_rejected: {
    envelope_id: envelope,
    from: worker,
    to: delegate,
    type: 'query',
    reason: 'no_send_right',
    timestamp: now,
  },
  envelope_undeliverable: {
    envelope_id: envelope,
    from: root,
    to: worker,
    reason: 'delivery_exhausted',
    timestamp: now,
  },
  envelope_redelivered: { envelope_id: envelope, from: root, to: worker, timestamp: now },
  port_right_created: {
    right_id: right,
    right_type: 'send',
    holder: worker,
    target: root,
    created_by: root,
  },
  port_right_transferred: {
    right_id: right,
    right_type: 'send_once',
    from_holder: delegate,
    to_holder: worker,
    target: root,
    via_envelope: envelope,
  },
  port_right_revoked: {
    right_id: right,
    right_type: 'send',
    holder: worker,
    target: delegate,
    revoked_by: root,
    reason: 'the review is over',
  },
  port_right_consumed: { right_id: right, holder: worker, target: root, via_envelope: envelope },

  checkpoint_created: {
    checkpoint_id: checkpoint,
    workspace: worker,
    type: 'artifact',
    status: 'final',
    confidence: 'high',
    parent: earlierCheckpoint,
    timestamp: now,
    resource_usage: { tokens_consumed: 18_204, wall_time: 41_870, cost: 0.21 },
    integrity: { proof: hash, algorithm: 'hmac-sha-256' },
    artifact_ids: ['art_06bxq3p8b3d7g1j5m9p2s6v0x4'],
  },
  checkpoint_rejected: {
    workspace: worker,
    type: 'artifact',
    reason: 'invalid_parent',
    timestamp: now,
  },
  resource_discrepancy: {
    checkpoint_id: checkpoint,
    workspace: worker,
    field: 'tokens_consumed',
    agent_value: 18_204,
    runtime_value: 19_877,
    timestamp: now,
  },

  graph_created: { graph_id: graph, root_task_id: task, task_count: 3 },
  task_created: {
    task_id: task,
    graph_id: graph,
    parent_task: earlierTask,
    name: 'Write the parser',
    depends_on: [earlierTask],
    priority: 'elevated',
  },
  task_approved: { task_id: task, approval_source: 'human' },
  task_assigned: { task_id: task, workspace_id: worker, attempt_number: 1 },
  task_status_changed: {
    task_id: task,
    from_status: 'pending',
    to_status: 'assigned',
    workspace_id: worker,
  },
  task_completed: { task_id: task, workspace_id: worker, checkpoint_id: checkpoint },
  task_failed: { task_id: task, workspace_id: worker, attempt_number: 1, failure_reason: 'timeout' },

  integration_started: {
    source: worker,
    target: root,
    owner: 'alice',
    mode: 'normal',
    strategy: 'layered',
    checkpoint_ref: checkpoint,
    timestamp: now,
    order_index: 2,
    order_basis: 'dependencies',
  },
  integration_completed: {
    source: worker,
    target: root,
    mode: 'normal',
    strategy: 'layered',
    result: 'success',
    timestamp: now,
    result_ref: 'obj_06bxq3q5f9h3k7n1r6t0w4y8b2',
  },
  integration_aborted: {
    source: worker,
    target: root,
    mode: 'normal',
    reason: 'revision_required',
    timestamp: now,
  },

  gate_triggered: {
    gate_id: gate,
    gate_type: 'integration',
    subject: { kind: 'integration', id: `${worker}:normal`, digest: hash },
    workspace: worker,
    task_ref: task,
    graph_ref: graph,
    timeout: 600_000,
    fallback: 'escalate_to_coordinator',
    queue_position: 0,
    addressee: 'alice',
  },
  gate_resolved: {
    gate_id: gate,
    gate_type: 'integration',
    action: 'modify',
    modifications: { strategy: 'evaluated' },
    actor: 'alice',
    reason: 'wants to see both versions',
  },
  gate_timeout: {
    gate_id: gate,
    gate_type: 'integration',
    fallback_action: 'escalate_to_coordinator',
    elapsed: 600_000,
  },
  gate_reentry_blocked: {
    gate_id: gate,
    gate_type: 'integration',
    subject_id: `${worker}:normal`,
    converted_to: 'approve',
  },
  human_injection: {
    envelope_id: envelope,
    actor: 'alice',
    to: worker,
    type: 'directive',
    status: 'rejected',
    reason: 'workspace_sealed',
  },
  escalation_received: {
    signal_id: signal,
    workspace: worker,
    reason: 'two requirements contradict each other',
    addressee: 'alice',
    queued: false,
  },
  escalation_resolved: {
    signal_id: signal,
    workspace: worker,
    actor: 'alice',
    response_type: 'envelope',
    response_ref: envelope,
  },
  escalation_timeout: {
    signal_id: signal,
    workspace: worker,
    fallback_action: 'delegate_to_coordinator',
    elapsed: 600_000,
  },

  system_degraded: {
    reason: 'no space left on device',
    scope: 'trail_storage',
    affected_workspaces: [worker],
    coordinator_action: 'wait',
    degraded_from: earlier,
    degraded_to: now,
  },
  recovery_completed: {
    downtime: 4_210,
    workspaces_recovered: 12,
    workspaces_failed: 1,
    envelopes_redelivered: 3,
    signals_requeued: 2,
    timers_reconstructed: 14,
    trail_entries_examined: 1_873,
    quarantined_entries: 0,
  },
  integrity_violation: {
    subject_type: 'checkpoint',
    subject_id: checkpoint,
    violation: 'hash_mismatch',
    expected: hash,
    actual: hash.replace('9f86', '0000'),
    action_taken: 'flagged',
  },
  trail_compacted: {
    workspace: worker,
    entries_archived: 41,
    entries_preserved: 17,
    archive_range: { from: earlier, to: now },
    archive_hash: hash,
  },
  trail_access_denied: {
    requester: 'worker',
    requested_scope: 'local',
    requested_workspace: delegate,
    reason: 'outside the visibility set',
  },
  trail_snapshot_created: {
    snapshot_id: 'snap_06bxq3q9j3m7p1s5v0x4z8b2d6',
    up_to: 1_873,
    entry_count: 1_873,
    head_hash: hash,
  },
}

/** A fresh, valid body of that type, with every optional field that fits it. */
export function exampleBody<T extends EventType>(
  type: T,
  overrides: Partial<EventBody<T>> = {},
): EventBody<T> {
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
