// The closed sets of event bodies (wacp-primitives 0.6; wacp-mechanisms 1.5). Open sets are bounded strings.

// Workspace

export const WORKSPACE_STATES = [
  'idle',
  'active',
  'blocked',
  'suspended',
  'migrating',
  'integrating',
  'conflicted',
  'closed',
  'failed',
] as const
export type WorkspaceState = (typeof WORKSPACE_STATES)[number]

export const TERMINAL_STATES = ['closed', 'failed'] as const

export function isTerminal(state: WorkspaceState): state is (typeof TERMINAL_STATES)[number] {
  return state === 'closed' || state === 'failed'
}

/** The states that suspension and migration start from and return to (W-LIFE-11). */
export const RESUMABLE_STATES = ['active', 'blocked'] as const

export const WORKSPACE_PRIORITIES = ['critical', 'interactive', 'normal', 'background'] as const
export type WorkspacePriority = (typeof WORKSPACE_PRIORITIES)[number]

/** Codes of `workspace_state_changed.trigger` (W-LIFE-02, A-22). */
export const TRIGGERS = [
  'first_envelope',
  'agent_started',
  'agent_blocked',
  'agent_complete',
  'agent_failed',
  'suspended_by_coordinator',
  'resumed_by_coordinator',
  'migration_initiated',
  'migration_succeeded',
  'migration_error',
  'integration_succeeded',
  'integration_error',
  'conflict_detected',
  'conflict_resolved',
  'conflict_unresolvable',
  'conflict_timeout',
  'revision_required',
  'rejected',
  'gate_rejected_by_human',
  'creation_error',
  'timeout',
  'budget_exceeded',
  'graceful_termination_expired',
  'aborted_by_coordinator',
  'aborted_by_human',
  'batch_abort',
  'escalation_timeout',
  'parent_failed',
  'system_shutdown',
  'run_complete',
] as const

/** W-WS-05 */
export const WORKSPACE_REJECTION_REASONS = [
  'invalid_parameters',
  'unregistered_role',
  'parent_not_found',
  'parent_terminal',
  'parent_not_accepting',
  'dangling_reference',
  'owner_invalid',
  'not_dispatchable',
  'capacity_exhausted',
  'gate_rejected_by_human',
] as const

/** The limit fields of a budget (W-BUDGET-02). */
export const BUDGET_DIMENSIONS = [
  'token_limit',
  'compute_timeout',
  'wall_time_limit',
  'context_limit',
  'checkpoint_limit',
  'trail_limit',
  'bandwidth_limit',
  'cost_limit',
] as const
export type BudgetDimension = (typeof BUDGET_DIMENSIONS)[number]

/** W-WS-13 */
export const REPARENT_REASONS = ['parent_aborted_cross_ownership', 'orphan_reassigned'] as const

/** W-SEC-13 */
export const DEPLOYMENT_MODELS = ['single-runtime', 'shared-infrastructure', 'zero-trust'] as const
export type DeploymentModel = (typeof DEPLOYMENT_MODELS)[number]

// Integration and conflicts

export const INTEGRATION_MODES = ['normal', 'salvage'] as const

export const INTEGRATION_STRATEGIES = ['direct', 'layered', 'evaluated'] as const
export type IntegrationStrategy = (typeof INTEGRATION_STRATEGIES)[number]

export const INTEGRATION_RESULTS = ['success', 'conflict_resolved'] as const

/** W-INT-07 */
export const CONFLICT_TYPES = [
  'content_overlap',
  'semantic_contradiction',
  'dependency_violation',
  'constraint_breach',
] as const
export type ConflictType = (typeof CONFLICT_TYPES)[number]

/** What an integrator may choose (W-INT-12). */
export const RESOLUTION_STRATEGIES = ['coordinator_resolve', 'escalate', 'agent_rework'] as const
export type ResolutionStrategy = (typeof RESOLUTION_STRATEGIES)[number]

/** What `conflict_resolved` may record: a choice, or that the time for one ran out (W-INT-14). */
export const RECORDED_RESOLUTION_STRATEGIES = [...RESOLUTION_STRATEGIES, 'timeout'] as const

export const CONFLICT_OUTCOMES = ['closed', 'failed'] as const

// Users

export const USER_STATES = ['active', 'suspended', 'blocked', 'deactivated'] as const
export type UserState = (typeof USER_STATES)[number]

/** The states that deactivation is possible from (W-USER-03). */
export const DEACTIVATABLE_STATES = ['active', 'suspended', 'blocked'] as const

/** W-USER-12 */
export const CAPABILITIES = [
  'create_workspace',
  'create_workspace_any',
  'suspend_own',
  'suspend_any',
  'abort_own',
  'abort_any',
  'transfer_ownership',
  'inject_directive',
  'inject_directive_any',
  'approve_integration',
  'approve_integration_any',
  'modify_budget',
  'modify_budget_any',
  'view_trail_own',
  'view_trail_any',
  'grant_delegation',
  'deactivate_user',
] as const
export type Capability = (typeof CAPABILITIES)[number]

