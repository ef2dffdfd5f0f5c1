// Every denial is recorded (§5.1, §11.8): also of what nobody may do at all, and of what the caller may not do in the state it is in.
import { type GateId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { only } from '../testing/gates.ts'
import { denial } from '../testing/topology.ts'

test('WX-009 whoever tries to change a checkpoint, a task or the vocabulary is on record', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('X')
  f.name(unwrap(await f.checkpoint('W')).checkpoint, 'K')
  const { tasks } = unwrap(await f.root.submitGraph([{ key: 'a', name: 'a', description: 'a' }] as never))
  f.name(tasks[0]!, 'T')
  await f.mark()
  const before = await f.picture()
  const checkpoint = (await f.run.read(run => [...run.checkpoints.keys()]))[0]!
  for (const name of ['W', 'X'])
    expect(refused(await f.agent(name).changeCheckpoint(checkpoint))).toBe(
      name === 'W' ? 'immutable(frozen)' : 'not_found',
    )
  expect(refused(await f.root.changeTask(tasks[0]!))).toBe('immutable(frozen)')
  expect(refused(await f.root.removeTask(tasks[0]!))).toBe('immutable(frozen)')
  expect(refused(await f.agent('X').changeTask(tasks[0]!))).toBe('permission_denied')
  expect(refused(await f.agent('W').registerType({ kind: 'role', name: 'boss' }))).toBe('immutable(frozen)')
  await f.expectAdded([
    denial('W', 'worker', 'set:checkpoint', 'frozen', 'K', 'change_checkpoint'),
    denial('X', 'worker', 'set:checkpoint', 'frozen', 'K', 'change_checkpoint'),
    denial('R', 'system', 'set:task', 'frozen', 'T', 'change_task'),
    denial('R', 'system', 'set:task', 'frozen', 'T', 'change_task'),
    denial('X', 'worker', 'operation:task', 'permission_denied', 'T', 'change_task'),
    denial('W', 'worker', 'set:taxonomy', 'frozen', undefined, 'register_type'),
  ])
  expect(await f.picture()).toEqual(before)
})

test.each([
  ['suspended', 'frozen'],
  ['migrating', 'frozen'],
  ['integrating', 'permission_denied'],
])('WX-010 an agent that reaches for its mail while it is %s is on record', async (state, reason) => {
  const f = await fixture()
  const agent = await f.worker('W')
  unwrap(await f.root.feedback(f.id('W'), { format: 'text', content: 'more' }))
  await f.bring('W', state)
  await f.mark()
  const bound = state === 'migrating' ? agent : f.agent('W')
  expect(refused(await bound.consume())).toBe(`invalid_state(${reason})`)
  await f.expectAdded([denial('W', 'worker', 'access:read', reason, 'W', 'consume')])
})

test('WX-010 who is paused while it waits for mail reached for nothing', async () => {
  const f = await fixture()
  await f.worker('W')
  const waiting = f.agent('W').receive()
  await f.settle()
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  expect(refused(await waiting)).toBe('invalid_state')
  expect((await f.added()).map(({ event_type }) => event_type)).not.toContain('capability_denied')
})

test('WX-011 a delegate that is blocked or paused is refused its operations, and that is on record', async () => {
  const f = await fixture()
  const { tasks } = unwrap(await f.root.submitGraph([{ key: 'a', name: 'a', description: 'a' }] as never))
  const d = await f.worker('D', { delegate: true, task: tasks[0]! })
  await f.worker('W', {}, d)
  unwrap(await d.blocked('waiting'))
  await f.mark()
  const denied = 'invalid_state(permission_denied)'
  expect(refused(await d.abort(f.id('W')))).toBe(denied)
  expect(refused(await d.suspend(f.id('W'), 'x'))).toBe(denied)
  expect(refused(await d.accept(f.id('W')))).toBe(denied)
  const graph = await f.run.read(run => [...run.graphs.keys()][0]!)
  const part = { key: 'b', name: 'b', description: 'b', parent_task: tasks[0]! }
  expect(refused(await d.addTasks(graph, [part] as never))).toBe(denied)
  const rows = (await f.added()).map(entry => [entry.event_type, (entry.body as { action: string }).action])
  expect(rows).toEqual([
    ['capability_denied', 'abort'],
    ['capability_denied', 'suspend'],
    ['capability_denied', 'integrate'],
    ['capability_denied', 'add_tasks'],
  ])
  expect(await f.state('W')).toBe('active')
})

test('WX-012 the coordinator that answers a gate which waits for a person is on record', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_create') } })
  const asked = await f.root.createWorkspace({ role: 'worker' })
  const gate = (asked.ok ? undefined : asked.error.details.gate) as GateId
  f.name(gate, 'G')
  await f.mark()
  expect(refused(await f.root.answerGate(gate, 'approve'))).toBe('invalid_state(not_permitted)')
  await f.expectAdded([denial('R', 'system', 'operation:answer_gate', 'not_permitted', 'G')])
  expect(await f.run.gates()).toHaveLength(1)
})
