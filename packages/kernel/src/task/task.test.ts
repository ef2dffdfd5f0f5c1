// Task graphs: what they take, readiness, binding, attempts and cancellation (W-TASK-01 to -18).
import { unwrap } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import {
  aborted,
  decided,
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
import { denial } from '../testing/topology.ts'
import { transitiveDependents } from './graph.ts'
import type { TaskDraft } from './task.ts'

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

test('W-TASK-18 a workspace has the priority of its task unless its creator says otherwise', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: { priority: 'urgent' } })
  await f.mark()
  await f.workspace('W', { task: id('A'), priority: 'background' })
  await f.expectAmong([['workspace_created', 'W', 'system', { priority: 'background' }]])
})

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
  await f.expectAmong([['task_created', 'R', 'system', { task_id: 'B', depends_on: ['A'] }]])
})

test.each([
  ['no tasks', []],
  ['two tasks with one key', [...draftsOf({ A: {} }), ...draftsOf({ A: {} })]],
  ['a task without a name', [{ description: 'x' }]],
  ['an id that the caller chose', [{ name: 'A', description: 'x', id: 'task_mine' }]],
  ['an unknown priority', [{ name: 'A', description: 'x', priority: 'high' }]],
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

/** Edges as pairs of positions; a position beyond the tasks is a reference to nothing. */
interface Submission {
  readonly size: number
  readonly edges: readonly (readonly [from: number, to: number])[]
}

/** Sparse and with few references outside, so that both outcomes are common. */
const submissions: fc.Arbitrary<Submission> = fc.integer({ min: 1, max: 9 }).chain(size => {
  const inside = fc.integer({ min: 0, max: size - 1 })
  const outside = fc.oneof({ weight: 30, arbitrary: inside }, { weight: 1, arbitrary: fc.constant(size) })
  // Half of them point upwards only: those have no circle.
  const upwards = fc
    .tuple(inside, outside)
    .map(([from, to]): [number, number] => [
      Math.max(from, Math.min(to, size - 1)),
      to === size ? to : Math.min(from, to),
    ])
  const any = fc.tuple(inside, outside)
  const forward = upwards.filter(([from, to]) => from !== to)
  return fc.record({
    size: fc.constant(size),
    edges: fc.oneof(fc.array(forward, { maxLength: 14 }), fc.array(any, { maxLength: 10 })),
  })
})

function draftsIn({ size, edges }: Submission): TaskDraft[] {
  return Array.from({ length: size }, (_, at) => ({
    key: `t${at}`,
    name: `t${at}`,
    description: '',
    depends_on: edges.filter(([from]) => from === at).map(([, to]) => `t${to}`),
  }))
}

/** The oracle: walks every path and looks whether it comes back. */
function faultOf({ size, edges }: Submission): 'ok' | 'unknown_dependency' | 'cycle' {
  if (edges.some(([, to]) => to >= size)) return 'unknown_dependency'
  const reaches = (start: number, at: number, seen: Set<number>): boolean =>
    edges.some(([from, to]) => {
      if (from !== at) return false
      if (to === start) return true
      if (seen.has(to)) return false
      seen.add(to)
      return reaches(start, to, seen)
    })
  return Array.from({ length: size }, (_, at) => at).some(at => reaches(at, at, new Set())) ? 'cycle' : 'ok'
}

async function orderOnTrail(f: Fixture): Promise<void> {
  const seen = new Set<string>()
  for (const { event_type, body } of await f.added()) {
    if (event_type !== 'task_created') continue
    const task = body as { readonly task_id: string; readonly depends_on: readonly string[] }
    for (const dependency of task.depends_on) expect(seen).toContain(dependency)
    seen.add(task.task_id)
  }
}

test('W-TASK-03 a submission is accepted exactly when it is acyclic and names only its own tasks', async () => {
  const f = await fixture()
  const outcomes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(submissions, async submission => {
      const expected = faultOf(submission)
      outcomes.set(expected, (outcomes.get(expected) ?? 0) + 1)
      await f.mark()
      const before = await f.run.read(run => [run.graphs.size, run.tasks.size, run.staged.size, run.seq])
      const answer = await f.root.submitGraph(draftsIn(submission))
      expect(refused(answer)).toBe(expected)
      if (!answer.ok) {
        expect(await f.run.read(run => [run.graphs.size, run.tasks.size, run.staged.size, run.seq])).toEqual(before)
        return
      }
      await orderOnTrail(f)
      // The ids come back in the order of the submission.
      const { tasks } = unwrap(await f.root.graph(answer.value.graph))
      const names = answer.value.tasks.map(id => tasks.find(task => task.id === id)?.name)
      expect(names).toEqual(draftsIn(submission).map(draft => draft.name))
    }),
    { numRuns: 200, seed: 6 },
  )
  expect([...outcomes.keys()].toSorted()).toEqual(['cycle', 'ok', 'unknown_dependency'])
  for (const count of outcomes.values()) expect(count).toBeGreaterThan(10)
})

/** What an abort by the coordinator leaves, for a workspace without a task that follows it. */
function abortion(workspace: string, signal: string, from = 'integrating'): Row[] {
  const reason = 'aborted_by_coordinator'
  return [
    emitted(signal, workspace, 'failed', 'system', { reason }),
    decided(workspace, from, 'failed', reason),
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

test('W-TASK-13 an assigned, a completed and a failed task can be cancelled, an integrated one cannot', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { assigned: {}, completed: {}, failed: {}, integrated: {} })
  await f.workspace('W1', { task: id('assigned'), dispatch: false })
  await finished(f, 'W2', id('completed'))
  await f.workspace('W3', { task: id('failed'), dispatch: false })
  unwrap(await f.root.abort(f.id('W3')))
  await finished(f, 'W4', id('integrated'))
  unwrap(await f.root.accept(f.id('W4')))
  await f.mark()
  for (const name of ['assigned', 'completed', 'failed']) unwrap(await f.root.cancelTask(id(name)))
  expect(refused(await f.root.cancelTask(id('integrated')))).toBe('invalid_state')
  await f.expectAdded([
    status('assigned', 'assigned', 'cancelled', 'W1', 'system'),
    ...abortion('W1', 'sig1', 'idle'),
    status('completed', 'completed', 'cancelled', 'W2', 'system'),
    ...abortion('W2', 'sig2'),
    // Its workspace has failed already.
    status('failed', 'failed', 'cancelled', 'W3', 'system'),
  ])
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
    ...abortion('W', 'sig1'),
  ])
})

test('W-TASK-08 readiness is lost again when a completed dependency fails at its integration, and a retry restores it', async () => {
  const f = await fixture()
  const made = await graphOf(f, { A: {}, B: { depends_on: ['A'] } })
  await finished(f, 'W', made.id('A'))
  expect(await dispatchableIn(f, made.graph)).toEqual(['B'])
  unwrap(await f.root.reject(f.id('W')))
  await f.mark()
  expect(await dispatchableIn(f, made.graph)).toEqual([])
  expect(refused(await f.root.createWorkspace({ role: 'worker', task: made.id('B') }))).toBe(
    'rejected(not_dispatchable)',
  )
  await f.expectAdded([['workspace_rejected', 'R', 'protocol', { reason: 'not_dispatchable', capacity_details: {} }]])
  unwrap(await f.root.retryTask(made.id('A')))
  expect((await taskOf(f, made.id('A'))).checkpoint_ref).toBeNull()
  await finished(f, 'W2', made.id('A'))
  expect(await dispatchableIn(f, made.graph)).toEqual(['B'])
  unwrap(await f.root.accept(f.id('W2')))
  expect(await dispatchableIn(f, made.graph)).toEqual(['B'])
})
