import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { delivered, draftsOf, emitted, graphOf, statusOf } from '../testing/tasks.ts'

test.each([
  ['a cycle', () => ({ C: { depends_on: ['D'] }, D: { depends_on: ['C'] } }), 'cycle'],
  ['a self-dependency', () => ({ C: { depends_on: ['C'] } }), 'cycle'],
  ['a cycle of parents', () => ({ C: { parent_task: 'D' }, D: { parent_task: 'C' } }), 'cycle'],
  ['an unknown dependency', () => ({ C: {}, D: { depends_on: ['nothing'] } }), 'unknown_dependency'],
  ['a dependency in another graph', (other: string) => ({ C: { depends_on: [other] } }), 'cross_graph'],
  ['a parent in another graph', (other: string) => ({ C: { parent_task: other } }), 'cross_graph'],
])('W-TASK-03 %s is refused and nothing of the submission is created', async (_fault, tasks, code) => {
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
