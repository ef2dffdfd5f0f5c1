import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import {
  aborted,
  bound,
  changed,
  decided,
  delivered,
  dispatchableIn,
  emitted,
  failedTask,
  finished,
  graphOf,
  type NamedGraph,
  status,
  statusOf,
  taskOf,
  withDrafts,
} from '../testing/tasks.ts'
import { dispatchable, unresolvable } from './graph.ts'

const notDispatchable: Row = [
  'workspace_rejected',
  'R',
  'protocol',
  { reason: 'not_dispatchable', capacity_details: {} },
]

/** What an abort by the coordinator leaves, for a workspace with or without a task that follows it. */
function abortion(workspace: string, signal: string, task: readonly Row[] = [], from = 'active'): Row[] {
  const reason = 'aborted_by_coordinator'
  return [
    emitted(signal, workspace, 'failed', 'system', { reason }),
    decided(workspace, from, 'failed', reason),
    ...task,
    delivered(signal, workspace, 'R'),
  ]
}

test('WP-061 a failed task keeps its history and is tried again in another workspace', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {}, B: {} })
  const worker = await bound(f, 'W', id('A'))
  unwrap(await worker.started())
  await f.mark()
  unwrap(await worker.failed('no paint left'))
  await f.expectAdded([
    emitted('sig1', 'W', 'failed', 'worker', { reason: 'no paint left' }),
    changed('W', 'active', 'failed', 'agent_failed', 'protocol', 'worker', 'no paint left'),
    status('A', 'in_progress', 'failed', 'W'),
    failedTask('A', 'W', 1, 'no paint left'),
    delivered('sig1', 'W', 'R'),
  ])
  expect(await taskOf(f, id('A'))).toMatchObject({ status: 'failed', workspace_ref: f.id('W') })

  unwrap(await f.root.retryTask(id('A')))
  await f.expectAdded([status('A', 'failed', 'pending', null, 'system')])
  expect(await taskOf(f, id('A'))).toMatchObject({ workspace_ref: null, workspace_history: [f.id('W')] })

  await f.workspace('W2', { task: id('A') })
  await f.expectAmong([
    ['workspace_created', 'W2', 'system', { task_ref: 'A' }],
    ['task_assigned', 'R', 'system', { task_id: 'A', workspace_id: 'W2', attempt_number: 2 }],
    status('A', 'pending', 'assigned', 'W2', 'system'),
  ])
  expect(await taskOf(f, id('A'))).toMatchObject({
    workspace_ref: f.id('W2'),
    workspace_history: [f.id('W'), f.id('W2')],
  })

  expect(refused(await f.root.retryTask(id('B')))).toBe('invalid_state')
  expect(refused(await f.root.retryTask(id('A')))).toBe('invalid_state')
  await f.expectAdded([])
})

test('W-TASK-11 a task that was only assigned fails with its workspace as well', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {} })
  await f.workspace('W', { task: id('A'), dispatch: false })
  await f.mark()
  unwrap(await f.root.abort(f.id('W')))
  const task = [status('A', 'assigned', 'failed', 'W'), failedTask('A', 'W', 1, 'aborted_by_coordinator')]
  await f.expectAdded(abortion('W', 'sig1', task, 'idle'))
})

test('W-TASK-12 a task is tried a limited number of times, unless the coordinator overrides that', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {} })
  for (let attempt = 1; attempt <= kernelLimits.attempts; attempt++) {
    const name = `W${attempt}`
    await f.workspace(name, { task: id('A'), dispatch: false })
    unwrap(await f.root.abort(f.id(name)))
    if (attempt < kernelLimits.attempts) unwrap(await f.root.retryTask(id('A')))
  }
  await f.mark()
  expect(refused(await f.root.retryTask(id('A')))).toBe('invalid_state')
  await f.expectAdded([])
  expect(await statusOf(f, id('A'))).toBe('failed')
  unwrap(await f.root.retryTask(id('A'), true))
  await f.expectAdded([status('A', 'failed', 'pending', null, 'system')])
  unwrap(await f.root.cancelTask(id('A')))
  expect((await taskOf(f, id('A'))).workspace_history).toHaveLength(kernelLimits.attempts)
})

test('WP-062 cancelling a task aborts the workspace that works on it and does not fail the task', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {} })
  const worker = await bound(f, 'W', id('A'))
  unwrap(await worker.started())
  await f.mark()
  unwrap(await f.root.cancelTask(id('A')))
  await f.expectAdded([status('A', 'in_progress', 'cancelled', 'W', 'system'), ...abortion('W', 'sig1')])
  expect(refused(await f.root.cancelTask(id('A')))).toBe('invalid_state')
  expect(refused(await f.root.retryTask(id('A')))).toBe('invalid_state')
  await f.expectAdded([])
  expect(unwrap(await f.root.graph(graph)).tasks).toMatchObject([
    { name: 'A', status: 'cancelled', workspace_ref: null, workspace_history: [f.id('W')] },
  ])
})

test('W-TASK-13 a task can be cancelled from every status but the two that end it', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { pending: {}, assigned: {}, completed: {}, failed: {}, integrated: {} })
  await f.workspace('W1', { task: id('assigned'), dispatch: false })
  await finished(f, 'W2', id('completed'))
  await f.workspace('W3', { task: id('failed'), dispatch: false })
  unwrap(await f.root.abort(f.id('W3')))
  await finished(f, 'W4', id('integrated'))
  unwrap(await f.root.accept(f.id('W4')))
  await f.mark()
  for (const name of ['pending', 'assigned', 'completed', 'failed']) unwrap(await f.root.cancelTask(id(name)))
  await f.expectAdded([
    status('pending', 'pending', 'cancelled', null, 'system'),
    status('assigned', 'assigned', 'cancelled', 'W1', 'system'),
    ...abortion('W1', 'sig1', [], 'idle'),
    status('completed', 'completed', 'cancelled', 'W2', 'system'),
    ...abortion('W2', 'sig2', [], 'integrating'),
    // Its workspace has failed already.
    status('failed', 'failed', 'cancelled', 'W3', 'system'),
  ])
  expect(refused(await f.root.cancelTask(id('integrated')))).toBe('invalid_state')
  await f.expectAdded([])
})

