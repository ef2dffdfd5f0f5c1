// Who may act on which task (W-TASK-19, A-46): the root on all, a delegate on the subtasks of the task that it
// executes.
import type { TaskId } from '@parley/core'
import { type Batch, clip } from '../batch.ts'
import type { Refusal, RefusalCode } from '../refusal.ts'
import type { Run } from '../run/run.ts'
import { seesId } from '../workspace/queries.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'
import type { Task } from './task.ts'

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
