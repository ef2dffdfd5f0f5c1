// What readers are shown of a run: frozen copies, never the state itself (W-CP-06).
import type {
  CheckpointId,
  EnvelopeId,
  GraphId,
  ObjectId,
  RightId,
  TaskId,
  Ticks,
  Timestamp,
  WorkspaceId,
} from '@parley/core'
import type {
  CheckpointStatus,
  Confidence,
  ConflictOutcome,
  ConflictType,
  EnvelopePriority,
  IntegrationMode,
  IntegrationResult,
  IntegrationStrategy,
  RecordedResolutionStrategy,
  ResourceUsage,
  RightType,
  TaskPriority,
  TaskStatus,
  WorkspacePriority,
  WorkspaceState,
} from '@parley/trail/events'
import { type LimitsView, type MeterView, viewLimits, viewMeter } from '../../budget/view.ts'
import { unreported } from '../../checkpoint/discrepancy.ts'
import { type Envelope, type EnvelopeState, inboxOrder } from '../../envelope/envelope.ts'
import type { Conflict } from '../../integration/conflict-record.ts'
import { integrationOf, type Merge, SALVAGED_CONFIDENCE } from '../../integration/integration.ts'
import { type PortRight, type RightStatus, rightStatus } from '../../port-right/port-right.ts'
import type { Run } from '../../run/run.ts'
import { tasksOf } from '../../task/graph.ts'
import { seesTask } from '../../task/permission.ts'
import type { Graph, ResourceEstimate, Task } from '../../task/task.ts'
import { graceLeft } from '../../workspace/terminate.ts'
import { type Authority, childrenOf, type Workspace } from '../../workspace/workspace.ts'

export interface CheckpointView {
  readonly id: CheckpointId
  readonly type: string
  readonly status: CheckpointStatus
  readonly confidence: Confidence
  readonly parent: CheckpointId | null
}

/** The record of W-WS-01 and the components of W-WS-02; the local trail is asked for by query. */
export interface WorkspaceView {
  readonly id: WorkspaceId
  readonly role: string
  /** The identity of its agent (W-SEC-03); null in runs that began without identities. */
  readonly agent: string | null
  /** The agent that is being prepared to take over (W-MIG-05). */
  readonly migrating_to: string | null
  readonly parent: WorkspaceId | null
  readonly status: WorkspaceState
  readonly owner: string
  readonly originator: string
  readonly priority: WorkspacePriority
  readonly delegate: boolean
  readonly group: string | null
  readonly timeout: number | null
  readonly liveness_interval: number | null
  /** Milliseconds of grace that are left to a workspace that was asked to wind down (W-TERM-02). */
  readonly grace_left: number | null
  readonly mounts: readonly string[]
  readonly task: TaskId | null
  readonly children: readonly WorkspaceId[]
  readonly directive: EnvelopeId | null
  readonly inbox: readonly EnvelopeId[]
  readonly context: string | null
  readonly memory: readonly string[]
  readonly register: readonly CheckpointView[]
  readonly deliverable: CheckpointId | null
  readonly meter: MeterView
  readonly limits: LimitsView
  /** What the meter counted since its newest checkpoint: what a report of use should say (W-CP-10). */
  readonly unreported: ResourceUsage
  readonly visibility: readonly WorkspaceId[]
  readonly authority: Authority
  readonly integration: IntegrationView | null
  /** The workspace whose work is being merged into it: until that is over nothing else is (W-INT-08). */
  readonly merging: WorkspaceId | null
  readonly merges: readonly Merge[]
}

/** Without a time, clocks are shown as they stood when its state last changed. */
export function viewWorkspace(run: Run, workspace: Workspace, now: Ticks = workspace.since): WorkspaceView {
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
    unreported: Object.freeze(unreported(workspace, now)),
    visibility: frozen([workspace.id, ...(workspace.visibility ?? [])]),
    authority: Object.freeze({
      resources: frozen(workspace.authority.resources),
      actions: frozen(workspace.authority.actions),
    }),
    integration: workspace.integration ? viewIntegration(run, workspace) : null,
    merging: workspace.merging?.id ?? null,
    merges: frozen((workspace.merges ?? []).map(merge => Object.freeze({ ...merge }))),
  })
}