test('W-TASK-13 cancelling a task whose result is being merged ends that integration', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {} })
  await finished(f, 'W', id('A'))
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
  unwrap(await f.root.cancelTask(id('A')))
  await f.expectAdded([
    status('A', 'completed', 'cancelled', 'W', 'system'),
    aborted('W', 'aborted_by_coordinator'),
    ...abortion('W', 'sig1', [], 'integrating'),
  ])
})

test('WP-063 dependents of a failed task wait, and go on once a retry succeeds', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: { depends_on: ['A'] }, E: { depends_on: ['B'] } })
  const worker = await bound(f, 'W', id('A'))
  unwrap(await worker.failed('broken'))
  await f.mark()
  expect(await dispatchableIn(f, graph)).toEqual([])
  expect(unwrap(await f.root.unresolvable(graph))).toEqual([])
  expect([await statusOf(f, id('B')), await statusOf(f, id('E'))]).toEqual(['pending', 'pending'])
  unwrap(await f.root.retryTask(id('A')))
  expect(await dispatchableIn(f, graph)).toEqual(['A'])
  // Nothing but the retry itself: no entry speaks of a dependent.
  await f.expectAdded([status('A', 'failed', 'pending', null, 'system')])
  await finished(f, 'W2', id('A'))
  expect(await dispatchableIn(f, graph)).toEqual(['B'])
  expect(f.notices.filter(notice => notice.kind === 'unresolvable')).toEqual([])
})

test('WP-063 dependents of a cancelled task can never run: the coordinator is told, and nothing else happens', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, {
    A: {},
    B: { depends_on: ['A'] },
    E: { depends_on: ['B'] },
    other: {},
  })
  await f.mark()
  unwrap(await f.root.cancelTask(id('A')))
  await f.expectAdded([status('A', 'pending', 'cancelled', null, 'system')])
  expect(unwrap(await f.root.unresolvable(graph)).map(task => task.name)).toEqual(['B', 'E'])
  expect(await dispatchableIn(f, graph)).toEqual(['other'])
  expect(f.notices.filter(notice => notice.kind === 'unresolvable')).toEqual([
    { kind: 'unresolvable', to: f.root.workspace, graph, tasks: [id('B'), id('E')] },
  ])
  const gated = await withDrafts(f, [id('E')])
  expect(gated.tasks.get(id('E'))?.status).toBe('draft')
  expect(unresolvable(gated, graph).map(task => task.name)).toEqual(['B', 'E'])
  expect(dispatchable(gated, graph).map(task => task.name)).toEqual(['other'])
})

test('WP-063 a completed task that is cancelled takes readiness away from who waits, not from who is at work', async () => {
  const f = await fixture()
  const { graph, id } = await graphOf(f, {
    A2: {},
    B2: { depends_on: ['A2'] },
    E2: { depends_on: ['A2'] },
  })
  await finished(f, 'W', id('A2'))
  const worker = await bound(f, 'W2', id('B2'))
  unwrap(await worker.started())
  expect(await dispatchableIn(f, graph)).toEqual(['E2'])
  await f.mark()
  unwrap(await f.root.cancelTask(id('A2')))
  await f.expectAdded([
    status('A2', 'completed', 'cancelled', 'W', 'system'),
    ...abortion('W', 'sig1', [], 'integrating'),
  ])
  // B2 depends on it as well, and continues.
  expect(unwrap(await f.root.unresolvable(graph)).map(task => task.name)).toEqual(['E2'])
  await refusesToBind(f, { graph, id }, 'E2')
  unwrap(await f.final('W2'))
  unwrap(await worker.complete())
  expect([await f.state('W2'), await statusOf(f, id('B2'))]).toEqual(['integrating', 'completed'])
})

test('W-TASK-08 readiness is lost again when a completed dependency fails at its integration, and a retry restores it', async () => {
  const f = await fixture()
  const made = await graphOf(f, { A: {}, B: { depends_on: ['A'] } })
  await finished(f, 'W', made.id('A'))
  expect(await dispatchableIn(f, made.graph)).toEqual(['B'])
  unwrap(await f.root.reject(f.id('W')))
  await f.mark()
  await refusesToBind(f, made, 'B')
  unwrap(await f.root.retryTask(made.id('A')))
  expect((await taskOf(f, made.id('A'))).checkpoint_ref).toBeNull()
  await finished(f, 'W2', made.id('A'))
  expect(await dispatchableIn(f, made.graph)).toEqual(['B'])
  unwrap(await f.root.accept(f.id('W2')))
  expect(await dispatchableIn(f, made.graph)).toEqual(['B'])
})

async function refusesToBind(f: Fixture, { graph, id }: NamedGraph, task: string): Promise<void> {
  expect(await dispatchableIn(f, graph)).toEqual([])
  const answer = await f.root.createWorkspace({ role: 'worker', task: id(task) })
  expect(refused(answer)).toBe('rejected(not_dispatchable)')
  await f.expectAdded([notDispatchable])
}
