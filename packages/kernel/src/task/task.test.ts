import { type TaskId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { decide } from '../decide.ts'
import type { AgentHandle } from '../runtime/agent.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import {
  approved,
  bound,
  changed,
  delivered,
  dispatchableIn,
  draftsOf,
  emitted,
  graphOf,
  status,
  statusOf,
  taskOf,
  withDrafts,
} from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'

const created = (task: string, depends_on: string[], extra: object = {}): Row => [
  'task_created',
  'R',
  'system',
  { task_id: task, graph_id: 'G', parent_task: null, name: task, depends_on, priority: 'normal', ...extra },
]

const denied = (workspace: string, action: string, extra: object = {}): Row => [
  'capability_denied',
  workspace,
  'worker',
  { user_id: null, capability: 'operation:task', action, reason: 'permission_denied', ...extra },
]

const notDispatchable: Row = [
  'workspace_rejected',
  'R',
  'protocol',
  { reason: 'not_dispatchable', capacity_details: {} },
]

function bind(f: Fixture, task: TaskId): Promise<string> {
  return f.root.createWorkspace({ role: 'worker', task }).then(refused)
}

test('WP-056 a graph is submitted whole: dependencies first, every task a draft that the fallback approves', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  // Submitted last first, so that the order on the trail is the graph's own.
  const tasks = {
    E: { depends_on: ['B', 'C'], description: 'a secret plan', resource_estimate: { tokens: 10 } },
    B: { depends_on: ['A'] },
    C: { depends_on: ['A'], priority: 'urgent' as const },
    A: {},
  }
  const { graph, id } = await graphOf(f, tasks)
  await f.expectAdded([
    ['graph_created', 'R', 'system', { graph_id: 'G', root_task_id: 'E', task_count: 4 }],
    created('A', []),
    created('B', ['A']),
    created('C', ['A'], { priority: 'urgent' }),
    created('E', ['B', 'C']),
    ...['A', 'B', 'C', 'E'].flatMap(approved),
  ])
  expect(JSON.stringify(await f.run.entries())).not.toContain('a secret plan')

  expect(refused(await worker.submitGraph(draftsOf({ A: {} })))).toBe('permission_denied')
  expect(refused(await worker.addTasks(graph, draftsOf({ A: {} })))).toBe('permission_denied')
  expect(refused(await worker.retryTask(id('A')))).toBe('permission_denied')
  expect(refused(await worker.cancelTask(id('A')))).toBe('permission_denied')
  await f.expectAdded([
    denied('W', 'submit_graph'),
    denied('W', 'add_tasks'),
    denied('W', 'retry_task', { target: 'A' }),
    denied('W', 'cancel_task', { target: 'A' }),
  ])

  const view = unwrap(await f.root.graph(graph))
  expect(view).toMatchObject({ id: graph, root_task: id('E') })
  expect(view.tasks.map(task => task.name)).toEqual(['A', 'B', 'C', 'E'])
  const times = [view.timestamp, ...view.tasks.map(task => task.timestamp)]
  expect(times).toEqual([...new Set(times)].toSorted())
  expect(await taskOf(f, id('E'))).toMatchObject({
    graph,
    name: 'E',
    description: 'a secret plan',
    depends_on: [id('B'), id('C')],
    parent_task: null,
    priority: 'normal',
    status: 'pending',
    workspace_ref: null,
    workspace_history: [],
    checkpoint_ref: null,
    resource_estimate: { tokens: 10 },
  })
})

