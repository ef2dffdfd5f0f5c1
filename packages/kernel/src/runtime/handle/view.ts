// What readers are shown of a run: frozen copies, never the state itself (W-CP-06).
import type { CheckpointId, EnvelopeId, Ticks } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import { viewLimits, viewMeter } from '../../budget/remaining.ts'
import { unreported } from '../../checkpoint/discrepancy.ts'
import { type Envelope, type EnvelopeState, inboxOrder } from '../../envelope/envelope.ts'
import type { Conflict } from '../../integration/conflict-record.ts'
import { integrationOf, SALVAGED_CONFIDENCE } from '../../integration/integration.ts'
import { type PortRight, rightStatus } from '../../port-right/port-right.ts'
import type { Run } from '../../run/run.ts'
import { seesTask, tasksOf } from '../../task/graph.ts'
import type { Graph, Task } from '../../task/task.ts'
import { graceLeft } from '../../workspace/terminate.ts'
import { childrenOf, type Workspace } from '../../workspace/workspace.ts'

/** The record of W-WS-01 and the components of W-WS-02; the local trail is asked for by query. */
export type WorkspaceView = ReturnType<typeof viewWorkspace>

export function viewWorkspace(run: Run, workspace: Workspace, now: Ticks = workspace.since) {
  return Object.freeze({
    id: workspace.id,
    role: workspace.role,
    agent: workspace.agent ?? null,
    migrating_to: workspace.migration?.agent ?? null,
    parent: workspace.parent?.id ?? null,
    status: workspace.status,
    owner: workspace.owner,
    originator: workspace.originator,
    priority: workspace.priority,
    delegate: workspace.delegate,
    group: workspace.group,
    timeout: workspace.timeout,
    liveness_interval: workspace.livenessInterval,
    /** Milliseconds of grace for a workspace that was asked to wind down (W-TERM-02). */
    grace_left: graceLeft(workspace, now) ?? null,
    mounts: frozen(workspace.mounts),
    task: workspace.task,
    children: frozen(childrenOf(workspace).map(child => child.id)),
    directive: workspace.directive,
    inbox: frozen(inboxOrder(workspace.inbox)),
    context: workspace.context,
    memory: frozen([...(workspace.memory?.keys() ?? [])]),
    register: frozen((workspace.register ?? []).map(id => viewCheckpoint(run, id))),
    deliverable: workspace.deliverable ?? null,
    meter: viewMeter(workspace, now),
    limits: viewLimits(workspace, now),
    /** What a report of use should say (W-CP-10). */
    unreported: Object.freeze(unreported(workspace, now)),
    visibility: frozen([workspace.id, ...(workspace.visibility ?? [])]),
    authority: Object.freeze({
      resources: frozen(workspace.authority.resources),
      actions: frozen(workspace.authority.actions),
    }),
    integration: workspace.integration ? viewIntegration(run, workspace) : null,
    /** Until that merge is over nothing else is merged into it (W-INT-08). */
    merging: workspace.merging?.id ?? null,
    merges: frozen((workspace.merges ?? []).map(merge => Object.freeze({ ...merge }))),
  })
}

/** The integration record (W-INT-21). */
export type IntegrationView = NonNullable<ReturnType<typeof viewIntegration>>

export function viewIntegration(run: Run, source: Workspace) {
  const salvage = run.salvages.get(source.id)
  const integration = integrationOf(run, source)
  if (!integration) return null
  const { checkpoint } = integration
  const declared = checkpoint === null ? undefined : run.checkpoints.get(checkpoint)?.confidence
  return Object.freeze({
    source: source.id,
    target: integration.target.id,
    owner: integration.owner,
    mode: (salvage ? 'salvage' : 'normal') as EventBody<'integration_started'>['mode'],
    strategy: integration.strategy,
    checkpoint_ref: checkpoint,
    /** In salvage `low`, whatever its agent declared (W-INT-19). */
    confidence: salvage ? SALVAGED_CONFIDENCE : (declared ?? null),
    conflicts: frozen(((salvage ?? source).conflicts ?? []).map(viewConflict)),
    /** Null while it is open, and where it was aborted: then `aborted` says why. */
    result: integration.result ?? null,
    result_ref: integration.resultRef ?? null,
    aborted: integration.aborted ?? null,
    order_index: integration.orderIndex ?? null,
    order_basis: integration.orderBasis ?? null,
  })
}

function viewConflict(conflict: Conflict) {
  const { id, type, resources, description, strategy, resolution, outcome } = conflict
  return Object.freeze({
    conflict_id: id,
    type,
    resources: frozen(resources),
    description,
    strategy: strategy ?? null,
    resolution: resolution ?? null,
    outcome: outcome ?? null,
  })
}

function viewCheckpoint(run: Run, id: CheckpointId) {
  const { type, status, confidence, parent } = run.checkpoints.get(id)!
  return Object.freeze({ id, type, status, confidence, parent })
}

export interface EnvelopeView
  extends Readonly<Pick<Envelope, 'id' | 'from' | 'to' | 'type' | 'priority' | 'consumed'>> {
  readonly in_reply_to: EnvelopeId | null
  readonly status: EnvelopeState
  readonly undeliverable: string | null
  readonly replies: readonly EnvelopeId[]
}

export function viewEnvelope(envelope: Envelope): EnvelopeView {
  const { id, from, to, type, priority, status, consumed } = envelope
  return Object.freeze({
    id,
    from,
    to,
    type,
    priority,
    in_reply_to: envelope.inReplyTo,
    status,
    undeliverable: envelope.undeliverable ?? null,
    consumed,
    replies: frozen(envelope.replies ?? []),
  })
}

export type RightView = ReturnType<typeof viewRight>

export function viewRight(right: PortRight) {
  const { id, type, holder, target } = right
  return Object.freeze({ id, type, holder: holder.id, target: target.id, status: rightStatus(right) })
}

export type TaskView = ReturnType<typeof viewTask>

export function viewTask(task: Task) {
  return Object.freeze({
    id: task.id,
    graph: task.graph,
    name: task.name,
    description: task.text.description,
    priority: task.priority,
    depends_on: frozen(task.dependsOn),
    parent_task: task.parentTask,
    status: task.status,
    workspace_ref: task.workspace,
    workspace_history: frozen(task.history),
    checkpoint_ref: task.checkpoint,
    resource_estimate: task.text.resource_estimate ?? null,
    timestamp: task.timestamp,
  })
}

/** W-TASK-02: tasks in order of creation, cancelled ones among them. */
export type GraphView = ReturnType<typeof viewGraph>

export function viewGraph(run: Run, graph: Graph, viewer: Workspace) {
  const { id, rootTask, timestamp } = graph
  const tasks = tasksOf(run, id).filter(task => seesTask(run, viewer, task))
  return Object.freeze({ id, root_task: rootTask, tasks: frozen(tasks.map(viewTask)), timestamp })
}

function frozen<T>(items: readonly T[]): readonly T[] {
  return Object.freeze([...items])
}
