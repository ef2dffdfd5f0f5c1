// Task graphs for tests: tasks by name, and the entries that tasks and integrations leave, as rows.
import { type GraphId, type TaskId, unwrap } from '@parley/core'
import type { TaskStatus } from '@parley/trail/events'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import type { TaskView } from '../runtime/handle/view.ts'
import type { TaskDraft } from '../task/task.ts'
import type { Fixture, Row } from './fixture.ts'

/** Tasks by their names, which are their keys too. */
export type Drafts = Readonly<Record<string, Partial<TaskDraft>>>

export interface NamedGraph {
  readonly graph: GraphId
  /** The id of a task by its name; the graph's own is named `G`. */
  readonly id: (name: string) => TaskId
}

export function draftsOf(tasks: Drafts): TaskDraft[] {
  return Object.entries(tasks).map(([key, draft]) => ({ key, name: key, description: `do ${key}`, ...draft }))
}

/** Submits a graph, or adds to one, and names what came of it. */
export async function graphOf(
  f: Fixture,
  tasks: Drafts,
  { name = 'G', into, by = f.root }: { name?: string; into?: GraphId; by?: AgentHandle } = {},
): Promise<NamedGraph> {
  const drafts = draftsOf(tasks)
  const made = unwrap(await (into === undefined ? by.submitGraph(drafts) : by.addTasks(into, drafts)))
  f.name(made.graph, name)
  const ids = new Map(drafts.map((draft, index) => [draft.name, made.tasks[index]!]))
  for (const [task, id] of ids) f.name(id, task)
  return { graph: made.graph, id: task => ids.get(task)! }
}

/** A worker that is bound to a task and has consumed its directive. */
export function bound(f: Fixture, workspace: string, task: TaskId): Promise<AgentHandle> {
  return f.worker(workspace, { task, directive: null })
}

/** The same, brought to the end: `integrating` with a final checkpoint, its task `completed`. */
export async function finished(f: Fixture, workspace: string, task: TaskId): Promise<AgentHandle> {
  const agent = await bound(f, workspace, task)
  await f.bring(workspace, 'integrating')
  return agent
}

export async function taskOf(f: Fixture, id: TaskId): Promise<TaskView> {
  return unwrap(await f.root.task(id))
}

export async function statusOf(f: Fixture, id: TaskId): Promise<TaskStatus> {
  return (await taskOf(f, id)).status
}

export async function dispatchableIn(f: Fixture, graph: GraphId): Promise<readonly string[]> {
  return unwrap(await f.root.dispatchable(graph)).map(task => task.name)
}

// Rows

export function status(
  task: string,
  from: TaskStatus,
  to: TaskStatus,
  workspace: string | null,
  actor = 'protocol',
): Row {
  const body = { task_id: task, from_status: from, to_status: to, workspace_id: workspace }
  return ['task_status_changed', 'R', actor, body]
}

/** How a task leaves `draft` where no gate is configured (W-TASK-05). */
export function approved(task: string): readonly Row[] {
  return [
    ['task_approved', 'R', 'fallback', { task_id: task, approval_source: 'timeout-auto-approve' }],
    status(task, 'draft', 'pending', null, 'fallback'),
  ]
}

export function failedTask(task: string, workspace: string, attempt: number, reason: string): Row {
  const body = { task_id: task, workspace_id: workspace, attempt_number: attempt, failure_reason: reason }
  return ['task_failed', 'R', 'protocol', body]
}

export function emitted(
  signal: string,
  from: string,
  type: string,
  actor: string,
  extra: { readonly reason?: string; readonly ref?: string; readonly mode?: string } = {},
): Row {
  return ['signal_emitted', from, actor, { signal_id: signal, from, type, ...extra }]
}

export function delivered(signal: string, from: string, to: string): Row {
  return ['signal_delivered', to, 'protocol', { signal_id: signal, from, delivered_to: to }]
}

/** A state change that the coordinator decided. */
export function decided(workspace: string, from: string, to: string, trigger: string): Row {
  return changed(workspace, from, to, trigger, 'system', 'coordinator')
}

export function changed(
  workspace: string,
  from: string,
  to: string,
  trigger: string,
  actor: string,
  initiator: string,
  reason = trigger,
): Row {
  const body = { workspace_id: workspace, from_state: from, to_state: to, trigger, initiator }
  return ['workspace_state_changed', workspace, actor, to === 'failed' ? { ...body, reason } : body]
}

export function started(source: string, checkpoint: string | null, target = 'R', actor = 'system'): Row {
  const body = { source, target, owner: 'ux', mode: 'normal', strategy: 'direct', checkpoint_ref: checkpoint }
  return ['integration_started', source, actor, body]
}

export function completed(source: string, target = 'R', actor = 'system'): Row {
  const body = { source, target, mode: 'normal', strategy: 'direct', result: 'success' }
  return ['integration_completed', source, actor, body]
}

export function aborted(source: string, reason: string, actor = 'system', target = 'R'): Row {
  return ['integration_aborted', source, actor, { source, target, mode: 'normal', reason }]
}
