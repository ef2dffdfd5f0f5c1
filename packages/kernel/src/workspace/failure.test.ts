import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'

interface Change {
  readonly from: string
  readonly trigger: string
  readonly actor: string
  readonly initiator: string
  readonly reason?: string
}

const failed = (name: string, change: Change): Row => [
  'workspace_state_changed',
  name,
  change.actor,
  {
    workspace_id: name,
    from_state: change.from,
    to_state: 'failed',
    trigger: change.trigger,
    initiator: change.initiator,
    reason: change.reason ?? change.trigger,
  },
]
const aborted = (name: string, from: string): Row =>
  failed(name, { from, trigger: 'aborted_by_coordinator', actor: 'system', initiator: 'coordinator' })
const cascaded = (name: string, from = 'active'): Row =>
  failed(name, { from, trigger: 'parent_failed', actor: 'protocol', initiator: 'protocol' })
const emitted = (from: string, reason: string, actor: string, signal_id = 'sig1'): Row => [
  'signal_emitted',
  from,
  actor,
  { signal_id, from, type: 'failed', reason },
]
const delivered = (from: string, to = 'R', signal_id = 'sig1'): Row => [
  'signal_delivered',
  to,
  'protocol',
  { signal_id, from, delivered_to: to },
]

test.each(['idle', 'active', 'blocked', 'suspended', 'migrating', 'integrating', 'conflicted'])(
  'WP-011 the coordinator aborts a workspace that is %s at once',
  async state => {
    const f = await fixture()
    await (state === 'idle' ? f.workspace('W') : f.worker('W'))
    await f.force('W', state)
    expect(refused(await f.root.abort(f.id('W')))).toBe('ok')
    const open = { source: 'W', target: 'R', mode: 'normal', reason: 'aborted_by_coordinator' }
    const move = { workspace_id: 'W', old_agent: 'agent:W', new_agent: 'next_W' }
    const lost = { ...move, reason: 'aborted', error: 'aborted_by_coordinator' }
    // What is open ends with the workspace (W-LIFE-10).
    const causes: Record<string, Row[]> = {
      conflicted: [['integration_aborted', 'W', 'system', open]],
      migrating: [['migration_failed', 'W', 'protocol', lost]],
    }
    await f.expectAdded([
      ...(causes[state] ?? []),
      emitted('W', 'aborted_by_coordinator', 'system'),
      aborted('W', state),
      delivered('W'),
    ])
  },
)

test('WP-011 what is terminal, and the root, cannot be aborted', async () => {
  const f = await fixture()
  for (const [name, state] of [
    ['W', 'closed'],
    ['X', 'failed'],
  ] as const) {
    await f.worker(name)
    await f.force(name, state)
  }
  const before = await f.picture()
  for (const name of ['W', 'X', 'R']) expect(refused(await f.root.abort(f.id(name)))).toBe('invalid_state')
  expect(refused(await f.root.abort('ws_none' as never))).toBe('not_found')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})

test('WP-011 nobody but the coordinator and a delegate above aborts', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.worker('C', {}, delegate)
  const worker = await f.worker('W')
  const observer = await f.observer('O')
  await f.mark()
  const before = await f.picture()
  for (const [caller, name, target] of [
    [worker, 'W', 'C'],
    [worker, 'W', 'W'],
    [observer, 'O', 'W'],
    [child, 'C', 'D'],
    [delegate, 'D', 'D'],
    [delegate, 'D', 'W'],
    [delegate, 'D', 'R'],
  ] as const) {
    expect(refused(await caller.abort(f.id(target))), `${name} aborts ${target}`).toBe('permission_denied')
    const denial = {
      user_id: null,
      capability: 'operation:abort',
      action: 'abort',
      target,
      reason: 'permission_denied',
    }
    await f.expectAdded([['capability_denied', name, caller.role, denial]])
  }
  expect(await f.picture()).toEqual(before)
  expect(refused(await delegate.abort(f.id('C')))).toBe('ok')
  await f.expectAdded([
    emitted('C', 'aborted_by_coordinator', 'worker'),
    failed('C', {
      from: 'active',
      trigger: 'aborted_by_coordinator',
      actor: 'worker',
      initiator: 'worker',
    }),
    delivered('C', 'D'),
  ])
})

