// Binding agents: what a failure leaves on record (W-WS-06 step 5, W-LIFE-10), and that a restart binds again without
// repeating.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { delivered as placed, created as sent } from '../testing/mail.ts'
import { changed, delivered, emitted, failedTask, status } from '../testing/tasks.ts'
import type { AgentHandle } from './handle/agent.ts'

/** A binder that notes whom it got and fails where it is told to. */
class Binder {
  readonly bound: string[] = []
  fails: (agent: AgentHandle) => boolean = () => false

  readonly bind = async (agent: AgentHandle): Promise<void> => {
    await Promise.resolve()
    if (this.fails(agent)) throw new Error('no such program')
    this.bound.push(agent.workspace)
  }
}

const directive = { format: 'markdown', content: 'work' }

/** The creation of W below the root. */
const MADE: readonly Row[] = [
  ['workspace_created', 'W', 'system'],
  ['port_right_created', 'W', 'system'],
  ['port_right_created', 'R', 'system'],
  ['port_right_created', 'W', 'system'],
]

test('W-WS-06 an agent that cannot be bound fails its workspace with creation_error, and its task with it', async () => {
  const binder = new Binder()
  const f = await fixture({ bind: binder.bind })
  const { tasks } = unwrap(await f.root.submitGraph([{ name: 'a', description: 'do it' }]))
  f.name(tasks[0]!, 'T')
  await f.mark()
  f.notices.length = 0
  binder.fails = () => true
  const created = await f.root.createWorkspace({ role: 'worker', task: tasks[0]!, directive })
  expect(refused(created)).toBe('rejected(creation_error)')
  const workspace = created.ok ? '' : (created.error.details.workspace as string)
  f.name(workspace, 'W')
  const reason = 'creation_error'
  await f.expectAdded([
    ...MADE,
    ['task_assigned', 'R', 'system', { task_id: 'T', workspace_id: 'W', attempt_number: 1 }],
    status('T', 'pending', 'assigned', 'W', 'system'),
    emitted('sig1', 'W', 'failed', 'protocol', { reason }),
    changed('W', 'idle', 'failed', reason, 'protocol', 'protocol'),
    status('T', 'assigned', 'failed', 'W'),
    failedTask('T', 'W', 1, reason),
    delivered('sig1', 'W', 'R'),
  ])
  expect(f.notices.filter(({ to }) => to === f.root.workspace).map(({ kind }) => kind)).toEqual(['state', 'signal'])

  // The coordinator may try again, in another workspace (W-WS-03).
  binder.fails = () => false
  unwrap(await f.root.retryTask(tasks[0]!))
  const second = await f.workspace('W2', { task: tasks[0]! })
  expect(unwrap(await f.root.task(tasks[0]!)).workspace_history).toEqual([workspace, second.workspace])
})

test('W-WS-06 a binder that throws at once fails the workspace in the same way', async () => {
  let fails = false
  const f = await fixture({
    bind: () => {
      if (fails) throw new Error('no such program')
    },
  })
  await f.mark()
  fails = true
  const created = await f.root.createWorkspace({ role: 'observer' })
  expect(refused(created)).toBe('rejected(creation_error)')
  expect(!created.ok && created.error.message).toContain('no such program')
  await f.expectAmong([
    ['workspace_created', 'ws1', 'system', { role: 'observer' }],
    ['signal_emitted', 'ws1', 'protocol', { type: 'failed', reason: 'creation_error' }],
    ['workspace_state_changed', 'ws1', 'protocol', { to_state: 'failed', trigger: 'creation_error' }],
  ])
})

test('W-WS-06 a coordinator that cannot be bound ends its run, and the start says so', async () => {
  const binder = new Binder()
  const f = await fixture({ bind: binder.bind })
  binder.fails = () => true
  const before = await f.trail.runs()
  const started = await f.runtime.start({ owner: 'ux' })
  expect(refused(started)).toBe('rejected(creation_error)')
  await f.settle()
  const known = new Set(before.map(({ run }) => run))
  const [made] = (await f.trail.runs()).filter(({ run }) => !known.has(run))
  expect(made?.ended).toBe(true)
  expect(f.runtime.active).toEqual([f.run.id])
  const entries = await unwrap(await f.runtime.open(made!.run)).entries()
  expect(entries.map(({ event_type, actor }) => [event_type, actor])).toEqual([
    ['workspace_created', 'protocol'],
    ['port_right_created', 'protocol'],
    ['signal_emitted', 'protocol'],
    ['workspace_state_changed', 'protocol'],
  ])
})

test('a workspace that is aborted while its agent is being bound stays aborted', async () => {
  const f: Fixture = await fixture({
    bind: async agent => {
      if (agent.role !== 'worker') return
      unwrap(await f.root.abort(agent.workspace))
    },
  })
  await f.mark()
  const agent = unwrap(await f.root.createWorkspace({ role: 'worker', directive }))
  f.name(agent.workspace, 'W')
  expect(unwrap(await agent.look()).status).toBe('failed')
  await f.expectAdded([
    ...MADE,
    ['signal_emitted', 'W', 'system', expect.objectContaining({ type: 'failed' })],
    ['workspace_state_changed', 'W', 'system', expect.objectContaining({ to_state: 'failed' })],
    ['signal_delivered', 'R', 'protocol'],
  ])
})