test.each([
  ['a cycle', () => ({ C: { depends_on: ['D'] }, D: { depends_on: ['C'] } }), 'cycle'],
  ['a self-dependency', () => ({ C: { depends_on: ['C'] } }), 'cycle'],
  ['a cycle of parents', () => ({ C: { parent_task: 'D' }, D: { parent_task: 'C' } }), 'cycle'],
  ['an unknown dependency', () => ({ C: {}, D: { depends_on: ['nothing'] } }), 'unknown_dependency'],
  ['a dependency in another graph', (other: string) => ({ C: { depends_on: [other] } }), 'cross_graph'],
  ['a parent in another graph', (other: string) => ({ C: { parent_task: other } }), 'cross_graph'],
])('WP-057 %s is refused and nothing of the submission is created', async (_fault, tasks, code) => {
  const f = await fixture()
  const one = await graphOf(f, { A: {}, B: { depends_on: ['A'] } })
  const two = await graphOf(f, { A2: {} }, { name: 'G2' })
  await f.mark()
  const faulty = draftsOf(tasks(two.id('A2')))
  expect(refused(await f.root.addTasks(one.graph, faulty))).toBe(code)
  expect(refused(await f.root.submitGraph(faulty))).toBe(code)
  await f.expectAdded([])
  expect(await f.run.read(run => [run.tasks.size, run.graphs.size, run.staged.size])).toEqual([3, 2, 0])
})

test('WP-057 edges never change and no task is ever removed', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: { depends_on: ['A'] } })
  const before = unwrap(await f.root.graph(graph))
  await f.mark()
  expect(refused(await f.root.changeTask(id('B')))).toBe('immutable(frozen)')
  expect(refused(await f.root.removeTask(id('B')))).toBe('immutable(frozen)')
  expect(refused(await f.root.removeTask('task_unknown' as TaskId))).toBe('not_found')
  f.name(id('B'), 'B')
  const denied = denial('R', 'system', 'set:task', 'frozen', 'B', 'change_task')
  await f.expectAdded([denied, denied])
  expect(unwrap(await f.root.graph(graph))).toEqual(before)
})

test('WP-059 only a pending task whose dependencies are done can be bound, and only once', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: { depends_on: ['A'] }, X: {} })
  await f.mark()
  expect(await bind(f, id('B'))).toBe('rejected(not_dispatchable)')
  await f.expectAdded([notDispatchable])

  const gated = await withDrafts(f, [id('X')])
  const context = { now: f.runtime.clock.take(), ids: f.ids }
  const draft = { role: 'worker', task: id('X') }
  const answer = decide(gated, { type: 'create_workspace', caller: f.root.workspace, draft }, context)
  expect(refused(answer.result)).toBe('rejected(not_dispatchable)')
  expect(answer.entries.map(({ event_type, body }) => [event_type, body])).toEqual([
    ['workspace_rejected', { reason: 'not_dispatchable', capacity_details: {} }],
  ])

  await f.workspace('W', { task: id('A') })
  await f.expectAmong([
    ['workspace_created', 'W', 'system', { task_ref: 'A', priority: 'normal' }],
    ['port_right_created', 'W', 'system', { right_type: 'receive' }],
    ['port_right_created', 'R', 'system', { right_type: 'send' }],
    ['port_right_created', 'W', 'system', { right_type: 'send' }],
    ['task_assigned', 'R', 'system', { task_id: 'A', workspace_id: 'W', attempt_number: 1 }],
    status('A', 'pending', 'assigned', 'W', 'system'),
    ['signal_emitted', 'W', 'worker', { type: 'ready' }],
  ])
  expect(await taskOf(f, id('A'))).toMatchObject({
    status: 'assigned',
    workspace_ref: f.id('W'),
    workspace_history: [f.id('W')],
  })
  expect(unwrap(await f.agent('W').look()).task).toBe(id('A'))

  expect(await bind(f, id('A'))).toBe('rejected(not_dispatchable)')
  await f.expectAdded([notDispatchable])
  expect(await dispatchableIn(f, graph)).toEqual(['X'])
})

test('WP-059 what can be bound is listed by priority, then in order of creation', async () => {
  const f = await fixture()
  const { graph } = await graphOf(f, {
    N1: {},
    E1: { priority: 'elevated' },
    U1: { priority: 'urgent' },
    N2: { priority: 'normal' },
    U2: { priority: 'urgent' },
    E2: { priority: 'elevated' },
    U3: { priority: 'urgent', depends_on: ['N1'] },
  })
  expect(await dispatchableIn(f, graph)).toEqual(['U1', 'U2', 'E1', 'E2', 'N1', 'N2'])
})

