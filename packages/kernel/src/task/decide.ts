// Commands on tasks: submit a graph, add to it, retry, cancel; and what never changes (W-TASK-03).
import { compile, type EnvelopeId, type GraphId, ok, type Result, type TaskId } from '@parley/core'
import { actorOf, type Batch } from '../batch.ts'
import { abortGated, type GuardedOutcome, gate } from '../highway/gate.ts'
import { mayCite } from '../highway/inject.ts'
import type { TaskSubject } from '../highway/subject.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, invalidState, limitReached, notFound, type Refusal, refusal } from '../refusal.ts'
import { type Run, rootOf } from '../run/run.ts'
import { byOperation, writeFailure } from '../workspace/failure.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import { writeTaskStatus } from './follow.ts'
import { authorizeTask, dependencyOrder } from './graph.ts'
import { type Graph, type GraphCause, TASK_TRANSITIONS, type Task, type TaskDraft, TaskDraftsSchema } from './task.ts'

const validator = compile(TaskDraftsSchema, { name: 'tasks' })

export interface SubmittedTasks {
  readonly graph: GraphId
  readonly tasks: readonly TaskId[]
}

interface Planned {
  readonly id: TaskId
  readonly draft: TaskDraft
  readonly dependsOn: readonly TaskId[]
  readonly parentTask: TaskId | null
}

/** W-TASK-02: a graph and its tasks, dependencies first; all of it or nothing. */
export function decideSubmitGraph(
  batch: Batch,
  caller: Workspace,
  submitted: unknown,
  causedBy?: unknown,
): Result<SubmittedTasks> {
  const refused = authorizeTask(batch, caller, 'submit_graph', undefined)
  if (refused) return refused
  if (batch.run.graphs.size >= kernelLimits.graphs) return limitReached('graphs in one run', kernelLimits.graphs)
  const graph = batch.newId<GraphId>('graph')
  const planned = plan(batch, submitted, undefined)
  if (!planned.ok) return planned
  const cause = causedBy === undefined ? undefined : causeOf(batch, caller, causedBy)
  if (cause && !cause.ok) return cause
  if (cause) batch.store('graph', graph, cause.value)
  batch.add('graph_created', rootOf(batch.run), actorOf(caller), {
    graph_id: graph,
    root_task_id: planned.value.given[0]!.id,
    task_count: planned.value.given.length,
  })
  writeTasks(batch, caller, graph, planned.value.ordered, cause?.value.originator)
  return ok({ graph, tasks: planned.value.given.map(task => task.id) })
}

/** W-HWY-23: whoever asked for the graph is asked about its tasks. */
function causeOf(batch: Batch, caller: Workspace, id: unknown): Result<GraphCause> {
  const envelope = batch.run.envelopes.get(id as EnvelopeId)
  if (!envelope || !mayCite(caller, envelope))
    return invalidArgument(
      `The cause of a graph is a directive that a human injected; ${String(id).slice(0, 80)} is none.`,
    )
  return ok({ caused_by: envelope.id, originator: envelope.originator })
}

/** W-TASK-15: more tasks for a graph that exists. */
export function decideAddTasks(
  batch: Batch,
  caller: Workspace,
  id: unknown,
  submitted: unknown,
): Result<SubmittedTasks> {
  const graph = batch.run.graphs.get(id as GraphId)
  const parents = parentTasks(batch.run, submitted)
  for (const parent of parents.length > 0 ? parents : [undefined]) {
    const refused = authorizeTask(batch, caller, 'add_tasks', parent, true)
    if (refused) return refused
  }
  if (!graph) return notFound('graph', id)
  const planned = plan(batch, submitted, graph)
  if (!planned.ok) return planned
  writeTasks(batch, caller, graph.id, planned.value.ordered)
  return ok({ graph: graph.id, tasks: planned.value.given.map(task => task.id) })
}