export interface ConflictView {
  readonly conflict_id: string
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
  readonly strategy: RecordedResolutionStrategy | null
  readonly resolution: string | null
  readonly outcome: ConflictOutcome | null
}

/** The integration record (W-INT-21). */
export interface IntegrationView {
  readonly source: WorkspaceId
  readonly target: WorkspaceId
  readonly owner: string
  readonly mode: IntegrationMode
  readonly strategy: IntegrationStrategy
  readonly checkpoint_ref: CheckpointId | null
  /** What the checkpoint counts as: in salvage `low`, whatever its agent declared (W-INT-19). */
  readonly confidence: Confidence | null
  readonly conflicts: readonly ConflictView[]
  /** Null while it is open, and where it was aborted: then `aborted` says why. */
  readonly result: IntegrationResult | null
  readonly result_ref: ObjectId | null
  readonly aborted: string | null
  readonly order_index: number | null
  readonly order_basis: string | null
}

/** The open integration of a source, or the one that ended last; nothing follows a salvage but another one. */
export function viewIntegration(run: Run, source: Workspace): IntegrationView | null {
  const salvage = run.salvages.get(source.id)
  const integration = integrationOf(run, source)
  if (!integration) return null
  const { checkpoint } = integration
  const declared = checkpoint === null ? undefined : run.checkpoints.get(checkpoint)?.confidence
  return Object.freeze({
    source: source.id,
    target: integration.target.id,
    owner: integration.owner,
    mode: salvage ? 'salvage' : 'normal',
    strategy: integration.strategy,
    checkpoint_ref: checkpoint,
    confidence: salvage ? SALVAGED_CONFIDENCE : (declared ?? null),
    conflicts: frozen(((salvage ?? source).conflicts ?? []).map(viewConflict)),
    result: integration.result ?? null,
    result_ref: integration.resultRef ?? null,
    aborted: integration.aborted ?? null,
    order_index: integration.orderIndex ?? null,
    order_basis: integration.orderBasis ?? null,
  })
}

function viewConflict(conflict: Conflict): ConflictView {
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

function viewCheckpoint(run: Run, id: CheckpointId): CheckpointView {
  const { type, status, confidence, parent } = run.checkpoints.get(id)!
  return Object.freeze({ id, type, status, confidence, parent })
}

export interface EnvelopeView {
  readonly id: EnvelopeId
  readonly from: WorkspaceId
  readonly to: WorkspaceId
  readonly type: string
  readonly priority: EnvelopePriority
  readonly in_reply_to: EnvelopeId | null
  readonly status: EnvelopeState
  readonly undeliverable: string | null
  readonly consumed: boolean
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

export interface RightView {
  readonly id: RightId
  readonly type: RightType
  readonly holder: WorkspaceId
  readonly target: WorkspaceId
  readonly status: RightStatus
}

export function viewRight(right: PortRight): RightView {
  const { id, type, holder, target } = right
  return Object.freeze({ id, type, holder: holder.id, target: target.id, status: rightStatus(right) })
}

export interface TaskView {
  readonly id: TaskId
  readonly graph: GraphId
  readonly name: string
  readonly description: string
  readonly priority: TaskPriority
  readonly depends_on: readonly TaskId[]
  readonly parent_task: TaskId | null
  readonly status: TaskStatus
  readonly workspace_ref: WorkspaceId | null
  readonly workspace_history: readonly WorkspaceId[]
  readonly checkpoint_ref: CheckpointId | null
  readonly resource_estimate: ResourceEstimate | null
  readonly timestamp: Timestamp
}

export function viewTask(task: Task): TaskView {
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
export interface GraphView {
  readonly id: GraphId
  readonly root_task: TaskId
  readonly tasks: readonly TaskView[]
  readonly timestamp: Timestamp
}

/** `viewer`: only what that workspace sees of it. */
export function viewGraph(run: Run, graph: Graph, viewer: Workspace): GraphView {
  const { id, rootTask, timestamp } = graph
  const tasks = tasksOf(run, id).filter(task => seesTask(run, viewer, task))
  return Object.freeze({ id, root_task: rootTask, tasks: frozen(tasks.map(viewTask)), timestamp })
}

function frozen<T>(items: readonly T[]): readonly T[] {
  return Object.freeze([...items])
}
