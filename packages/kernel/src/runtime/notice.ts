// Notices (wacp-primitives 0.7): callbacks to the agent of a workspace. Each names something that is on the trail
// already; one that is missed can be found there.
import type { EnvelopeId, GateId, GraphId, SignalId, TaskId, Timestamp, WorkspaceId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type {
  BudgetDimension,
  EventBody,
  EventType,
  GateType,
  SignalType,
  UserState,
  WorkspaceState,
} from '@parley/trail/events'
import { RECEIVE_ESCALATION } from '../highway/escalation.ts'
import type { GateOutcome } from '../highway/gate.ts'
import type { Trigger } from '../lifecycle/states.ts'
import type { RecoveryCounts } from '../recovery/plan.ts'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import { unresolvable } from '../task/graph.ts'
import type { UserEvent } from '../user/user.ts'

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
  | {
      readonly kind: 'user'
      readonly user: string
      readonly event: UserTransitionEvent
      readonly state: UserState
    }
  | EscalationNotice
  | GateNotice
  /** W-SEC-06: an identity or a proof did not hold; the coordinator is notified. */
  | {
      readonly kind: 'security'
      readonly event: 'authentication_failed' | 'integrity_violation'
      readonly subject: string
      readonly reason: string
    }
  /** The run was recovered, and what that came to (W-REC-22). */
  | { readonly kind: 'recovered'; readonly counts: RecoveryCounts }
  /** Something systemic is or was wrong; an outage of the trail is told when it is over (W-REC-05, -09). */
  | {
      readonly kind: 'degraded'
      readonly scope: EventBody<'system_degraded'>['scope']
      readonly reason: string
      readonly from: Timestamp | undefined
      readonly until: Timestamp | undefined
    }
  | {
      readonly kind: 'undeliverable'
      readonly envelope: EnvelopeId
      readonly reason: EventBody<'envelope_undeliverable'>['reason']
    }
  | { readonly kind: 'unresolvable'; readonly graph: GraphId; readonly tasks: readonly TaskId[] }
)

/** The events of W-USER-03. */
export type UserTransitionEvent = Exclude<Extract<UserEvent, `user_${string}`>, 'user_created'>

export type EscalationNotice = EscalationEvent & {
  readonly kind: 'escalation'
  readonly signal: SignalId
  readonly workspace: WorkspaceId
}

type EscalationEvent =
  | { readonly event: 'received'; readonly addressee: string; readonly queued: boolean }
  /** `rejected`: the addressee is deactivated; transfer the ownership, or handle it. */
  | { readonly event: 'delivered' | 'rejected' | 'overflow'; readonly addressee: string }
  | {
      readonly event: 'resolved'
      readonly actor: string
      readonly response: EventBody<'escalation_resolved'>['response_type']
    }

type GateNotice =
  | {
      readonly kind: 'gate_opened'
      readonly gate: GateId
      readonly type: GateType
      readonly subject_id: string
      readonly workspace: WorkspaceId | null
      readonly task_ref: TaskId | null
      readonly graph_ref: GraphId | null
      readonly addressee: string
    }
  /** Nobody answered in time: approve or reject it, or ask again for what it holds up (W-HWY-10). */
  | { readonly kind: 'gate_handed_over'; readonly gate: GateId; readonly type: GateType }
  | ({ readonly kind: 'gate_ended' } & GateOutcome)

type Notify<T extends EventType> = (run: Run, body: EventBody<T>, root: WorkspaceId) => readonly Notice[]