test('WP-011 an abort takes the whole subtree along in one batch, whatever it is doing', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  for (const name of ['C1', 'C2', 'C3']) await f.worker(name, {}, delegate)
  await f.force('C1', 'blocked')
  await f.force('C2', 'closed')
  await f.force('C3', 'suspended')
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAdded([
    emitted('D', 'aborted_by_coordinator', 'system'),
    aborted('D', 'active'),
    cascaded('C1', 'blocked'),
    cascaded('C3', 'suspended'),
    delivered('D'),
  ])
})

test('WP-012 a failed workspace is frozen: what its agent still tries is on record outside its trail', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  unwrap(await f.checkpoint('W'))
  unwrap(await worker.writeMemory('k', 'v'))
  unwrap(await f.root.send(f.mail('W', 'feedback')))
  await f.force('W', 'failed')
  const before = await f.picture()
  const local = async () => unwrap(await f.root.query({ scope: 'local', workspace: f.id('W') })).entries
  const trail = await local()

  expect(unwrap(await worker.complete())).toMatchObject({ outcome: 'absorbed' })
  expect(refused(await f.final('W'))).toBe('rejected(workspace_not_active)')
  await f.expectAdded([
    ['signal_emitted', null, 'worker', { signal_id: 'sig1', from: 'W', type: 'complete' }],
    [
      'checkpoint_rejected',
      null,
      'protocol',
      { workspace: 'W', type: 'artifact', reason: 'workspace_not_active' },
    ],
  ])
  for (const result of [
    await f.root.suspend(f.id('W'), 'late'),
    await f.root.resume(f.id('W')),
    await f.root.abort(f.id('W')),
    await f.root.accept(f.id('W')),
    await f.root.grantRight('send', f.id('W'), f.id('R')),
  ])
    expect(refused(result)).toBe('invalid_state')
  await f.expectAdded([])
  expect(refused(await worker.consume())).toBe('invalid_state(permission_denied)')
  await f.expectAmong([['capability_denied', null, 'worker', { action: 'consume', workspace: 'W' }]])

  expect(refused(await worker.writeMemory('k', 'w'))).toBe('permission_denied')
  expect(refused(await worker.send(f.mail('R', 'query')))).toBe('rejected(permission_denied)')
  expect(refused(await f.root.send(f.mail('W', 'feedback')))).toBe('rejected(target_terminal)')
  const denial = {
    user_id: null,
    capability: 'access:write',
    action: 'write_memory',
    target: 'W',
    reason: 'permission_denied',
    workspace: 'W',
  }
  const rejected = { from: 'W', to: 'R', type: 'query', reason: 'permission_denied' }
  await f.expectAmong([
    ['capability_denied', null, 'worker', denial],
    ['envelope_rejected', null, 'protocol', rejected],
    ['envelope_rejected', 'R', 'protocol', { to: 'W', reason: 'target_terminal' }],
  ])
  expect(await f.picture()).toEqual(before)
  expect(await local()).toEqual(trail)
  expect(f.row(trail.at(-1)!)).toEqual(aborted('W', 'active'))
  await f.restart()
  await f.settle()
  expect(await f.picture()).toEqual(before)
  expect(await local()).toEqual(trail)
  expect(unwrap(await f.root.readMemory('k', f.id('W')))).toBe('v')
})

test.each(['idle', 'active', 'blocked'])('WP-013 an agent that is %s says that it failed', async state => {
  const f = await fixture()
  await (state === 'idle' ? f.workspace('W') : f.worker('W'))
  await f.force('W', state)
  expect(unwrap(await f.agent('W').failed('x'))).toMatchObject({ outcome: 'applied' })
  await f.expectAdded([
    emitted('W', 'x', 'worker'),
    failed('W', {
      from: state,
      trigger: 'agent_failed',
      actor: 'protocol',
      initiator: 'worker',
      reason: 'x',
    }),
    delivered('W'),
  ])
})

test.each(['integrating', 'conflicted'])(
  'WP-013 an agent whose work is %s can no longer fail it',
  async state => {
    const f = await fixture()
    await f.worker('W')
    await f.force('W', state)
    const before = await f.picture()
    expect(unwrap(await f.agent('W').failed('x'))).toMatchObject({ outcome: 'absorbed' })
    await f.expectAdded([emitted('W', 'x', 'worker'), delivered('W')])
    expect(await f.picture()).toEqual(before)
  },
)

