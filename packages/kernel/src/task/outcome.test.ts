import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import {
  aborted,
  decided,
  delivered,
  dispatchableIn,
  emitted,
  finished,
  graphOf,
  type NamedGraph,
  status,
  statusOf,
  taskOf,
} from '../testing/tasks.ts'

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
