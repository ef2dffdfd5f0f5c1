// Signals: which an agent may emit (W-SIG-02, -05, -14), and their delivery over a transport that carries them
// (W-SIG-06, -09).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Delivery, Transport } from '../runtime/actor/transport.ts'
import { fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { decided, delivered, emitted } from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'

interface Carried {
  readonly delivery: Delivery
  readonly arrive: () => Promise<void>
}

/**
 * Carries everything at once except the signals that it is told to keep; those arrive, late or again, when the test
 * says so.
 */
class HoldingTransport implements Transport {
  readonly signals = true
  readonly kept: Carried[] = []
  readonly seen: Carried[] = []
  keeps: (delivery: Delivery) => boolean = () => false

  carry(delivery: Delivery, arrive: () => Promise<void>): Promise<void> {
    this.seen.push({ delivery, arrive })
    if (!this.keeps(delivery)) return arrive()
    this.kept.push({ delivery, arrive })
    return new Promise(() => undefined)
  }
}

test('W-SIG-06 a signal that is lost on the way is carried again and never given up', async () => {
  const transport = new HoldingTransport()
  const f = await withWorker({ transport, redeliveryBase: 100 })
  const worker = f.agent('W')
  transport.keeps = ({ kind }) => kind === 'signal'
  unwrap(await worker.blocked('waiting'))
  await f.settle()
  const attempts: number[] = []
  for (let base = 0; base < 9; base++) {
    attempts.push(transport.kept.length)
    await f.advance(100)
  }
  // Attempts at 0, 1, 3 and 6 bases as for mail (W-ENV-14), then one in every base.
  expect(attempts).toEqual([1, 2, 2, 3, 3, 3, 4, 5, 6])
  transport.keeps = () => false
  await f.advance(100)
  await f.expectAmong([['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W' }]])
  const pending = f.clock.pending
  await f.advance(10_000)
  expect(transport.kept).toHaveLength(7)
  expect(f.clock.pending).toBe(pending)
})

test('W-SIG-09 a signal that the transport brings twice is recorded twice and processed once', async () => {
  const transport = new HoldingTransport()
  const f = await withWorker({ transport })
  const worker = f.agent('W')
  f.notices.length = 0
  unwrap(await worker.blocked('waiting'))
  await f.expectAmong([delivered('sig1', 'W', 'R')])
  unwrap(await worker.started())
  await f.mark()
  const before = await f.picture()
  f.notices.length = 0

  const repeated = transport.seen.findLast(each => f.nameOf(each.delivery.id) === 'sig1')
  await repeated!.arrive()
  await f.expectAdded([delivered('sig1', 'W', 'R')])
  expect(f.notices).toEqual([])
  expect(await f.picture()).toEqual(before)

  await f.restart()
  await f.mark()
  f.notices.length = 0
  await f.run.submit({ type: 'arrive_signal', signal: repeated!.delivery.id as never, to: f.root.workspace })
  await f.expectAdded([delivered('sig1', 'W', 'R')])
  expect(f.notices).toEqual([])
})

test.each([
  ['together with its emission', false],
  ['by the transport', true],
])('W-SIG-06 a receipt for a suspended sender waits until it is resumed, delivered %s', async (_how, signals) => {
  const transport = new HoldingTransport()
  const { carry } = transport
  const f = await withWorker({ transport: { carry: carry.bind(transport), signals } })
  const worker = f.agent('W')
  transport.keeps = ({ kind }) => kind === 'envelope'
  const sent = [
    unwrap(await worker.send(f.mail('R', 'query'))).envelope,
    unwrap(await worker.send(f.mail('R', 'query'))).envelope,
  ]
  for (const [index, envelope] of sent.entries()) f.name(envelope, `Q${index + 1}`)
  await f.settle()
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  transport.keeps = () => false
  await f.mark()

  await transport.kept[0]!.arrive()
  const placed = (number: number): Row[] => [
    ['envelope_delivered', 'R', 'protocol', { envelope_id: `Q${number}`, from: 'W', to: 'R' }],
    emitted(`sig${number}`, 'R', 'acknowledged', 'protocol', { ref: `Q${number}` }),
  ]
  await f.expectAdded([...placed(1), ...placed(2)])

  unwrap(await f.root.resume(f.id('W')))
  await f.expectAdded([
    ['suspension_resumed', 'W', 'system', { workspace_id: 'W', resumed_to_state: 'active', duration: 0 }],
    decided('W', 'suspended', 'active', 'resumed_by_coordinator'),
    delivered('sig1', 'R', 'W'),
    delivered('sig2', 'R', 'W'),
  ])
})

test('W-SIG-06 a signal on its way to a workspace that is suspended meanwhile arrives only after the resumption', async () => {
  const transport = new HoldingTransport()
  const f = await fixture({ transport, redeliveryBase: 100 })
  const worker = await f.worker('W')
  transport.keeps = ({ kind, to }) => kind === 'signal' && to === f.id('W') && transport.kept.length === 0
  unwrap(await worker.send(f.mail('R', 'query')))
  await f.settle()
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  await f.mark()

  await expect(transport.kept[0]!.arrive()).rejects.toMatchObject({ code: 'invalid_state' })
  await f.advance(1000)
  await f.expectAdded([])
  unwrap(await f.root.resume(f.id('W')))
  await f.advance(1000)
  await f.expectAmong([
    ['workspace_state_changed', 'W', 'system', { to_state: 'active' }],
    ['signal_delivered', 'W', 'protocol', { from: 'R', delivered_to: 'W' }],
  ])
})

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
  const f = await withWorker()
  const worker = f.agent('W')
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
