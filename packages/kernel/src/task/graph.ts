// Readiness (W-TASK-08, -14), closures over a graph, and who may act on which task (W-TASK-19, A-46).
import type { GraphId, TaskId, WorkspaceId } from '@parley/core'
import { TASK_PRIORITIES } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import type { Refusal, RefusalCode } from '../refusal.ts'
import type { Run } from '../run/run.ts'
import { isRoot, sees, type Workspace } from '../workspace/workspace.ts'
import type { Task } from './task.ts'

export function tasksOf(run: Run, graph: GraphId): readonly Task[] {
  return (run.graphs.get(graph)?.tasks ?? []).flatMap(id => run.tasks.get(id) ?? [])
}

export function isReady(run: Run, task: Task): boolean {
  return task.dependsOn.every(id => {
    const status = run.tasks.get(id)?.status
    return status === 'completed' || status === 'integrated'
  })
}

export function isDispatchable(run: Run, task: Task): boolean {
  return task.status === 'pending' && isReady(run, task)
}

export function dispatchable(run: Run, graph: GraphId): readonly Task[] {
  return tasksOf(run, graph)
    .filter(task => isDispatchable(run, task))
    .toSorted((one, other) => TASK_PRIORITIES.indexOf(other.priority) - TASK_PRIORITIES.indexOf(one.priority))
}

/** Drafts and pending tasks that depend, directly or not, on one that is cancelled: `depends_on` never changes. */
export function unresolvable(run: Run, graph: GraphId): readonly Task[] {
  const tasks = tasksOf(run, graph)
  const cancelled = tasks.filter(task => task.status === 'cancelled')
  const below = closure(cancelled, dependentsIn(tasks))
  return tasks.filter(task => below.has(task) && (task.status === 'draft' || task.status === 'pending'))
}

export function transitiveDependencies(run: Run, task: Task): readonly Task[] {
  return [...closure([task], each => each.dependsOn.flatMap(id => run.tasks.get(id) ?? []))]
}

export function transitiveDependents(run: Run, task: Task): readonly Task[] {
  return [...closure([task], dependentsIn(tasksOf(run, task.graph)))]
}

/** W-TOPO-GRAPH-05: tasks that rest on none. */
export function sources(tasks: readonly Task[]): readonly Task[] {
  return tasks.filter(task => task.dependsOn.length === 0)
}

export function sinks(tasks: readonly Task[]): readonly Task[] {
  const dependents = dependentsIn(tasks)
  return tasks.filter(task => dependents(task).length === 0)
}

type Linked = Pick<Task, 'id' | 'dependsOn'>

/** The edges the other way round, read off once: a closure over a large graph asks for them again and again. */
function dependentsIn<T extends Linked>(tasks: readonly T[]): (task: T) => readonly T[] {
  const edges = tasks.flatMap(task => task.dependsOn.map(id => ({ id, task })))
  const dependents = Map.groupBy(edges, ({ id }) => id)
  return ({ id }) => (dependents.get(id) ?? []).map(({ task }) => task)
}

function closure(start: readonly Task[], next: (task: Task) => readonly Task[]): ReadonlySet<Task> {
  const found = new Set(start.flatMap(next))
  for (const task of found) for (const each of next(task)) found.add(each)
  return found
}

/** The tasks in an order in which each stands behind what it depends on; undefined if they go round in a circle. */
export function dependencyOrder<T extends Linked>(tasks: readonly T[]): readonly T[] | undefined {
  const byId = new Map(tasks.map(task => [task.id, task]))
  const open = new Map(tasks.map(task => [task, task.dependsOn.filter(id => byId.has(id)).length]))
  const dependents = dependentsIn(tasks)
  const order = tasks.filter(task => open.get(task) === 0)
  for (const task of order) {
    for (const dependent of dependents(task)) {
      const left = (open.get(dependent) ?? 0) - 1
      open.set(dependent, left)
      if (left === 0) order.push(dependent)
    }
  }
  return order.length === tasks.length ? order : undefined
}

/** Undefined if permitted. `below`: the action is on subtasks of `task`. */
export function authorizeTask(
  batch: Batch,
  caller: Workspace,
  action: string,
  task: Task | undefined,
  below = false,
): Refusal | undefined {
  if (isRoot(caller)) return undefined
  const own = task?.id === caller.task && !below
  const denied = (message: string, code?: RefusalCode) =>
    batch.deny(caller, {
      capability: 'operation:task',
      action: clip(action, 64),
      ...(task && { target: task.id }),
      reason: 'permission_denied',
      message,
      ...(code && { code }),
    })
  if (!caller.delegate || !task || own || !executes(batch.run, caller, task))
    return denied(`The ${caller.role} in ${caller.id} may not do this to tasks: ${action}.`)
  if (caller.status === 'active') return undefined
  const message = `The delegate ${caller.id} is ${caller.status}; it acts only while it is active.`
  return denied(message, 'invalid_state')
}

function executes(run: Run, caller: Workspace, task: Task): boolean {
  for (let each: Task | undefined = task; each; each = run.tasks.get(each.parentTask as TaskId))
    if (each.id === caller.task) return true
  return false
}

/** §3.4: an agent sees the tasks that workspaces in its sight work on or worked on, and what was made of those. */
export function seesTask(run: Run, viewer: Workspace, task: Task): boolean {
  if (isRoot(viewer)) return true
  for (let each: Task | undefined = task; each; each = run.tasks.get(each.parentTask as TaskId))
    if (each.history.some(id => seesId(run, viewer, id))) return true
  return false
}

/** W-TASK-07: a delegate binds subtasks of its own task to its own children. */
export function mayBind(batch: Batch, caller: Workspace, parent: Workspace, task: Task): boolean {
  if (isRoot(caller)) return true
  return parent === caller && task.id !== caller.task && executes(batch.run, caller, task)
}

/** Replay may have left the workspace out. */
function seesId(run: Run, viewer: Workspace, id: WorkspaceId): boolean {
  const workspace = run.workspaces.get(id)
  return workspace !== undefined && sees(viewer, workspace)
}
