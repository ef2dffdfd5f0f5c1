// What an agent finds out about its run (§3.4, §11.8): tasks, graphs, rights and structures, as far as it sees, like every other read.
import { type GraphId, type TaskId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import type { AgentHandle } from './agent.ts'

const unseen = (name: string, kind: string, target: string, actor = 'worker'): Row => [
  'capability_denied',
  name,
  actor,
  { user_id: null, capability: 'access:read', action: `read_${kind}`, target, reason: 'permission_denied' },
]

/** Two delegates with a task each of one graph: D works on A, which has a part A1 that W works on; E works on B. C is bound to nobody. */
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
      .addTasks(made.graph, [
        { key: 'A1', name: 'A1', description: 'a part', parent_task: tasks.get('A')! },
      ] as never),
  )
  tasks.set('A1', parts.tasks[0]!)
  await f.worker('W', { task: tasks.get('A1')!, directive: null }, f.agent('D'))
  for (const [name, id] of tasks) f.name(id, name)
  f.name(made.graph, 'G')
  await f.mark()
  return { f, graph: made.graph, task: name => tasks.get(name)! }
}

async function found(agent: AgentHandle, graph: GraphId): Promise<readonly string[]> {
  return unwrap(await agent.graph(graph)).tasks.map(({ name }) => name)
}

test('WX-017 an agent reads the tasks that it and those in its sight work on, and no others', async () => {
  const { f, graph, task } = await team()
  const readable = async (agent: AgentHandle) => {
    const names: string[] = []
    for (const name of ['A', 'A1', 'B', 'C']) if ((await agent.task(task(name))).ok) names.push(name)
    return names
  }
  expect(await readable(f.root)).toEqual(['A', 'A1', 'B', 'C'])
  await f.expectAdded([])
  expect(await readable(f.agent('D'))).toEqual(['A', 'A1'])
  await f.expectAdded([unseen('D', 'task', 'B'), unseen('D', 'task', 'C')])
  expect(await readable(f.agent('W'))).toEqual(['A1'])
  await f.mark()
  expect(await found(f.root, graph)).toEqual(['A', 'B', 'C', 'A1'])
  expect(await found(f.agent('D'), graph)).toEqual(['A', 'A1'])
  expect(await found(f.agent('W'), graph)).toEqual(['A1'])
  expect(await found(f.agent('E'), graph)).toEqual(['B'])
  expect(unwrap(await f.root.dispatchable(graph)).map(({ name }) => name)).toEqual(['C'])
  expect(unwrap(await f.agent('D').dispatchable(graph))).toEqual([])
  await f.expectAdded([])
  // Somebody without a task of it sees nothing of the graph, and cannot tell that there is one.
  await f.worker('X')
  await f.mark()
  for (const read of ['graph', 'dispatchable', 'unresolvable'] as const)
    expect(refused(await f.agent('X')[read](graph))).toBe('not_found')
  await f.expectAdded([1, 2, 3].map(() => unseen('X', 'graph', 'G')))
  expect(refused(await f.agent('X').graph('graph_none' as GraphId))).toBe('not_found')
  await f.expectAdded([])
  // What is granted is seen from then on.
  unwrap(await f.root.grantVisibility(f.id('X'), f.id('E'), 'look'))
  expect(await found(f.agent('X'), graph)).toEqual(['B'])
})

test('WX-018 an agent reads the rights of those in its sight, and no others', async () => {
  const { f } = await team()
  const holders = async (name: string) => {
    const rights = unwrap(await f.agent(name).rights())
    return [...new Set(rights.map(({ holder }) => f.nameOf(holder)))].toSorted()
  }
  expect(await holders('W')).toEqual(['W'])
  expect(await holders('D')).toEqual(['D', 'W'])
  const all = unwrap(await f.root.rights()).map(({ holder }) => f.nameOf(holder))
  expect([...new Set(all)].toSorted()).toEqual(['D', 'E', 'R', 'W'])
})

test('WX-019 questions about structures are answered with what the asking agent sees', async () => {
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

test('WX-019 a thread shows an agent what it said and was told, not what others wrote in it', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('V')
  const first = unwrap(await f.root.send(f.mail('W', 'directive'))).envelope
  unwrap(await f.root.send(f.mail('V', 'directive', { in_reply_to: first })))
  await f.settle()
  expect(unwrap(await f.root.thread(first))).toHaveLength(2)
  expect(unwrap(await f.agent('W').thread(first)).map(({ id }) => id)).toEqual([first])
})

test('WX-065 a parent reads what it gave its descendants; siblings and children do not', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  await f.worker('E', { delegate: true, parent: f.id('D'), context: { note: 'for E' } })
  const w = await f.worker('W', { context: { note: 'for W' } }, f.agent('E'))
  const v = await f.worker('V', {}, f.agent('E'))
  await f.mark()
  for (const reader of [f.root, d, f.agent('E'), w])
    expect(unwrap(await reader.readContext(f.id('W')))).toEqual({ note: 'for W' })
  await f.expectAdded([])
  expect(refused(await v.readContext(f.id('W')))).toBe('not_found')
  expect(refused(await w.readContext(f.id('E')))).toBe('not_found')
  const denied = { capability: 'access:read', action: 'read_context' }
  await f.expectAmong([
    ['capability_denied', 'V', 'worker', { ...denied, target: 'W' }],
    ['capability_denied', 'W', 'worker', { ...denied, target: 'E' }],
  ])
})

test("WX-066 what a merge made of its parent's state is for those who see the parent", async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const w = await f.worker('W', {}, d)
  unwrap(await f.checkpoint('W', { status: 'final' }))
  unwrap(await w.complete())
  unwrap(await d.accept(f.id('W'), { strategy: 'evaluated', result: { tree: 'of D' } }))
  await f.mark()
  expect(unwrap(await d.readResult(f.id('W')))).toEqual({ tree: 'of D' })
  expect(unwrap(await f.root.readResult(f.id('W')))).toEqual({ tree: 'of D' })
  await f.expectAdded([])
  expect(refused(await (w as AgentHandle).readResult(f.id('W')))).toBe('not_found')
  const denied = { capability: 'access:read', action: 'read_result', target: 'W' }
  await f.expectAmong([['capability_denied', null, 'worker', denied]])
})
