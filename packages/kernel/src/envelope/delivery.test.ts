// What happens between acceptance and consumption (W-ENV-08 to -16, -18, W-WS-21, W-TRAIL-05), and when attempts that
// failed are made again.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, type Row, refused } from '../testing/fixture.ts'
import {
  arrived,
  created,
  delivered,
  inboxOf,
  receipt,
  redelivered,
  send,
  undeliverable,
  withNotes,
} from '../testing/mail.ts'
import { changed, emitted, delivered as heard } from '../testing/tasks.ts'
import { carriedFixture, carriedWorker } from '../testing/transport.ts'

const E = { id: 'E', from: 'R', to: 'W', type: 'directive' }

const exhausted = (signal: string, mail = E): readonly Row[] => [
  undeliverable(mail, 'delivery_exhausted'),
  emitted(signal, mail.to, 'failed', 'protocol', { reason: 'delivery_exhausted', ref: mail.id }),
  heard(signal, mail.to, mail.from),
]

/** Every write fails until the disk is mended: the log tries a second segment before it gives up. */
function breakDisk(f: Fixture): void {
  f.disks.trail.fail('write', { times: 1_000_000 })
}

test('W-ENV-08 an envelope that cannot be placed for longer than all redeliveries take is placed once when the trail is back', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, ({ nth }) => (nth === 1 ? 'delay' : 'pass'))
  await send(f, f.root, 'E', 'W', 'directive')
  breakDisk(f)
  transport.release()
  await f.settle()
  for (let passed = 0; passed < 60_000; passed += 500) await f.advance(500)
  await f.expectAdded([created(E)])
  f.disks.trail.mend()
  for (let turn = 0; turn < 4; turn++) await f.advance(1000)
  await f.expectAdded([delivered(E), ...receipt('sig1', E)])
  expect(await inboxOf(f, 'W')).toEqual(['E'])
})

test('W-ENV-15 a failed write of somebody else starts no redelivery anew', async () => {
  const { f, transport } = await carriedWorker()
  await f.worker('W2')
  await f.mark()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.advance(3500)
  breakDisk(f)
  expect(refused(await f.root.suspend(f.id('W2'), 'pause'))).toBe('trail_unavailable')
  f.disks.trail.mend()
  await f.advance(100_000)
  expect(transport.times(id)).toEqual([0, 1000, 3000, 6000])
  await f.expectAdded([created(E), ...exhausted('sig1')])
})

test('W-ENV-15 giving up waits for the trail too, and makes no fifth attempt meanwhile', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.advance(6500)
  breakDisk(f)
  for (let turn = 0; turn < 10; turn++) await f.advance(1000)
  await f.expectAdded([created(E)])
  f.disks.trail.mend()
  for (let turn = 0; turn < 3; turn++) await f.advance(1000)
  await f.expectAdded(exhausted('sig1'))
  expect(transport.times(id)).toEqual([0, 1000, 3000, 6000])
})

test('W-ENV-08 an envelope is on the trail before the first attempt to deliver it, and delivered before it is placed', async () => {
  const { f, transport } = await carriedWorker()
  const seen: string[][] = []
  const inner = transport.carry.bind(transport)
  transport.carry = async (delivery, arrive) => {
    seen.push((await f.run.entries()).map(entry => entry.event_type).slice(-1))
    await inner(delivery, arrive)
  }
  await send(f, f.root, 'E', 'W', 'directive')
  await f.expectAdded(arrived('sig1', E))
  expect(seen).toEqual([['envelope_created']])
})

test('W-ENV-09 mail outlives its sender, and then nobody is told of the receipt', async () => {
  const { f, transport } = await carriedFixture()
  const worker = await f.worker('W')
  await f.mark()
  transport.begin(f.clock, () => 'delay')
  await send(f, worker, 'E', 'R', 'query')
  await f.root.abort(f.id('W'))
  await f.mark()
  transport.release()
  await f.expectAdded([
    delivered({ id: 'E', from: 'W', to: 'R' }),
    ['signal_emitted', 'R', 'protocol', { signal_id: 'sig1', from: 'R', type: 'acknowledged', ref: 'E' }],
  ])
})

test('W-ENV-11 a full inbox holds mail, for every sender and without time running, and consuming lets it in', async () => {
  const { f, transport } = await carriedWorker({ run: withNotes })
  const other = await f.worker('W2')
  unwrap(await f.root.grantRight('send', f.id('W2'), f.id('W')))
  const fill = Array.from({ length: kernelLimits.inbox - 1 }, () => f.root.send(f.mail('W', 'feedback')))
  for (const result of await Promise.all(fill)) unwrap(result)
  while ((await f.run.read(run => run.undelivered)) > 0) await f.settle()
  await f.mark()
  expect(await inboxOf(f, 'W')).toHaveLength(kernelLimits.inbox - 1)
  // Both are on their way when the last place is taken.
  transport.begin(f.clock, ({ nth }) => (nth === 1 ? 'delay' : 'pass'))
  const one = { id: 'E1', from: 'R', to: 'W', type: 'directive' }
  const two = { id: 'E2', from: 'W2', to: 'W', type: 'note' }
  await send(f, f.root, 'E1', 'W', 'directive')
  const id = await send(f, other, 'E2', 'W', 'note')
  transport.release()
  await f.expectAdded([created(one), created(two), delivered(one), ...receipt('sig1', one)])
  await f.advance(1_000_000)
  await f.expectAdded([])
  expect(transport.times(id)).toEqual([0])
  expect(await inboxOf(f, 'W')).toHaveLength(kernelLimits.inbox)
  unwrap(await f.agent('W').consume())
  await f.expectAdded([delivered(two), ...receipt('sig2', two)])
  expect(await inboxOf(f, 'W')).toHaveLength(kernelLimits.inbox)
})

