// Task events (wacp-mechanisms 1.5.6). All are filed under the root; descriptions stay off the trail (W-TASK-20).
import { anyone, event, initiator, protocol, root } from './definition.ts'
import { Count, Id, listOf, nullable, oneOf, optional, PositiveInteger, TaskName, Text } from './fields.ts'
import * as names from './names.ts'

const Status = oneOf(names.TASK_STATUSES)

export const taskEvents = [
  event('graph_created', root, ['system'], 'E', 1, { graph_id: Id, root_task_id: Id, task_count: Count }),
  event('task_created', root, ['system', 'role'], 'E', 1, {
    task_id: Id,
    graph_id: Id,
    parent_task: optional(nullable(Id)),
    name: TaskName,
    depends_on: listOf(Id),
    priority: oneOf(names.TASK_PRIORITIES),
  }),
  event('task_approved', root, ['user', 'system', 'fallback'], 'E', 1, {
    task_id: Id,
    approval_source: oneOf(names.APPROVAL_SOURCES),
  }),
  event('task_assigned', root, initiator, 'E', 1, {
    task_id: Id,
    workspace_id: Id,
    attempt_number: PositiveInteger,
  }),
  event('task_status_changed', root, anyone, 'E', 1, {
    task_id: Id,
    from_status: Status,
    to_status: Status,
    workspace_id: optional(nullable(Id)),
  }),
  event('task_completed', root, protocol, 'E', 1, { task_id: Id, workspace_id: Id, checkpoint_id: Id }),
  event('task_failed', root, protocol, 'E', 1, {
    task_id: Id,
    workspace_id: Id,
    attempt_number: PositiveInteger,
    failure_reason: Text,
  }),
] as const
