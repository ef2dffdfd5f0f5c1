import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { dispatchableIn, draftsOf, graphOf, status } from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'
import { transitiveDependents } from './graph.ts'

const created = (task: string, extra: object, actor = 'system'): Row => [
  'task_created',
  'R',
  actor,
  {
    task_id: task,
    graph_id: 'G',
    parent_task: null,
    name: task,
    depends_on: [],
    priority: 'normal',
    ...extra,
  },
]

test('W-TASK-07 a delegate binds, retries and cancels subtasks of its own task, and no other task', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: {} })
  const delegate = await f.worker('D', { task: id('B'), directive: null, delegate: true })
  const parts = await graphOf(f, { B1: { parent_task: id('B') } }, { into: graph, by: delegate })
  await f.mark()
  expect(refused(await delegate.createWorkspace({ role: 'worker', task: id('A') }))).toBe('permission_denied')
  const denied = (action: string, target?: string) =>
    denial('D', 'worker', 'operation:task', 'permission_denied', target, action)
  await f.expectAdded([denied('create_workspace')])
  await f.workspace('C', { task: parts.id('B1') }, delegate)
  await f.expectAmong([
    ['workspace_created', 'C', 'worker', { parent: 'D', task_ref: 'B1' }],
    ['task_assigned', 'R', 'worker', { task_id: 'B1', workspace_id: 'C', attempt_number: 1 }],
    status('B1', 'pending', 'assigned', 'C', 'worker'),
  ])
  await f.mark()
  // Its own task is the root's affair.
  expect(refused(await delegate.cancelTask(id('B')))).toBe('permission_denied')
  expect(refused(await delegate.retryTask(id('B')))).toBe('permission_denied')
  await f.expectAdded([denied('cancel_task', 'B'), denied('retry_task', 'B')])
  unwrap(await delegate.cancelTask(parts.id('B1')))
  await f.expectAmong([
    status('B1', 'assigned', 'cancelled', 'C', 'worker'),
    ['workspace_state_changed', 'C', 'worker', { to_state: 'failed', initiator: 'worker' }],
  ])
})

test('W-TASK-02 a graph of a thousand tasks is one submission, and every query over it stays quick', async () => {
  const f = await fixture()
  const name = (number: number) => `T${number}`
  // A chain, with one task at the end that rests on all of it.
  const tasks = Object.fromEntries(
    Array.from({ length: 999 }, (_, at) => [name(at), at === 0 ? {} : { depends_on: [name(at - 1)] }]),
  )
  const all = Array.from({ length: 999 }, (_, at) => name(at))
  await f.mark()
  const { graph, id } = await graphOf(f, { ...tasks, end: { depends_on: all } })
  const added = await f.added()
  expect(added.map(entry => entry.event_type)).toEqual([
    'graph_created',
    ...Array.from({ length: 1000 }, () => 'task_created'),
    ...Array.from({ length: 1000 }, () => ['task_approved', 'task_status_changed']).flat(),
  ])
  expect(added[0]!.body).toMatchObject({ task_count: 1000 })
  expect(await dispatchableIn(f, graph)).toEqual([name(0)])
  // One after the other, each with a notice about all that now hangs: a walk over all edges for each of them would take
  // minutes.
  for (const task of all.slice(0, 300)) unwrap(await f.root.cancelTask(id(task)))
  expect(unwrap(await f.root.unresolvable(graph))).toHaveLength(700)
  expect(await f.run.read(run => transitiveDependents(run, run.tasks.get(id('T500'))!))).toHaveLength(499)
  await f.restart()
  expect(unwrap(await f.root.graph(graph)).tasks).toHaveLength(1000)
  expect(unwrap(await f.root.unresolvable(graph))).toHaveLength(700)
})

test('W-TASK-03 a dependency that is named twice counts once', async () => {
  const f = await fixture()
  await f.mark()
  await graphOf(f, { B: { depends_on: ['A', 'A'] }, A: {} })
  await f.expectAmong([created('B', { depends_on: ['A'] })])
})

test.each([
  ['no tasks', []],
  ['two tasks with one key', [...draftsOf({ A: {} }), ...draftsOf({ A: {} })]],
  ['a task without a name', [{ description: 'x' }]],
  ['an id that the caller chose', [{ name: 'A', description: 'x', id: 'task_mine' }]],
  ['an unknown priority', [{ name: 'A', description: 'x', priority: 'high' }]],
  ['a negative estimate', [{ name: 'A', description: 'x', resource_estimate: { tokens: -1 } }]],
])('W-TASK-01 a submission with %s is refused without an entry', async (_fault, tasks) => {
  const f = await fixture()
  expect(refused(await f.root.submitGraph(tasks as never))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(await f.run.read(run => run.graphs.size)).toBe(0)
})

test('W-TASK-08 a task of one run does not exist in another', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {} })
  const other = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await other.coordinator.started())
  expect(refused(await other.coordinator.task(id('A')))).toBe('not_found')
  const binding = await other.coordinator.createWorkspace({ role: 'worker', task: id('A') })
  expect(refused(binding)).toBe('rejected(dangling_reference)')
  expect((await other.entries()).at(-1)).toMatchObject({
    event_type: 'workspace_rejected',
    body: { reason: 'dangling_reference' },
  })
})
