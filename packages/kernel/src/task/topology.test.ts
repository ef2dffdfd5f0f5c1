// Task graphs that grow while they run, and the questions about them (W-TASK-14, -15, W-TOPO-GRAPH-04, -05).
import { type GraphId, type Result, type TaskId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { TaskView } from '../runtime/view.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { bound, finished, graphOf, statusOf, taskOf } from '../testing/tasks.ts'

const names = (result: Result<readonly TaskView[]>) => unwrap(result).map(task => task.name)

/** Every draft waits for a human, for ever. */
const HELD = { gates: { task_approval: true }, gate_overrides: { task_approval: { timeout: null } } }

const created = (task_id: string, parent_task: string, depends_on: string[] = []): Row => [
  'task_created',
  'R',
  'system',
  { task_id, graph_id: 'G', parent_task, name: task_id, depends_on, priority: 'normal' },
]

test('WM-096 a task is decomposed while its graph runs, and what rests on what is known over any distance', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, {
    A: {},
    B: { depends_on: ['A'] },
    C: { depends_on: ['A'] },
    D: { depends_on: ['B', 'C'] },
  })
  await finished(f, 'WA', id('A'))
  await bound(f, 'WB', id('B'))
  unwrap(await f.agent('WB').started())
  await f.mark()
  const parts = await graphOf(
    f,
    { B1: { parent_task: id('B') }, B2: { parent_task: id('B'), depends_on: ['B1', id('A')] } },
    { into: graph },
  )
  await f.expectAmong([created('B1', 'B'), created('B2', 'B', ['B1', 'A'])])
  for (const part of ['B1', 'B2'])
    expect(await taskOf(f, parts.id(part))).toMatchObject({ graph, parent_task: id('B') })
  expect(refused(await f.root.changeTask(parts.id('B1')))).toBe('immutable(frozen)')
  await finished(f, 'W1', parts.id('B1'))
  await finished(f, 'W2', parts.id('B2'))
  expect(await statusOf(f, id('B'))).toBe('in_progress')

  const { topology } = f.root
  expect(names(await topology.dependencies(id('D')))).toEqual(expect.arrayContaining(['A', 'B', 'C']))
  expect(names(await topology.dependencies(parts.id('B2')))).toEqual(['B1', 'A'])
  expect(names(await topology.dependencies(id('A')))).toEqual([])
  expect(names(await topology.dependents(id('A'))).toSorted()).toEqual(['B', 'B2', 'C', 'D'])
  expect(names(await topology.dependents(id('D')))).toEqual([])
  expect(names(await topology.sources(graph))).toEqual(['A', 'B1'])
  expect(names(await topology.sinks(graph))).toEqual(['D', 'B2'])
  const order = names(await topology.order(graph))
  expect(order.toSorted()).toEqual(['A', 'B', 'B1', 'B2', 'C', 'D'])
  for (const task of unwrap(await f.root.graph(graph)).tasks)
    for (const dependency of task.depends_on)
      expect(order.indexOf((await taskOf(f, dependency)).name)).toBeLessThan(order.indexOf(task.name))

  for (const query of ['dependencies', 'dependents'] as const)
    expect(refused(await topology[query]('task_none' as TaskId))).toBe('not_found')
  for (const query of ['sources', 'sinks', 'order'] as const)
    expect(refused(await topology[query]('graph_none' as GraphId))).toBe('not_found')
})

test('WP-064 subtasks that come while a graph runs are drafts of the same graph, each behind a gate of its own', async () => {
  const f = await fixture({ run: { highway: HELD } })
  const user = f.runtime.user('ux')
  const { graph, id } = await graphOf(f, { B: {} })
  const gates = async () => f.run.read(run => [...run.gates.values()].map(gate => gate.id))
  for (const gate of await gates()) unwrap(await user.approve(f.run.id, gate))
  const delegate = await f.worker('D', { task: id('B'), directive: null, delegate: true })
  await f.mark()
  const parts = await graphOf(f, { B1: { parent_task: id('B') } }, { into: graph })
  const own = await graphOf(f, { B2: { parent_task: id('B') } }, { into: graph, by: delegate })
  expect([await statusOf(f, parts.id('B1')), await statusOf(f, own.id('B2'))]).toEqual(['draft', 'draft'])
  await f.expectAmong([
    created('B1', 'B'),
    ['gate_triggered', null, 'protocol', { gate_type: 'task_approval', task_ref: 'B1', graph_ref: 'G' }],
    ['task_created', 'R', 'worker', { task_id: 'B2', graph_id: 'G', parent_task: 'B' }],
    ['gate_triggered', null, 'protocol', { gate_type: 'task_approval', task_ref: 'B2', graph_ref: 'G' }],
  ])
  expect(await gates()).toHaveLength(2)
})