/** The parents that new tasks name, `undefined` for each that names none: a delegate must name one of its own. */
function parentTasks(run: Run, submitted: unknown): readonly (Task | undefined)[] {
  if (!validator.is(submitted)) return []
  const keys = new Set(submitted.map(draft => draft.key))
  return submitted
    .filter(draft => draft.parent_task == null || !keys.has(draft.parent_task))
    .map(draft => run.tasks.get(draft.parent_task as TaskId))
}

/** W-TASK-03: every fault that would spoil the graph, before anything is written. */
function plan(
  batch: Batch,
  submitted: unknown,
  graph: Graph | undefined,
): Result<{ readonly given: readonly Planned[]; readonly ordered: readonly Planned[] }> {
  const checked = validator.check(submitted)
  if (!checked.ok) return invalidArgument(checked.error.message)
  const drafts = checked.value
  if ((graph?.tasks.length ?? 0) + drafts.length > kernelLimits.graphTasks)
    return limitReached('tasks in one graph', kernelLimits.graphTasks)
  const ids = new Map<string, TaskId>()
  const given: { id: TaskId; draft: TaskDraft }[] = []
  for (const draft of drafts) {
    const id = batch.newId<TaskId>('task')
    if (draft.key !== undefined) {
      if (ids.has(draft.key)) return invalidArgument(`Two tasks have the key '${draft.key}'.`)
      ids.set(draft.key, id)
    }
    given.push({ id, draft })
  }
  const planned: Planned[] = []
  for (const { id, draft } of given) {
    const dependsOn: TaskId[] = []
    for (const name of new Set(draft.depends_on ?? [])) {
      const found = resolve(batch.run, graph, ids, name)
      if (!found.ok) return found
      dependsOn.push(found.value)
    }
    const parent = draft.parent_task == null ? undefined : resolve(batch.run, graph, ids, draft.parent_task)
    if (parent && !parent.ok) return parent
    planned.push({ id, draft, dependsOn, parentTask: parent?.value ?? null })
  }
  const ordered = dependencyOrder(planned)
  if (!ordered || cyclicParents(planned)) return refusal('cycle', 'The tasks depend on each other in a circle.')
  return ok({ given: planned, ordered })
}

function resolve(run: Run, graph: Graph | undefined, ids: ReadonlyMap<string, TaskId>, name: string): Result<TaskId> {
  const own = ids.get(name)
  if (own) return ok(own)
  const known = run.tasks.get(name as TaskId)
  if (!known) return refusal('unknown_dependency', `There is no task '${name.slice(0, 80)}'.`)
  if (known.graph === graph?.id) return ok(known.id)
  return refusal('cross_graph', `The task ${known.id} belongs to another graph.`)
}

/** A new task can name only new tasks or old ones as parent, so a circle lies among the new ones. */
function cyclicParents(planned: readonly Planned[]): boolean {
  const tree = planned.map(({ id, parentTask }) => ({ id, dependsOn: parentTask === null ? [] : [parentTask] }))
  return dependencyOrder(tree) === undefined
}

/** Every task begins as a draft; without its gate the fallback approves at once (W-TASK-05). */
function writeTasks(
  batch: Batch,
  caller: Workspace,
  graph: GraphId,
  tasks: readonly Planned[],
  injectedBy?: string,
): void {
  const root = rootOf(batch.run)
  for (const { id, draft, dependsOn, parentTask } of tasks) {
    const { description, resource_estimate } = draft
    batch.store('task', id, { description, ...(resource_estimate && { resource_estimate }) })
    batch.add('task_created', root, actorOf(caller), {
      task_id: id,
      graph_id: graph,
      parent_task: parentTask,
      name: draft.name,
      depends_on: [...dependsOn],
      priority: draft.priority ?? 'normal',
    })
  }
  for (const planned of tasks) {
    const task = draftOf(graph, planned)
    if (gate(batch, { type: 'task_approval', task: task.id }, { task, injectedBy }) === 'proceed')
      writeApproved(batch, task.id, 'fallback')
  }
}

