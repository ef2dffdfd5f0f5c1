// Notices (wacp-primitives 0.7): callbacks to the agent of a workspace. Each names something that is on the trail already; one that
// is missed can be found there.
import type { EnvelopeId, GraphId, SignalId, TaskId, WorkspaceId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type {
  EventBody,
  SignalType,
  Trigger,
  UndeliverableReason,
  WorkspaceState,
} from '@parley/trail/events'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import { unresolvable } from '../task/graph.ts'

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
  | { readonly kind: 'undeliverable'; readonly envelope: EnvelopeId; readonly reason: UndeliverableReason }
  | { readonly kind: 'unresolvable'; readonly graph: GraphId; readonly tasks: readonly TaskId[] }
)

/** What an entry means to whom. To be asked right before the entry is folded in: a signal's own words are still at hand then. */
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
    default:
      return []
  }
}

function signalNotice(run: Run, body: EventBody<'signal_delivered'>): readonly Notice[] {
  const from = workspaceOf(run, body.from)
  const signal = from?.waiting?.find(each => each.id === body.signal_id)
  // A repetition is on record and is not processed again (W-SIG-09).
  if (!from || !signal) return []
  const { id, to, type, reason, ref } = signal
  return [{ kind: 'signal', to, signal: id, from: from.id, type, reason, ref }]
}

/** The agent itself, and the coordinator. */
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
