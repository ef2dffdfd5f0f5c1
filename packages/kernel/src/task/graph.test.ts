import { type GraphId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import {
  approved,
  delivered,
  dispatchableIn,
  draftsOf,
  emitted,
  finished,
  graphOf,
  status,
  statusOf,
  taskOf,
} from '../testing/tasks.ts'
import { dependencyOrder, tasksOf, transitiveDependencies, transitiveDependents } from './graph.ts'

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

test('WM-094 a graph is acyclic and closed, is created whole or not at all, and never shrinks', async () => {
  const f = await fixture()
  const { id: foreign } = await graphOf(f, { F: {} }, { name: 'other' })
  await f.mark()
  const cyclic = draftsOf({
    A: { depends_on: ['C'] },
    B: { depends_on: ['A'] },
    C: { depends_on: ['B'] },
    D: {},
  })
  expect(refused(await f.root.submitGraph(cyclic))).toBe('cycle')
  expect(refused(await f.root.submitGraph(draftsOf({ A: {}, B: { depends_on: [foreign('F')] } })))).toBe(
    'cross_graph',
  )
  await f.expectAdded([])

  const { graph, id } = await graphOf(f, { B: { depends_on: ['A'] }, A: {}, alone: {} })
  await f.expectAdded([
    ['graph_created', 'R', 'system', { graph_id: 'G', root_task_id: 'B', task_count: 3 }],
    created('A', {}),
    created('alone', {}),
    created('B', { depends_on: ['A'] }),
    ...['A', 'alone', 'B'].flatMap(approved),
  ])

  const closing = draftsOf({ X: { depends_on: [id('B'), 'Y'] }, Y: { depends_on: ['X'] } })
  expect(refused(await f.root.addTasks(graph, closing))).toBe('cycle')
  expect(refused(await f.root.addTasks('graph_unknown' as GraphId, draftsOf({ X: {} })))).toBe('not_found')
  await f.expectAdded([])

  unwrap(await f.root.cancelTask(id('A')))
  await f.expectAdded([status('A', 'pending', 'cancelled', null, 'system')])
  const listed = unwrap(await f.root.graph(graph)).tasks.map(task => [task.name, task.status])
  expect(listed).toEqual([
    ['A', 'cancelled'],
    ['alone', 'pending'],
    ['B', 'pending'],
  ])
})

test('WM-095 in a diamond each task becomes dispatchable when all it depends on are done, and not before', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, {
    A: {},
    B: { depends_on: ['A'] },
    C: { depends_on: ['A'] },
    D: { depends_on: ['B', 'C'] },
  })
  expect(await dispatchableIn(f, graph)).toEqual(['A'])
  await finished(f, 'WA', id('A'))
  expect(await dispatchableIn(f, graph)).toEqual(['B', 'C'])
  await f.mark()
  expect(refused(await f.root.createWorkspace({ role: 'worker', task: id('D') }))).toBe(
    'rejected(not_dispatchable)',
  )
  await f.expectAdded([
    ['workspace_rejected', 'R', 'protocol', { reason: 'not_dispatchable', capacity_details: {} }],
  ])
  await finished(f, 'WB', id('B'))
  expect(await dispatchableIn(f, graph)).toEqual(['C'])
  await finished(f, 'WC', id('C'))
  expect(await dispatchableIn(f, graph)).toEqual(['D'])

  for (const [workspace, task] of [
    ['WA', 'A'],
    ['WB', 'B'],
    ['WC', 'C'],
  ] as const) {
    expect(unwrap(await f.agent(workspace).look()).task).toBe(id(task))
    expect((await taskOf(f, id(task))).workspace_ref).toBe(f.id(workspace))
  }

  await f.mark()
  unwrap(await f.root.cancelTask(id('C')))
  const reason = 'aborted_by_coordinator'
  await f.expectAdded([
    status('C', 'completed', 'cancelled', 'WC', 'system'),
    emitted('sig1', 'WC', 'failed', 'system', { reason }),
    [
      'workspace_state_changed',
      'WC',
      'system',
      {
        workspace_id: 'WC',
        from_state: 'integrating',
        to_state: 'failed',
        trigger: reason,
        initiator: 'coordinator',
        reason,
      },
    ],
    delivered('sig1', 'WC', 'R'),
  ])
  expect(await dispatchableIn(f, graph)).toEqual([])
  expect((await taskOf(f, id('C'))).workspace_ref).toBeNull()
})