function draftOf(graph: GraphId, { id, draft, dependsOn, parentTask }: Planned): TaskSubject {
  const { name, description, priority = 'normal', resource_estimate } = draft
  return {
    id,
    graph_ref: graph,
    name,
    description,
    priority,
    depends_on: dependsOn,
    parent_task: parentTask,
    ...(resource_estimate && { resource_estimate }),
    status: 'draft',
  }
}

/** W-TASK-04 rows 2 and 3: the decision, then the transition. `actor` is a user, the coordinator or `fallback`. */
export function writeApproved(batch: Batch, task: TaskId, actor: string): void {
  const root = rootOf(batch.run)
  const human = actor !== 'fallback' && actor !== 'system'
  const approval_source = human ? 'human' : 'timeout-auto-approve'
  batch.add('task_approved', root, actor, { task_id: task, approval_source })
  batch.add('task_status_changed', root, actor, {
    task_id: task,
    from_status: 'draft',
    to_status: 'pending',
    workspace_id: null,
  })
}

/** W-TASK-12. */
export function decideRetryTask(batch: Batch, caller: Workspace, id: unknown, override = false): Result<void> {
  const task = taskOf(batch, caller, 'retry_task', id)
  if (!task.ok) return task
  if (task.value.status !== 'failed')
    return invalidState(`The task ${task.value.id} is ${task.value.status}, not failed.`)
  if (task.value.history.length >= kernelLimits.attempts && !override)
    return invalidState(`The task ${task.value.id} was tried ${kernelLimits.attempts} times; override it or cancel it.`)
  writeTaskStatus(batch, task.value, 'pending', actorOf(caller), 'failed', null)
  return ok(undefined)
}

/** W-TASK-13: the task first, then the abort of a workspace that still works on it. `passed`: its gate was approved. */
export function decideCancelTask(batch: Batch, caller: Workspace, id: unknown, passed = false): Result<GuardedOutcome> {
  const found = taskOf(batch, caller, 'cancel_task', id)
  if (!found.ok) return found
  const task = found.value
  if (!TASK_TRANSITIONS[task.status].includes('cancelled'))
    return invalidState(`The task ${task.id} is ${task.status} already.`)
  const workspace = task.workspace === null ? undefined : batch.run.workspaces.get(task.workspace)
  const aborts = workspace !== undefined && !ended(workspace)
  if (aborts && !passed) {
    // W-HWY-03: it counts as an abort, so all of it waits.
    const place = { caller: caller.id, workspace: workspace.id, task: task.id }
    const waits = abortGated(batch, { type: 'workspace_abort', ...place, reason: 'aborted_by_coordinator' })
    if (waits) return waits
  }
  writeTaskStatus(batch, task, 'cancelled', actorOf(caller))
  if (aborts) writeFailure(batch, workspace, { ...byOperation('aborted_by_coordinator', caller), sparesTask: true })
  return ok({ outcome: 'applied' })
}

/** W-TASK-03: edges, graph and parent never change, and no task is ever removed. */
export function decideChangeTask(batch: Batch, caller: Workspace, id: unknown): Result<never> {
  const task = taskOf(batch, caller, 'change_task', id)
  if (!task.ok) return task
  return batch.deny(caller, {
    capability: 'set:task',
    action: 'change_task',
    target: task.value.id,
    reason: 'frozen',
    code: 'immutable',
    message: `The task ${task.value.id} cannot be changed or removed; cancel it and add another.`,
  })
}

function taskOf(batch: Batch, caller: Workspace, action: string, id: unknown): Result<Task> {
  const task = batch.run.tasks.get(id as TaskId)
  const refused: Refusal | undefined = authorizeTask(batch, caller, action, task)
  return refused ?? (task ? ok(task) : notFound('task', id))
}
