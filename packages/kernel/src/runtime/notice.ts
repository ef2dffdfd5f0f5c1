// Notices (wacp-primitives 0.7): callbacks to the agent of a workspace. Each names something that is on the trail
// already; one that is missed can be found there.
import type { EnvelopeId, GraphId, SignalId, TaskId, Timestamp, WorkspaceId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type {
  BudgetDimension,
  DegradedScope,
  EventBody,
  SignalType,
  Trigger,
  UndeliverableReason,
  WorkspaceState,
} from '@parley/trail/events'
import type { RecoveryCounts } from '../recovery/steps.ts'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import { unresolvable } from '../task/graph.ts'
import { type GateNotice, gateNotices } from './gate-notice.ts'
import { type EscalationNotice, escalationNotices, type UserNotice } from './user-notice.ts'

export type Notice = { readonly to: WorkspaceId } & (
  | { readonly kind: 'mail'; readonly envelope: EnvelopeId; readonly from: WorkspaceId }
  | {
      readonly kind: 'signal'
      readonly signal: SignalId
      readonly from: WorkspaceId
      readonly type: SignalType
      readonly reason: string | undefined
      readonly ref: string | undefined
    }
  | {
      readonly kind: 'state'
      readonly workspace: WorkspaceId
      readonly from: WorkspaceState
      readonly state: WorkspaceState
      readonly trigger: Trigger
      readonly reason: string | undefined
    }
  /** An orphan went to the root, or the coordinator gave it another parent. */
  | {
      readonly kind: 'reparented'
      readonly workspace: WorkspaceId
      readonly from: WorkspaceId
      readonly parent: WorkspaceId
      readonly reason: EventBody<'workspace_reparented'>['reason']
    }
  | {
      readonly kind: 'owner'
      readonly workspace: WorkspaceId
      readonly from: string
      readonly owner: string
    }
  /** A workspace's use reached the warning mark of a limit, or the limit: then it has failed (W-BUDGET-04, -05). */
  | {
      readonly kind: 'budget'
      readonly workspace: WorkspaceId
      readonly mark: 'warning' | 'exceeded'
      readonly dimension: BudgetDimension
      readonly consumed: number
      readonly limit: number
    }
  /** Nothing happened in a workspace for its whole interval (W-BUDGET-08). */
  | {
      readonly kind: 'silence'
      readonly workspace: WorkspaceId
      readonly interval: number
      readonly last_activity: Timestamp
    }
  | UserNotice
  | EscalationNotice
  | GateNotice
  /** W-SEC-06: an identity or a proof did not hold; the coordinator is notified. */
  | {
      readonly kind: 'security'
      readonly event: 'authentication_failed' | 'integrity_violation'
      /** The claimed name, or the id of what was forged. */
      readonly subject: string
      readonly reason: string
    }
  /** The run was recovered, and what that came to (W-REC-22). */
  | { readonly kind: 'recovered'; readonly counts: RecoveryCounts }
  /** Something systemic is or was wrong; an outage of the trail is told when it is over (W-REC-05, -09). */
  | {
      readonly kind: 'degraded'
      readonly scope: DegradedScope
      readonly reason: string
      readonly from: Timestamp | undefined
      readonly until: Timestamp | undefined
    }
  | { readonly kind: 'undeliverable'; readonly envelope: EnvelopeId; readonly reason: UndeliverableReason }
  | { readonly kind: 'unresolvable'; readonly graph: GraphId; readonly tasks: readonly TaskId[] }
)

/** Asked right before the entry is folded in, while a signal's own words are still at hand. */
export function noticesOf(run: Run, entry: EntryDraft): readonly Notice[] {
  switch (entry.event_type) {
    case 'envelope_delivered': {
      const body = entry.body as EventBody<'envelope_delivered'>
      const to = body.to as WorkspaceId
      return [{ kind: 'mail', to, envelope: body.envelope_id as EnvelopeId, from: body.from as WorkspaceId }]
    }
    case 'signal_delivered':
      return signalNotice(run, entry.body as EventBody<'signal_delivered'>)
    case 'workspace_state_changed':
      return stateNotices(run, entry.body as EventBody<'workspace_state_changed'>)
    case 'envelope_undeliverable': {
      const body = entry.body as EventBody<'envelope_undeliverable'>
      const envelope = body.envelope_id as EnvelopeId
      const told = new Set([body.from as WorkspaceId, rootOf(run).id])
      return [...told].map(to => ({ kind: 'undeliverable', to, envelope, reason: body.reason }))
    }
    case 'authentication_failed': {
      const { entity, reason } = entry.body as EventBody<'authentication_failed'>
      return [{ kind: 'security', to: rootOf(run).id, event: entry.event_type, subject: entity, reason }]
    }
    case 'integrity_violation': {
      const { subject_id: subject, violation } = entry.body as EventBody<'integrity_violation'>
      return [{ kind: 'security', to: rootOf(run).id, event: entry.event_type, subject, reason: violation }]
    }
    case 'recovery_completed':
      return [{ kind: 'recovered', to: rootOf(run).id, counts: entry.body as EventBody<'recovery_completed'> }]
    case 'system_degraded':
      return [degradedNotice(run, entry.body as EventBody<'system_degraded'>)]
    case 'workspace_reparented':
      return reparentedNotices(run, entry.body as EventBody<'workspace_reparented'>)
    case 'workspace_ownership_transferred': {
      const { workspace_id, from_user, to_user } = entry.body as EventBody<'workspace_ownership_transferred'>
      const workspace = workspace_id as WorkspaceId
      const told: Notice = { kind: 'owner', to: rootOf(run).id, workspace, from: from_user, owner: to_user }
      return [told, ...escalationNotices(run, entry)]
    }
    case 'gate_triggered':
    case 'gate_timeout':
      return gateNotices(run, entry)
    case 'budget_warning':
      return [budgetNotice(run, 'warning', entry.body as EventBody<'budget_warning'>)]
    case 'budget_exceeded':
      return [budgetNotice(run, 'exceeded', entry.body as EventBody<'budget_exceeded'>)]
    case 'liveness_warning': {
      const { workspace_id, interval, last_activity_timestamp } = entry.body as EventBody<'liveness_warning'>
      const workspace = workspace_id as WorkspaceId
      const last_activity = last_activity_timestamp as Timestamp
      return [{ kind: 'silence', to: rootOf(run).id, workspace, interval, last_activity }]
    }
    default:
      return escalationNotices(run, entry)
  }
}

function degradedNotice(run: Run, body: EventBody<'system_degraded'>): Notice {
  const { scope, reason } = body
  const from = body.degraded_from as Timestamp | undefined
  const until = body.degraded_to as Timestamp | undefined
  return { kind: 'degraded', to: rootOf(run).id, scope, reason, from, until }
}

function budgetNotice(run: Run, mark: 'warning' | 'exceeded', body: EventBody<'budget_exceeded'>): Notice {
  const { budget_dimension: dimension, consumed, limit } = body
  const workspace = body.workspace_id as WorkspaceId
  return { kind: 'budget', to: rootOf(run).id, workspace, mark, dimension, consumed, limit }
}

/** The coordinator, and whoever got a child by it; the workspace itself notices nothing. */
function reparentedNotices(run: Run, body: EventBody<'workspace_reparented'>): readonly Notice[] {
  const parent = body.new_parent as WorkspaceId
  const [workspace, from] = [body.workspace_id as WorkspaceId, body.old_parent as WorkspaceId]
  const told = new Set([rootOf(run).id, parent])
  return [...told].map(to => ({ kind: 'reparented', to, workspace, from, parent, reason: body.reason }))
}

function signalNotice(run: Run, body: EventBody<'signal_delivered'>): readonly Notice[] {
  const from = workspaceOf(run, body.from)
  const signal = from?.waiting?.find(each => each.id === body.signal_id)
  // A repetition is on record and is not processed again (W-SIG-09).
  if (!from || !signal) return []
  const { id, to, type, reason, ref } = signal
  return [{ kind: 'signal', to, signal: id, from: from.id, type, reason, ref }]
}

function stateNotices(run: Run, body: EventBody<'workspace_state_changed'>): readonly Notice[] {
  const workspace = body.workspace_id as WorkspaceId
  const { from_state: from, to_state: state, trigger, reason } = body
  const told = new Set([workspace, rootOf(run).id])
  return [...told].map(to => ({ kind: 'state', to, workspace, from, state, trigger, reason }))
}

/** W-TASK-14: asked after the entry was folded in, when the dependents of a cancelled task are known to hang. */
export function unresolvableNotice(run: Run, entry: EntryDraft): Notice | undefined {
  if (entry.event_type !== 'task_status_changed') return undefined
  const body = entry.body as EventBody<'task_status_changed'>
  if (body.to_status !== 'cancelled') return undefined
  const graph = run.tasks.get(body.task_id as TaskId)?.graph
  const tasks = graph === undefined ? [] : unresolvable(run, graph).map(task => task.id)
  if (graph === undefined || tasks.length === 0) return undefined
  return { kind: 'unresolvable', to: rootOf(run).id, graph, tasks }
}
