// Which signals an agent may emit, and what becomes of the ones it may not (W-SIG-02, W-SIG-05).
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

test.each([
  ['escalation without a reason', { type: 'escalation' }],
  ['a reason that is no text', { type: 'blocked', reason: 7 }],
  ['an empty reason where none is needed', { type: 'started', reason: '' }],
  ['a reason that is too long', { type: 'blocked', reason: 'x'.repeat(4097) }],
  ['a reference that is no text', { type: 'complete', ref: 7 }],
  ['an empty reference', { type: 'complete', ref: '' }],
  ['its own timestamp', { type: 'complete', timestamp: '2026-03-01T09:05:00.000042Z' }],
  ['its own delivery', { type: 'complete', delivered_to: 'ws_1' }],
  ['an actor', { type: 'complete', actor: 'system' }],
  ['no type', {}],
  ['a type that is no text', { type: 11 }],
  ['what has no plain form', { type: 'complete', ref: () => 'x' }],
])('W-SIG-14 a signal with %s is refused without an entry', async (_fault, draft) => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  expect(refused(await worker.emit(draft as never))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(await f.state('W')).toBe('active')
})

test('W-SIG-05 an agent speaks for its own workspace only, and does not name it (W-SIG-02, W-SIG-05)', async () => {
  const f = await fixture({ level: 1 })
  const worker = await f.worker('W')
  await f.worker('W2')
  await f.mark()
  const emit = (draft: object) => worker.emit(draft as never)
  expect(refused(await emit({ type: 'complete', from: f.id('W2') }))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'emit:complete', 'permission_denied', undefined, 'emit')])
  expect(refused(await emit({ type: 'complete', from: f.id('W') }))).toBe('invalid_argument')
  await f.expectAdded([])
  expect([await f.state('W'), await f.state('W2')]).toEqual(['active', 'active'])
})