/** The agents that a restart bound, by name. */
function boundBy(f: Fixture, binder: Binder, names: readonly string[]): readonly string[] {
  const byId = new Map(names.map(name => [f.id(name) as string, name]))
  return binder.bound.flatMap(id => byId.get(id) ?? [])
}

test('a restart binds every agent at work again and repeats neither `ready` nor a directive', async () => {
  const binder = new Binder()
  const f = await fixture({ bind: binder.bind })
  await f.worker('A')
  await f.workspace('I')
  await f.worker('S')
  await f.bring('S', 'suspended')
  await f.worker('F')
  await f.bring('F', 'failed')
  await f.workspace('D', { directive, dispatch: false })
  const names = ['R', 'A', 'I', 'S', 'F', 'D']
  expect(boundBy(f, binder, names)).toEqual(names)
  await f.mark()
  binder.bound.length = 0
  await f.restart()
  expect(boundBy(f, binder, names)).toEqual(['R', 'A', 'I', 'S', 'D'])
  await f.expectAdded([])

  // What waited for its creator still does.
  unwrap(await f.root.dispatch(f.id('D')))
  await f.settle()
  expect(await f.state('D')).toBe('active')
})

test('a restart lets an agent say `ready` that had not, and sends the directive that waited for it', async () => {
  const binder = new Binder()
  let hangs = false
  const f = await fixture({ bind: agent => (hangs ? new Promise<void>(() => undefined) : binder.bind(agent)) })
  await f.mark()
  hangs = true
  void f.root.createWorkspace({ role: 'worker', directive })
  void f.root.createWorkspace({ role: 'observer' })
  await f.settle()
  const [worker, observer] = await f.run.read(run => [...run.workspaces.keys()].slice(1))
  f.name(worker!, 'W')
  f.name(observer!, 'O')
  await f.expectAdded([...MADE, ['workspace_created', 'O', 'system'], ['port_right_created', 'O', 'system']])
  hangs = false
  await f.restart()
  const mail = { id: 'env1', from: 'R', to: 'W' }
  const rows = (await f.added()).map(entry => f.row(entry))
  const only = (name: string) =>
    rows.filter(([, , , body]) => body?.from === name || body?.to === name || body?.workspace_id === name)
  expect(only('W')).toEqual([
    emitted('sig1', 'W', 'ready', 'worker'),
    delivered('sig1', 'W', 'R'),
    sent({ ...mail, type: 'directive' }),
    placed(mail),
    changed('W', 'idle', 'active', 'first_envelope', 'protocol', 'protocol'),
    ['signal_emitted', 'W', 'protocol', expect.objectContaining({ type: 'acknowledged', ref: 'env1' })],
    ['signal_delivered', 'R', 'protocol', expect.objectContaining({ delivered_to: 'R' })],
  ])
  expect(only('O').map(([type, filed, actor, body]) => [type, filed, actor, body?.type])).toEqual([
    ['signal_emitted', 'O', 'observer', 'ready'],
    ['signal_delivered', 'R', 'protocol', undefined],
  ])
  expect(rows).toHaveLength(9)
  expect(binder.bound).toEqual(expect.arrayContaining([worker, observer]))
  const directiveId = await f.run.read(run => run.workspaces.get(worker!)?.directive)
  expect(f.nameOf(directiveId!)).toBe('env1')

  // Once said, it is not said again.
  await f.mark()
  await f.restart()
  await f.expectAdded([])
})

test('a restart sends a directive that waited although its agent was ready', async () => {
  let hangs = false
  const f = await fixture({ bind: () => (hangs ? new Promise<void>(() => undefined) : undefined) })
  hangs = true
  void f.root.createWorkspace({ role: 'worker', directive })
  await f.settle()
  const [, caller] = await f.run.read(run => [...run.workspaces.keys()])
  f.name(caller!, 'W')
  unwrap(await f.run.submit({ type: 'emit', caller: caller!, draft: { type: 'ready' } }))
  hangs = false
  await f.mark()
  await f.restart()
  await f.expectAdded([
    ['envelope_created', 'R', 'system', expect.objectContaining({ from: 'R', to: 'W', type: 'directive' })],
    ['envelope_delivered', 'W', 'protocol', expect.objectContaining({ from: 'R', to: 'W' })],
    ['workspace_state_changed', 'W', 'protocol', expect.objectContaining({ trigger: 'first_envelope' })],
    ['signal_emitted', 'W', 'protocol', expect.objectContaining({ type: 'acknowledged' })],
    ['signal_delivered', 'R', 'protocol', expect.objectContaining({ from: 'W' })],
  ])
})