/** Reasons of `capability_denied` (registry; W-SEC-12 for the agent form). */
export const DENIAL_REASONS = [
  'missing_capability',
  'wrong_scope',
  'user_not_active',
  'escalation_queue_overflow',
  'permission_denied',
  'containment_violation',
  'irrevocable',
  'frozen',
  'not_permitted',
] as const
export type DenialReason = (typeof DENIAL_REASONS)[number]

// Signals

export const SIGNAL_TYPES = [
  'ready',
  'started',
  'blocked',
  'checkpoint',
  'complete',
  'failed',
  'integrate',
  'acknowledged',
  'escalation',
  'suspend',
  'migrate',
] as const
export type SignalType = (typeof SIGNAL_TYPES)[number]

// Envelopes and port rights

export const ENVELOPE_PRIORITIES = ['normal', 'urgent', 'blocking'] as const
export type EnvelopePriority = (typeof ENVELOPE_PRIORITIES)[number]

export const ENVELOPE_ORIGINS = ['agent', 'human'] as const

/** W-ENV-05, AMB-11 */
export const ENVELOPE_REJECTION_REASONS = [
  'permission_denied',
  'no_send_right',
  'invalid_type',
  'invalid_structure',
  'target_not_found',
  'target_terminal',
  'integrity_violation',
  'gate_rejected_by_human',
] as const

/** Attempts used up (W-ENV-15), or the state of a target that no longer takes mail (W-ENV-18). */
export const UNDELIVERABLE_REASONS = ['delivery_exhausted', 'integrating', 'conflicted', 'closed', 'failed'] as const

export const RIGHT_TYPES = ['send', 'receive', 'send_once'] as const
export type RightType = (typeof RIGHT_TYPES)[number]

// Checkpoints

export const CHECKPOINT_STATUSES = ['provisional', 'final'] as const
export type CheckpointStatus = (typeof CHECKPOINT_STATUSES)[number]

export const CONFIDENCES = ['high', 'medium', 'low'] as const

/** W-CP-04 */
export const CHECKPOINT_REJECTION_REASONS = [
  'permission_denied',
  'invalid_type',
  'invalid_structure',
  'invalid_parent',
  'workspace_not_active',
] as const

/** W-CP-10 */
export const USAGE_FIELDS = ['tokens_consumed', 'wall_time', 'cost'] as const

// Tasks

export const TASK_STATUSES = [
  'draft',
  'pending',
  'assigned',
  'in_progress',
  'completed',
  'failed',
  'integrated',
  'cancelled',
] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

export const TASK_PRIORITIES = ['normal', 'elevated', 'urgent'] as const
export type TaskPriority = (typeof TASK_PRIORITIES)[number]

export const APPROVAL_SOURCES = ['human', 'timeout-auto-approve'] as const

// Human highway

/** W-HWY-03 */
export const GATE_TYPES = [
  'task_approval',
  'workspace_create',
  'envelope_delivery',
  'integration',
  'conflict_resolution',
  'workspace_abort',
] as const
export type GateType = (typeof GATE_TYPES)[number]

export const GATE_ACTIONS = ['approve', 'reject', 'modify'] as const
export type GateAction = (typeof GATE_ACTIONS)[number]

export const GATE_FALLBACKS = ['approve', 'reject', 'escalate_to_coordinator'] as const
export type GateFallback = (typeof GATE_FALLBACKS)[number]

/** What the re-entry guard turns a second trigger into (W-HWY-11). */
export const REENTRY_CONVERSIONS = ['approve', 'reject'] as const

export const INJECTION_STATUSES = ['delivered', 'rejected'] as const

export const ESCALATION_FALLBACKS = ['approve', 'reject', 'delegate_to_coordinator'] as const
export type EscalationFallback = (typeof ESCALATION_FALLBACKS)[number]

/** W-HWY-22 */
export const ESCALATION_RESPONSES = ['envelope', 'abort', 'delegation'] as const

// Recovery, security, trail

export const DEGRADED_SCOPES = ['systemic', 'trail_storage', 'transport', 'clock'] as const

export const COORDINATOR_ACTIONS = ['pause_dispatch', 'batch_abort', 'escalate', 'wait'] as const

export const VIOLATION_SUBJECTS = ['envelope', 'signal', 'checkpoint', 'trail_entry'] as const

export const VIOLATIONS = ['hash_mismatch', 'signature_invalid', 'proof_missing', 'chain_broken'] as const
export type Violation = (typeof VIOLATIONS)[number]

export const VIOLATION_ACTIONS = ['rejected', 'flagged', 'quarantined'] as const

export const TRAIL_SCOPES = ['local', 'global'] as const
