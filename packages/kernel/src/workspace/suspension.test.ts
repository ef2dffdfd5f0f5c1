import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { decided } from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'

const suspended = (from_state: string, signal_id = 'sig1'): Row[] => [
  ['signal_emitted', 'R', 'system', { signal_id, from: 'R', type: 'suspend', ref: 'W' }],
  ['suspension_started', 'W', 'system', { workspace_id: 'W', pre_suspension_state: from_state, reason: 'paused' }],
  decided('W', from_state, 'suspended', 'suspended_by_coordinator'),
]

test('W-SIG-05 no signal of a suspended agent is heard, whatever its type', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.force('W', 'suspended')
  for (const type of ['ready', 'started', 'blocked', 'checkpoint', 'complete', 'failed', 'escalation'] as const) {
    expect(refused(await worker.emit({ type, reason: 'x' }))).toBe('permission_denied(frozen)')
    await f.expectAdded([denial('W', 'worker', `emit:${type}`, 'frozen', undefined, 'emit')])
  }
  expect(await f.state('W')).toBe('suspended')
})

test('W-MIG-02 a suspension leaves the children at work, and their signals wait', async () => {
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

test('W-MIG-01 the signal of the coordinator is the operation, and a suspension needs a reason', async () => {
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
