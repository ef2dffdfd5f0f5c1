// What an agent finds out about its run (§3.4, §11.8): tasks, graphs, rights and structures, as far as it sees, like
// every other read.
import { type GraphId, type TaskId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'

const unseen = (name: string, kind: string, target: string, actor = 'worker'): Row => [
  'capability_denied',
  name,
  actor,
  { user_id: null, capability: 'access:read', action: `read_${kind}`, target, reason: 'permission_denied' },
]

/**
 * Two delegates with a task each of one graph: D works on A, which has a part A1 that W works on; E works on B. C is
 * bound to nobody.
 */
async function team(): Promise<{ f: Fixture; graph: GraphId; task: (name: string) => TaskId }> {
  const f = await fixture()
  const made = unwrap(
    await f.root.submitGraph(['A', 'B', 'C'].map(key => ({ key, name: key, description: `do ${key}` }))),
  )
  const tasks = new Map<string, TaskId>(['A', 'B', 'C'].map((name, index) => [name, made.tasks[index]!]))
  for (const [name, task] of [
    ['D', 'A'],
    ['E', 'B'],
  ] as const)
    await f.worker(name, { delegate: true, task: tasks.get(task)!, directive: null })
  const parts = unwrap(
    await f
      .agent('D')
      .addTasks(made.graph, [{ key: 'A1', name: 'A1', description: 'a part', parent_task: tasks.get('A')! }] as never),
  )
  tasks.set('A1', parts.tasks[0]!)
  await f.worker('W', { task: tasks.get('A1')!, directive: null }, f.agent('D'))
  for (const [name, id] of tasks) f.name(id, name)
  f.name(made.graph, 'G')
  await f.mark()
  return { f, graph: made.graph, task: name => tasks.get(name)! }
}

test('W-WS-15 questions about structures are answered with what the asking agent sees', async () => {
  const { f, graph, task } = await team()
  const names = (ids: readonly string[]) => ids.map(id => f.nameOf(id)).toSorted()
  const [root, d, w] = [f.root.topology, f.agent('D').topology, f.agent('W').topology]
  expect(names(await root.ownedBy('ux'))).toEqual(['D', 'E', 'R', 'W'])
  expect(names(await d.ownedBy('ux'))).toEqual(['D', 'W'])
  expect(names(await w.originatedBy('system'))).toEqual(['W'])
  expect(names(unwrap(await root.siblings(f.id('D'))))).toEqual(['E'])
  expect(names(unwrap(await d.siblings(f.id('D'))))).toEqual([])
  expect(names(unwrap(await w.upward(f.id('W'))))).toEqual([])
  expect(names(unwrap(await d.viewersOf(f.id('W'))))).toEqual(['D', 'W'])
  expect(unwrap(await d.order(graph)).map(({ name }) => name)).toEqual(['A', 'A1'])
  await f.expectAdded([])
  for (const question of ['upward', 'downward', 'siblings', 'causedAlike', 'visibleTo', 'viewersOf'] as const)
    expect(refused(await w[question](f.id('E'))), question).toBe('not_found')
  for (const question of ['rightsHeldBy', 'rightsTo'] as const)
    expect(refused(await w[question](f.id('R'))), question).toBe('not_found')
  expect(refused(await d.dependents(task('B')))).toBe('not_found')
  await f.expectAdded([
    ...Array.from({ length: 6 }, () => unseen('W', 'workspace', 'E')),
    ...Array.from({ length: 2 }, () => unseen('W', 'workspace', 'R')),
    unseen('D', 'task', 'B'),
  ])
  expect(refused(await f.agent('E').topology.rightsTo(f.id('W')))).toBe('not_found')
  const senders = unwrap(await d.rightsTo(f.id('W'))).map(({ holder }) => f.nameOf(holder))
  expect(new Set(senders)).toEqual(new Set(['D', 'W']))
  // A group is as large as what is seen of it.
  await f.worker('G1', { group: 'g' })
  expect(refused(await w.group('g'))).toBe('not_found')
  expect(refused(await w.groupUsage('g'))).toBe('not_found')
  expect(unwrap(await root.groupUsage('g')).members).toBe(1)
})

test('W-WS-15 a thread shows an agent what it said and was told, not what others wrote in it', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('V')
  const first = unwrap(await f.root.send(f.mail('W', 'directive'))).envelope
  unwrap(await f.root.send(f.mail('V', 'directive', { in_reply_to: first })))
  await f.settle()
  expect(unwrap(await f.root.thread(first))).toHaveLength(2)
  expect(unwrap(await f.agent('W').thread(first)).map(({ id }) => id)).toEqual([first])
})
