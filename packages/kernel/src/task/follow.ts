// How a task follows its workspace (W-TASK-04 rows 6 to 11 and 14, W-TASK-10, -11, -16).
import type { TaskId } from '@parley/core'
import { invariant } from '@parley/core'
import type { TaskStatus } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { rootOf } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { TASK_TRANSITIONS, type Task } from './task.ts'

export function writeTaskStatus(
  batch: Batch,
  task: Task,
  to: TaskStatus,
  actor: string,
  from: TaskStatus = task.status,
  workspace = task.workspace,
): void {
  invariant(TASK_TRANSITIONS[from].includes(to), 'only the transitions of W-TASK-04 exist')
  batch.add('task_status_changed', rootOf(batch.run), actor, {
    task_id: task.id,
    from_status: from,
    to_status: to,
    workspace_id: workspace,
  })
}

export function boundTask({ run }: Pick<Batch, 'run'>, workspace: Workspace): Task | undefined {
  const task = run.tasks.get(workspace.task as TaskId)
  return task?.workspace === workspace.id ? task : undefined
}

/** Row 6: `started`, and the workspace is active. */
export function writeTaskStarted(batch: Batch, workspace: Workspace): boolean {
  const task = boundTask(batch, workspace)
  if (task?.status !== 'assigned') return false
  writeTaskStatus(batch, task, 'in_progress', 'protocol')
  return true
}

/** Rows 14 and 8. Without a final checkpoint the task stays `in_progress` (W-TASK-10). */
export function writeTaskCompleted(batch: Batch, workspace: Workspace): void {
  const task = boundTask(batch, workspace)
  if (task?.status !== 'assigned' && task?.status !== 'in_progress') return
  if (task.status === 'assigned') writeTaskStatus(batch, task, 'in_progress', 'protocol')
  if (!workspace.deliverable) return
  writeTaskStatus(batch, task, 'completed', 'protocol', 'in_progress')
  batch.add('task_completed', rootOf(batch.run), 'protocol', {
    task_id: task.id,
    workspace_id: workspace.id,
    checkpoint_id: workspace.deliverable,
  })
}

/** Rows 7, 9 and 11: not applied to a task that is cancelled or integrated. */
export function writeTaskFailed(batch: Batch, workspace: Workspace, reason: string): void {
  const task = boundTask(batch, workspace)
  if (!task || !TASK_TRANSITIONS[task.status].includes('failed')) return
  writeTaskStatus(batch, task, 'failed', 'protocol')
  batch.add('task_failed', rootOf(batch.run), 'protocol', {
    task_id: task.id,
    workspace_id: workspace.id,
    attempt_number: task.history.length,
    failure_reason: clip(reason, 8192),
  })
}

/** Row 10. */
export function writeTaskIntegrated(batch: Batch, workspace: Workspace): void {
  const task = boundTask(batch, workspace)
  if (task?.status === 'completed') writeTaskStatus(batch, task, 'integrated', 'protocol')
}