test('WP-064 a running graph takes subtasks, from the coordinator anywhere and from a delegate below its own task', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: {} })
  const delegate = await f.worker('D', { task: id('B'), directive: null, delegate: true })
  unwrap(await delegate.started())
  await f.mark()
  const parts = await graphOf(
    f,
    { B1: { parent_task: id('B') }, B2: { parent_task: id('B'), depends_on: ['B1'] } },
    { into: graph },
  )
  await f.expectAdded([
    created('B1', { parent_task: 'B' }),
    created('B2', { parent_task: 'B', depends_on: ['B1'] }),
    ...['B1', 'B2'].flatMap(approved),
  ])
  const circle = draftsOf({
    B4: { parent_task: id('B'), depends_on: [parts.id('B1'), 'B5'] },
    B5: { depends_on: ['B4'] },
  })
  expect(refused(await f.root.addTasks(graph, circle))).toBe('cycle')
  await f.expectAdded([])

  const own = await graphOf(
    f,
    { B3: { parent_task: parts.id('B2') }, B31: { parent_task: 'B3' } },
    { into: graph, by: delegate },
  )
  await f.expectAdded([
    created('B3', { parent_task: 'B2' }, 'worker'),
    created('B31', { parent_task: 'B3' }, 'worker'),
    ...['B3', 'B31'].flatMap(approved),
  ])
  expect((await taskOf(f, own.id('B31'))).graph).toBe(graph)

  const elsewhere = draftsOf({ A1: { parent_task: id('A') } })
  expect(refused(await delegate.addTasks(graph, elsewhere))).toBe('permission_denied')
  expect(refused(await delegate.addTasks(graph, draftsOf({ A2: {} })))).toBe('permission_denied')
  expect(refused(await delegate.submitGraph(draftsOf({ A3: {} })))).toBe('permission_denied')
  const denial = { user_id: null, capability: 'operation:task', reason: 'permission_denied' }
  await f.expectAdded([
    ['capability_denied', 'D', 'worker', { ...denial, action: 'add_tasks', target: 'A' }],
    ['capability_denied', 'D', 'worker', { ...denial, action: 'add_tasks' }],
    ['capability_denied', 'D', 'worker', { ...denial, action: 'submit_graph' }],
  ])

  await finished(f, 'W1', parts.id('B1'))
  await finished(f, 'W2', parts.id('B2'))
  expect([await statusOf(f, parts.id('B2')), await statusOf(f, id('B'))]).toEqual([
    'completed',
    'in_progress',
  ])
})

test('W-TASK-07 a delegate binds, retries and cancels subtasks of its own task, and no other task', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: {} })
  const delegate = await f.worker('D', { task: id('B'), directive: null, delegate: true })
  const parts = await graphOf(f, { B1: { parent_task: id('B') } }, { into: graph, by: delegate })
  await f.mark()
  expect(refused(await delegate.createWorkspace({ role: 'worker', task: id('A') }))).toBe('permission_denied')
  const denial = { user_id: null, capability: 'operation:task', action: 'create_workspace' }
  await f.expectAdded([['capability_denied', 'D', 'worker', { ...denial, reason: 'permission_denied' }]])
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
  const own = { ...denial, target: 'B', reason: 'permission_denied' }
  await f.expectAdded([
    ['capability_denied', 'D', 'worker', { ...own, action: 'cancel_task' }],
    ['capability_denied', 'D', 'worker', { ...own, action: 'retry_task' }],
  ])
  unwrap(await delegate.cancelTask(parts.id('B1')))
  await f.expectAmong([
    status('B1', 'assigned', 'cancelled', 'C', 'worker'),
    ['workspace_state_changed', 'C', 'worker', { to_state: 'failed', initiator: 'worker' }],
  ])
})

test('W-TASK-14 what a task rests on and what rests on it are known over any distance', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, {
    A: {},
    B: { depends_on: ['A'] },
    C: { depends_on: ['A'] },
    D: { depends_on: ['B', 'C'] },
    E: { depends_on: ['D'] },
    alone: {},
  })
  await graphOf(f, { late: { depends_on: [id('E'), id('alone')] } }, { into: graph })
  const names = await f.run.read(run => {
    const task = (name: string) => run.tasks.get(id(name))!
    const sorted = (tasks: readonly { readonly name: string }[]) => tasks.map(each => each.name).toSorted()
    return {
      above: sorted(transitiveDependencies(run, task('D'))),
      below: sorted(transitiveDependents(run, task('B'))),
      source: sorted(transitiveDependencies(run, task('A'))),
      lonely: sorted(transitiveDependents(run, task('alone'))),
      order: dependencyOrder(tasksOf(run, graph))?.map(each => each.name),
    }
  })
  expect(names).toMatchObject({
    above: ['A', 'B', 'C'],
    below: ['D', 'E', 'late'],
    source: [],
    lonely: ['late'],
  })
  const place = (name: string) => names.order!.indexOf(name)
  for (const task of unwrap(await f.root.graph(graph)).tasks)
    for (const dependency of task.depends_on)
      expect(place((await taskOf(f, dependency)).name)).toBeLessThan(place(task.name))
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
  // One after the other, each with a notice about all that now hangs: a walk over all edges for each of them would take minutes.
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
