// Task graphs: submission, approval, attempts (wacp-primitives 6).
import { deepStrictEqual } from 'node:assert'
import { autoApproved, denied, taskStatus } from '../../entry-rows.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-056 a graph is created with its tasks, dependencies first, and without a highway they are approved at once',
  { level: 1, rules: ['W-TASK-01', 'W-TASK-02', 'W-TASK-05', 'W-TASK-19', 'W-TASK-20'] },
  async kit => {
    await kit.graph({
      E: { depends_on: ['B', 'C'] },
      B: { depends_on: ['A'] },
      A: {},
      C: { depends_on: ['A'] },
    })
    const added = await kit.expectAmong([
      ['graph_created', 'R', 'system', { graph_id: 'G', task_count: 4 }],
      ['task_created', 'R', 'system', { task_id: 'A', graph_id: 'G', name: 'A', depends_on: [] }],
      ['task_created', 'R', 'system', { task_id: 'E', graph_id: 'G', depends_on: ['B', 'C'] }],
      ...autoApproved('A'),
    ])
    const created = added.filter(({ event_type }) => event_type === 'task_created').map(({ body }) => String(body.name))
    deepStrictEqual(created.toSorted(), ['A', 'B', 'C', 'E'])
    deepStrictEqual([created[0], created[3]], ['A', 'E'])
    const approvals = created.flatMap((name): readonly Row[] => autoApproved(name))
    deepStrictEqual(added.length, 1 + created.length + approvals.length)
    for (const name of created) deepStrictEqual((await kit.task(name)).status, 'pending')
    deepStrictEqual(await kit.dispatchable(), ['A'])
    await kit.worker('W')
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'W', 'submit_graph', { tasks: [{ name: 'X', description: 'x' }] })
    await kit.expectAdded([denied('W', 'worker', 'operation:task')])
  },
)

scenario(
  'WP-061 a task whose workspace fails can be tried again, and remembers both',
  { level: 1, rules: ['W-TASK-11', 'W-TASK-12', 'W-TASK-06'] },
  async kit => {
    await kit.graph({ A: {}, P: {} })
    await kit.bound('W', 'A')
    await kit.emit('W', 'started')
    deepStrictEqual((await kit.task('A')).status, 'in_progress')
    await kit.mark()
    await kit.emit('W', 'failed', { reason: 'broken' })
    await kit.expectAmong([
      ['workspace_state_changed', 'W', 'protocol', { to_state: 'failed', trigger: 'agent_failed', reason: 'broken' }],
      taskStatus('A', 'in_progress', 'failed'),
      [
        'task_failed',
        'R',
        'protocol',
        { task_id: 'A', workspace_id: 'W', attempt_number: 1, failure_reason: 'broken' },
      ],
    ])
    await kit.do('R', 'retry_task', { task: 'A' })
    await kit.expectAdded([taskStatus('A', 'failed', 'pending', 'system')])
    deepStrictEqual((await kit.task('A')).workspace_ref, null)
    await kit.bound('W2', 'A')
    await kit.expectAmong([
      ['task_assigned', 'R', 'system', { task_id: 'A', workspace_id: 'W2', attempt_number: 2 }],
      taskStatus('A', 'pending', 'assigned', 'system'),
    ])
    deepStrictEqual((await kit.task('A')).workspace_history, [kit.id('W'), kit.id('W2')])
    await kit.refuses('INVALID_STATE', 'R', 'retry_task', { task: 'P' })
    await kit.expectAdded([])
  },
)