test('W-ENV-10 an envelope that comes before an earlier one of its channel is turned away', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, ({ nth }) => (nth === 1 ? 'drop' : 'pass'))
  const [one, two] = ['E1', 'E2'].map(id => ({ ...E, id }))
  await send(f, f.root, 'E1', 'W', 'directive')
  const second = await send(f, f.root, 'E2', 'W', 'directive')
  expect(refused(await f.run.submit({ type: 'arrive', envelope: second }))).toBe('invalid_state')
  await f.expectAdded([created(one!), created(two!)])
  await f.advance(1000)
  await f.advance(1000)
  await f.expectAdded([delivered(one!), ...receipt('sig1', one!), delivered(two!), ...receipt('sig2', two!)])
})

test('W-ENV-15 W-SIG-08 the notice about what a person wrote to the root is on record and goes to nobody', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, () => 'drop')
  const { envelope } = unwrap(await f.runtime.user('ux').inject(f.run.id, f.mail('R', 'directive')))
  f.name(envelope, 'E')
  await f.mark()
  await f.advance(7000)
  await f.expectAdded(exhausted('sig1', { ...E, to: 'R' }).slice(0, 2))
})

test('W-ENV-16 a confirmation that never comes ends after the fourth attempt without a word', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, () => 'unconfirmed')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.expectAdded(arrived('sig1', E))
  for (const wait of [1000, 2000, 3000]) {
    await f.advance(wait)
    await f.expectAdded([redelivered(E)])
  }
  await f.advance(100_000)
  await f.expectAdded([])
  expect(transport.times(id)).toEqual([0, 1000, 3000, 6000])
})

test('W-ENV-16 a transport that brings everything twice is noted each time, and mail behind it goes on', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, () => 'duplicate')
  const mail = ['E1', 'E2'].map(id => ({ ...E, id }))
  for (const { id } of mail) {
    await send(f, f.root, id, 'W', 'directive')
    await f.settle()
  }
  await f.advance(100_000)
  const [one, two] = mail
  await f.expectAdded([...arrived('sig1', one!), redelivered(one!), ...arrived('sig2', two!), redelivered(two!)])
  expect(transport.attempts).toHaveLength(2)
})

test('W-ENV-14 the clocks of redelivery stand still while the receiver holds mail, and attempts made before count', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.advance(1500)
  await f.root.suspend(f.id('W'), 'pause')
  await f.advance(1_000_000)
  expect(transport.times(id)).toEqual([0, 1000])
  await f.mark()
  await f.root.resume(f.id('W'))
  await f.expectAdded([
    ['suspension_resumed', 'W', 'system'],
    ['workspace_state_changed', 'W', 'system'],
  ])
  await f.advance(1499)
  expect(transport.times(id)).toEqual([0, 1000])
  await f.advance(1 + 3000 + 999)
  expect(transport.times(id)).toEqual([0, 1000, 1_003_000, 1_006_000])
  await f.expectAdded([])
  await f.advance(1)
  await f.expectAdded(exhausted('sig1'))
})

test('W-ENV-11 an envelope that comes while its receiver is suspended is not placed, and comes again at once when that ends', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, ({ nth }) => (nth === 1 ? 'delay' : 'pass'))
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.root.suspend(f.id('W'), 'pause')
  await f.mark()
  transport.release()
  await f.advance(50_000)
  await f.expectAdded([])
  const view = await f.root.readEnvelope(id)
  expect(view.ok && view.value.status).toBe('validated')
  await f.root.resume(f.id('W'))
  await f.expectAdded([
    ['suspension_resumed', 'W', 'system'],
    ['workspace_state_changed', 'W', 'system'],
    delivered(E),
    ...receipt('sig1', E),
  ])
})

test('W-ENV-18 an envelope in redelivery is given up when its receiver completes, and never carried again', async () => {
  const { f, transport } = await carriedWorker()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.advance(1000)
  await f.final('W')
  await f.mark()
  await f.agent('W').complete()
  await f.expectAdded([
    emitted('sig1', 'W', 'complete', 'worker'),
    changed('W', 'active', 'integrating', 'agent_complete', 'protocol', 'worker'),
    heard('sig1', 'W', 'R'),
    undeliverable(E, 'integrating'),
  ])
  await f.advance(100_000)
  await f.expectAdded([])
  expect(transport.times(id)).toEqual([0, 1000])
})
