import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'

const suspended = (from_state: string, signal_id = 'sig1'): Row[] => [
  ['signal_emitted', 'R', 'system', { signal_id, from: 'R', type: 'suspend', ref: 'W' }],
  [
    'suspension_started',
    'W',
    'system',
    { workspace_id: 'W', pre_suspension_state: from_state, reason: 'paused' },
  ],
  [
    'workspace_state_changed',
    'W',
    'system',
    {
      workspace_id: 'W',
      from_state,
      to_state: 'suspended',
      trigger: 'suspended_by_coordinator',
      initiator: 'coordinator',
    },
  ],
]
const resumed = (to_state: string, duration: number): Row[] => [
  ['suspension_resumed', 'W', 'system', { workspace_id: 'W', resumed_to_state: to_state, duration }],
  [
    'workspace_state_changed',
    'W',
    'system',
    {
      workspace_id: 'W',
      from_state: 'suspended',
      to_state,
      trigger: 'resumed_by_coordinator',
      initiator: 'coordinator',
    },
  ],
]
const created = (envelope_id: string): Row => [
  'envelope_created',
  'R',
  'system',
  {
    envelope_id,
    from: 'R',
    to: 'W',
    type: 'feedback',
    priority: 'normal',
    in_reply_to: null,
    originator: 'system',
    origin: 'agent',
  },
]
const placed = (envelope_id: string, signal_id: string): Row[] => [
  ['envelope_delivered', 'W', 'protocol', { envelope_id, from: 'R', to: 'W' }],
  ['signal_emitted', 'W', 'protocol', { signal_id, from: 'W', type: 'acknowledged', ref: envelope_id }],
  ['signal_delivered', 'R', 'protocol', { signal_id, from: 'W', delivered_to: 'R' }],
]

test.each([
  ['blocked', 'alive'],
  ['blocked', 'restarted'],
  ['active', 'alive'],
])(
  'WP-027 a workspace suspended while %s (runtime %s) returns there, and its mail waits',
  async (state, life) => {
    const f = await fixture()
    await f.worker('W')
    await f.force('W', state)
    unwrap(await f.root.suspend(f.id('W'), 'paused'))
    await f.expectAdded(suspended(state))

    for (const name of ['E1', 'E2']) f.name(unwrap(await f.root.send(f.mail('W', 'feedback'))).envelope, name)
    // One millisecond more, since the suspension itself took some microseconds.
    await f.advance(20_001)
    await f.expectAdded([created('E1'), created('E2')])
    expect(unwrap(await f.root.look(f.id('W')))).toMatchObject({ status: 'suspended', inbox: [] })
    if (life === 'restarted') {
      await f.restart()
      await f.expectAdded([])
    }

    unwrap(await f.root.resume(f.id('W')))
    await f.expectAdded([...resumed(state, 20_000), ...placed('E1', 'sig2'), ...placed('E2', 'sig3')])
    expect(await f.state('W')).toBe(state)
  },
)

test('WP-028 a suspended agent does nothing, and nobody suspends or resumes out of turn', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('W2')
  unwrap(await f.root.send(f.mail('W', 'feedback')))
  await f.settle()
  await f.force('W', 'suspended')
  const before = await f.picture()

  expect(refused(await worker.started())).toBe('permission_denied(frozen)')
  const frozen = { user_id: null, capability: 'emit:started', action: 'emit', reason: 'frozen' }
  await f.expectAdded([['capability_denied', 'W', 'worker', frozen]])

  expect(refused(await f.checkpoint('W'))).toBe('rejected(workspace_not_active)')
  const checkpoint = { workspace: 'W', type: 'artifact', reason: 'workspace_not_active' }
  await f.expectAdded([['checkpoint_rejected', 'W', 'protocol', checkpoint]])

  expect(refused(await worker.send(f.mail('R', 'query')))).toBe('rejected(permission_denied)')
  const query = { envelope_id: 'env1', from: 'W', to: 'R', type: 'query', reason: 'permission_denied' }
  await f.expectAdded([['envelope_rejected', 'W', 'protocol', query]])

  expect(refused(await worker.suspend(f.id('W'), 'rest'))).toBe('permission_denied')
  const denial = {
    user_id: null,
    capability: 'operation:suspend',
    action: 'suspend',
    target: 'W',
    reason: 'permission_denied',
  }
  await f.expectAdded([['capability_denied', 'W', 'worker', denial]])

  expect(refused(await f.root.suspend(f.id('W'), 'again'))).toBe('invalid_state')
  expect(refused(await f.root.resume(f.id('W2')))).toBe('invalid_state')
  await f.expectAdded([])
  expect(refused(await worker.writeMemory('k', 1))).toBe('permission_denied')
  await f.expectAmong([['capability_denied', 'W', 'worker', { capability: 'access:write' }]])
  expect(await f.picture()).toEqual(before)
})

test('WP-028 no signal of a suspended agent is heard, whatever its type', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.force('W', 'suspended')
  for (const type of [
    'ready',
    'started',
    'blocked',
    'checkpoint',
    'complete',
    'failed',
    'escalation',
  ] as const) {
    expect(refused(await worker.emit({ type, reason: 'x' }))).toBe('permission_denied(frozen)')
    const frozen = { user_id: null, capability: `emit:${type}`, action: 'emit', reason: 'frozen' }
    await f.expectAdded([['capability_denied', 'W', 'worker', frozen]])
  }
  expect(await f.state('W')).toBe('suspended')
})

test('WP-027 a suspension leaves the children at work, and their signals wait', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.worker('C', {}, delegate)
  await f.force('D', 'suspended')
  unwrap(await child.blocked('waiting'))
  unwrap(await child.started())
  await f.expectAdded([
    ['signal_emitted', 'C', 'worker', { signal_id: 'sig1', from: 'C', type: 'blocked', reason: 'waiting' }],
    ['workspace_state_changed', 'C', 'protocol'],
    ['signal_emitted', 'C', 'worker', { signal_id: 'sig2', from: 'C', type: 'started' }],
    ['workspace_state_changed', 'C', 'protocol'],
  ])
  unwrap(await f.root.resume(f.id('D')))
  await f.expectAdded([
    ['suspension_resumed', 'D', 'system'],
    ['workspace_state_changed', 'D', 'system'],
    ['signal_delivered', 'D', 'protocol', { signal_id: 'sig1', from: 'C', delivered_to: 'D' }],
    ['signal_delivered', 'D', 'protocol', { signal_id: 'sig2', from: 'C', delivered_to: 'D' }],
  ])
})

test('WP-027 the signal of the coordinator is the operation, and a suspension needs a reason', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  const before = await f.picture()
  for (const reason of ['', undefined, 7])
    expect(refused(await f.root.suspend(f.id('W'), reason as string))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
  unwrap(await f.root.emit({ type: 'suspend', ref: f.id('W'), reason: 'paused' }))
  await f.expectAdded(suspended('active'))
})
