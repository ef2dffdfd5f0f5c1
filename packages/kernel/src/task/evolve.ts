// What task entries do to the state.
import { type CheckpointId, type GraphId, invariant, type TaskId, type WorkspaceId } from '@parley/core'
import { claim } from '../objects.ts'
import type { Folds, Run } from '../run/run.ts'
import type { GraphCause, Task, TaskText } from './task.ts'

export const taskFolds: Folds = {
  graph_created(run, body, entry) {
    const id = body.graph_id as GraphId
    const cause = run.staged.get(id)?.kind === 'graph' ? claim<GraphCause>(run, id, 'graph') : undefined
    run.graphs.set(id, {
      id,
      originator: cause?.originator,
      rootTask: body.root_task_id as TaskId,
      timestamp: entry.timestamp,
      tasks: [],
    })
  },
  task_created(run, body, entry) {
    const id = body.task_id as TaskId
    const graph = run.graphs.get(body.graph_id as GraphId)
    invariant(graph, 'a task is added to a graph that exists')
    run.tasks.set(id, {
      id,
      graph: graph.id,
      name: body.name,
      priority: body.priority,
      dependsOn: body.depends_on as TaskId[],
      parentTask: (body.parent_task ?? null) as TaskId | null,
      text: claim<TaskText>(run, id, 'task'),
      timestamp: entry.timestamp,
      status: 'draft',
      workspace: null,
      history: [],
      checkpoint: null,
    })
    graph.tasks.push(id)
  },
  task_assigned(run, body) {
    const task = taskOf(run, body.task_id)
    task.workspace = body.workspace_id as WorkspaceId
    task.history.push(task.workspace)
  },
  task_status_changed(run, body) {
    const task = taskOf(run, body.task_id)
    task.status = body.to_status
    // the binding ends with these; `failed` and `completed` keep it.
    if (body.to_status === 'pending') task.checkpoint = null
    if (body.to_status === 'pending' || body.to_status === 'integrated' || body.to_status === 'cancelled')
      task.workspace = null
  },
  task_completed(run, body) {
    taskOf(run, body.task_id).checkpoint = body.checkpoint_id as CheckpointId
  },
}

function taskOf(run: Run, id: string): Task {
  const task = run.tasks.get(id as TaskId)
  invariant(task, 'entries name tasks that exist')
  return task
}