test('WP-013 a failure takes the task along, between the state change and the delivery', async () => {
  const f = await fixture()
  const { tasks } = unwrap(await f.root.submitGraph([{ name: 'T', description: 'do it' }] as never))
  f.name(tasks[0]!, 'T')
  await f.worker('W', { task: tasks[0]!, directive: undefined as never })
  await f.mark()
  unwrap(await f.agent('W').failed('x'))
  const task = { task_id: 'T', workspace_id: 'W' }
  await f.expectAdded([
    emitted('W', 'x', 'worker'),
    failed('W', {
      from: 'active',
      trigger: 'agent_failed',
      actor: 'protocol',
      initiator: 'worker',
      reason: 'x',
    }),
    ['task_status_changed', 'R', 'protocol', { ...task, from_status: 'assigned', to_status: 'failed' }],
    ['task_failed', 'R', 'protocol', { ...task, attempt_number: 1, failure_reason: 'x' }],
    delivered('W'),
  ])
})

test('WP-016 when the coordinator fails, everything fails, and the root is last', async () => {
  const f = await fixture()
  await f.worker('W', { owner: 'ux' })
  await f.worker('W2', { owner: 'uy' })
  await f.mark()
  const before = await f.picture()
  for (const result of [
    await f.root.suspend(f.id('R'), 'no'),
    await f.root.migrate(f.id('R'), 'agent_2', 'move'),
    await f.root.terminate(f.id('R'), 1000, 'enough'),
    await f.root.abort(f.id('R')),
    await f.root.resume(f.id('R')),
    await f.root.accept(f.id('R')),
    await f.root.emit({ type: 'suspend', ref: f.id('R') }),
    await f.root.emit({ type: 'migrate', ref: f.id('R') }),
  ])
    expect(refused(result)).toBe('invalid_state')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)

  expect(unwrap(await f.root.failed('lost'))).toMatchObject({ outcome: 'applied' })
  await f.expectAdded([
    emitted('R', 'lost', 'system'),
    cascaded('W'),
    cascaded('W2'),
    failed('R', {
      from: 'active',
      trigger: 'agent_failed',
      actor: 'protocol',
      initiator: 'coordinator',
      reason: 'lost',
    }),
  ])
  expect(refused(await f.root.started())).toBe('invalid_state')
  expect((await f.trail.runs()).find(run => run.run === f.run.id)?.ended).toBe(true)
})

test('WM-093 the fall of the root takes every owner, every depth and every state along', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, owner: 'alice' })
  await f.worker('C', { owner: 'bob' }, delegate)
  await f.worker('W', { owner: 'bob' })
  await f.worker('X', { owner: 'carol' })
  await f.worker('Y', { owner: 'alice' })
  await f.force('W', 'suspended')
  await f.force('X', 'closed')
  unwrap(await f.root.send(f.mail('W', 'feedback')))
  await f.force('Y', 'integrating')
  unwrap(await f.root.beginIntegration(f.id('Y')))
  await f.mark()
  unwrap(await f.root.failed('lost'))
  const open = { source: 'Y', target: 'R', mode: 'normal', reason: 'parent_failed' }
  await f.expectAdded([
    emitted('R', 'lost', 'system'),
    cascaded('D'),
    cascaded('C'),
    cascaded('W', 'suspended'),
    ['integration_aborted', 'Y', 'protocol', open],
    cascaded('Y', 'integrating'),
    [
      'envelope_undeliverable',
      'R',
      'protocol',
      { envelope_id: 'env1', from: 'R', to: 'W', reason: 'failed' },
    ],
    failed('R', {
      from: 'active',
      trigger: 'agent_failed',
      actor: 'protocol',
      initiator: 'coordinator',
      reason: 'lost',
    }),
  ])
  const parents = await f.run.read(run =>
    ['D', 'C', 'W', 'X', 'Y'].map(name => f.nameOf(run.workspaces.get(f.id(name))!.parent!.id)),
  )
  expect(parents).toEqual(['R', 'D', 'R', 'R', 'R'])
})