test('W-TASK-06 the directive of a bound workspace is the task itself', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: { description: 'build the bridge' } })
  const worker = await f.workspace('W', { task: id('A') })
  await f.settle()
  const directive = unwrap(await worker.consume())
  expect(directive).toMatchObject({
    type: 'directive',
    payload: { content: 'build the bridge', attachments: [{ kind: 'task_ref', id: id('A') }] },
  })
  expect(unwrap(await worker.look()).directive).toBe(directive?.id)
})

test.each([
  ['normal', 'normal'],
  ['elevated', 'interactive'],
  ['urgent', 'critical'],
] as const)(
  'W-TASK-18 a workspace for a task of priority %s is %s unless its creator says otherwise',
  async (priority, inherited) => {
    const f = await fixture()
    const { id } = await graphOf(f, { A: { priority }, B: { priority } })
    await f.mark()
    await f.workspace('W', { task: id('A') })
    await f.workspace('W2', { task: id('B'), priority: 'background' })
    await f.expectAmong([
      ['workspace_created', 'W', 'system', { priority: inherited }],
      ['workspace_created', 'W2', 'system', { priority: 'background' }],
    ])
  },
)

test('WP-060 a task follows the signals of its workspace, and completing it readies what depends on it', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: { depends_on: ['A'] } })
  const worker = await bound(f, 'W', id('A'))
  await f.mark()
  unwrap(await worker.started())
  await f.expectAdded([
    emitted('sig1', 'W', 'started', 'worker'),
    status('A', 'assigned', 'in_progress', 'W'),
    delivered('sig1', 'W', 'R'),
  ])
  // A second one is on record and changes nothing.
  expect(unwrap(await worker.started()).outcome).toBe('absorbed')
  await f.expectAdded([emitted('sig2', 'W', 'started', 'worker'), delivered('sig2', 'W', 'R')])

  const { checkpoint } = unwrap(await f.final('W'))
  f.name(checkpoint, 'K')
  expect(await dispatchableIn(f, graph)).toEqual([])
  await f.mark()
  unwrap(await worker.complete())
  await f.expectAdded([...completion('sig3', 'in_progress')])
  expect(await dispatchableIn(f, graph)).toEqual(['B'])
  expect(await taskOf(f, id('A'))).toMatchObject({ checkpoint_ref: checkpoint, workspace_ref: f.id('W') })
})

test('WP-060 a task that never heard started is taken through in_progress by complete', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: { depends_on: ['A'] } })
  const worker = await bound(f, 'W', id('A'))
  f.name(unwrap(await f.final('W')).checkpoint, 'K')
  await f.mark()
  unwrap(await worker.complete())
  await f.expectAdded([...completion('sig1', 'assigned')])
  expect(await dispatchableIn(f, graph)).toEqual(['B'])
})

function completion(signal: string, from: 'assigned' | 'in_progress'): readonly Row[] {
  return [
    emitted(signal, 'W', 'complete', 'worker'),
    changed('W', 'active', 'integrating', 'agent_complete', 'protocol', 'worker'),
    ...(from === 'assigned' ? [status('A', 'assigned', 'in_progress', 'W')] : []),
    status('A', 'in_progress', 'completed', 'W'),
    ['task_completed', 'R', 'protocol', { task_id: 'A', workspace_id: 'W', checkpoint_id: 'K' }],
    delivered(signal, 'W', 'R'),
  ]
}

test('W-TASK-04 a task stays assigned when its agent says started before the workspace is active', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {} })
  const worker: AgentHandle = await f.workspace('W', { task: id('A'), dispatch: false })
  await f.mark()
  // Still idle: `started` is recorded, and neither the workspace nor the task moves.
  expect(unwrap(await worker.started()).outcome).toBe('absorbed')
  await f.expectAdded([emitted('sig1', 'W', 'started', 'worker'), delivered('sig1', 'W', 'R')])
  expect([await f.state('W'), await statusOf(f, id('A'))]).toEqual(['idle', 'assigned'])
})