const NOTICES: { readonly [T in EventType]?: Notify<T> } = {
  envelope_delivered(_run, body) {
    const to = body.to as WorkspaceId
    return [{ kind: 'mail', to, envelope: body.envelope_id as EnvelopeId, from: body.from as WorkspaceId }]
  },
  signal_delivered(run, body) {
    const from = workspaceOf(run, body.from)
    const signal = from?.waiting?.find(each => each.id === body.signal_id)
    // A repetition is on record and is not processed again (W-SIG-09).
    if (!from || !signal) return NONE
    const { id, to, type, reason, ref } = signal
    return [{ kind: 'signal', to, signal: id, from: from.id, type, reason, ref }]
  },
  workspace_state_changed(_run, body, root) {
    const workspace = body.workspace_id as WorkspaceId
    const { from_state: from, to_state: state, trigger, reason } = body
    return [...new Set([workspace, root])].map(to => ({ kind: 'state', to, workspace, from, state, trigger, reason }))
  },
  envelope_undeliverable(_run, { envelope_id, from, reason }, root) {
    const told = new Set([from as WorkspaceId, root])
    return [...told].map(to => ({ kind: 'undeliverable', to, envelope: envelope_id as EnvelopeId, reason }))
  },
  authentication_failed: (_run, { entity: subject, reason }, to) => [
    { kind: 'security', to, event: 'authentication_failed', subject, reason },
  ],
  integrity_violation: (_run, { subject_id: subject, violation: reason }, to) => [
    { kind: 'security', to, event: 'integrity_violation', subject, reason },
  ],
  recovery_completed: (_run, counts, to) => [{ kind: 'recovered', to, counts }],
  system_degraded(_run, { scope, reason, degraded_from, degraded_to }, to) {
    const [from, until] = [degraded_from as Timestamp | undefined, degraded_to as Timestamp | undefined]
    return [{ kind: 'degraded', to, scope, reason, from, until }]
  },
  // The workspace itself notices nothing.
  workspace_reparented(_run, body, root) {
    const parent = body.new_parent as WorkspaceId
    const [workspace, from] = [body.workspace_id as WorkspaceId, body.old_parent as WorkspaceId]
    const { reason } = body
    return [...new Set([root, parent])].map(to => ({ kind: 'reparented', to, workspace, from, parent, reason }))
  },
  workspace_ownership_transferred(run, { workspace_id, from_user: from, to_user: owner }, to) {
    const workspace = workspace_id as WorkspaceId
    const asked = [...run.escalations.values()].filter(each => each.workspace === workspace && !each.answer)
    return [
      { kind: 'owner', to, workspace, from, owner },
      ...asked.map(each => escalation(to, each.signal, workspace, { event: 'delivered', addressee: owner })),
    ]
  },
  gate_triggered: (_run, body, to) => [
    {
      kind: 'gate_opened',
      to,
      gate: body.gate_id as GateId,
      type: body.gate_type,
      subject_id: body.subject.id,
      workspace: body.workspace as WorkspaceId | null,
      task_ref: body.task_ref as TaskId | null,
      graph_ref: body.graph_ref as GraphId | null,
      addressee: body.addressee,
    },
  ],
  gate_timeout: (_run, { gate_id, gate_type: type, fallback_action }, to) =>
    fallback_action === 'escalate_to_coordinator'
      ? [{ kind: 'gate_handed_over', to, gate: gate_id as GateId, type }]
      : NONE,
  budget_warning: (_run, body, to) => [budget('warning', body, to)],
  budget_exceeded: (_run, body, to) => [budget('exceeded', body, to)],
  liveness_warning(_run, { workspace_id, interval, last_activity_timestamp }, to) {
    const last_activity = last_activity_timestamp as Timestamp
    return [{ kind: 'silence', to, workspace: workspace_id as WorkspaceId, interval, last_activity }]
  },
  escalation_received: (_run, { signal_id, workspace, addressee, queued }, to) => [
    escalation(to, signal_id, workspace, { event: 'received', addressee, queued }),
  ],
  escalation_resolved: (_run, { signal_id, workspace, actor, response_type: response }, to) => [
    escalation(to, signal_id, workspace, { event: 'resolved', actor, response }),
  ],
  capability_denied(run, { capability, target, user_id: addressee, reason }, to) {
    const asked = capability === RECEIVE_ESCALATION ? run.escalations.get(target as SignalId) : undefined
    if (!asked || addressee === null) return NONE
    const event = reason === 'escalation_queue_overflow' ? 'overflow' : 'rejected'
    return [escalation(to, asked.signal, asked.workspace, { event, addressee })]
  },
}

const NONE: readonly Notice[] = []

function budget(mark: 'warning' | 'exceeded', body: EventBody<'budget_exceeded'>, to: WorkspaceId): Notice {
  const { workspace_id, budget_dimension: dimension, consumed, limit } = body
  return { kind: 'budget', to, workspace: workspace_id as WorkspaceId, mark, dimension, consumed, limit }
}

function escalation(to: WorkspaceId, signal: string, workspace: string, what: EscalationEvent): Notice {
  return { kind: 'escalation', to, signal: signal as SignalId, workspace: workspace as WorkspaceId, ...what }
}

/** Asked right before the entry is folded in, while a signal's own words are still at hand. */
export function noticesOf(run: Run, { event_type, body }: EntryDraft): readonly Notice[] {
  const notify = NOTICES[event_type] as Notify<EventType> | undefined
  return notify ? notify(run, body, rootOf(run).id) : NONE
}

/** W-HWY-07: asked once the whole decision is folded in, so that its result can be looked at. */
export function outcomeNotices(run: Run, outcomes: readonly GateOutcome[]): readonly Notice[] {
  return outcomes.flatMap(outcome => {
    const told = new Set([rootOf(run).id, ...(outcome.asked === undefined ? [] : [outcome.asked])])
    return [...told].map(to => ({ kind: 'gate_ended' as const, to, ...outcome }))
  })
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

export class Listeners {
  readonly #listeners = new Set<(notice: Notice) => void>()
  readonly #onFault: (cause: unknown) => void
  #recovered: Notice | undefined

  constructor(onFault: (cause: unknown) => void) {
    this.#onFault = onFault
  }

  get size(): number {
    return this.#listeners.size
  }

  /** W-REC-22: listeners that come after a recovery are notified of it first. */
  add(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener)
    const recovered = this.#recovered
    if (recovered) queueMicrotask(() => this.#listeners.has(listener) && this.#tell(listener, recovered))
    return () => this.#listeners.delete(listener)
  }

  tell(notice: Notice): void {
    if (notice.kind === 'recovered') this.#recovered = notice
    for (const listener of this.#listeners) this.#tell(listener, notice)
  }

  #tell(listener: (notice: Notice) => void, notice: Notice): void {
    try {
      listener(notice)
    } catch (cause) {
      this.#onFault(cause)
    }
  }
}
