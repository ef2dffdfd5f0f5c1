// What happens between acceptance and consumption: W-ENV-08 to -13, -18, W-WS-21, W-TRAIL-05.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, refused } from '../testing/fixture.ts'
import { arrived, created, delivered, receipt, send, withNotes } from '../testing/mail.ts'
import { carriedFixture } from '../testing/transport.ts'

const E = { id: 'E', from: 'R', to: 'W', type: 'directive' }

/** Every write fails until the disk is mended: the log tries a second segment before it gives up. */
function breakDisk(f: Fixture): void {
  f.disks.trail.fail('write', { times: 1_000_000 })
}

async function inboxOf(f: Fixture, name: string): Promise<string[]> {
  return unwrap(await f.agent(name).look()).inbox.map(id => f.nameOf(id))
}

test.for([
  { outage: 'one that is over at once', milliseconds: 0 },
  { outage: 'one that outlasts all redeliveries', milliseconds: 60_000 },
])(
  'W-ENV-08 an envelope that cannot be placed because the trail is away is placed once when the trail is back: $outage',
  async ({ milliseconds }) => {
    const { f, transport } = await carriedFixture()
    await f.worker('W')
    await f.mark()
    transport.begin(f.clock, ({ nth }) => (nth === 1 ? 'delay' : 'pass'))
    await send(f, f.root, 'E', 'W', 'directive')
    breakDisk(f)
    transport.release()
    await f.settle()
    for (let passed = 0; passed < milliseconds; passed += 500) await f.advance(500)
    await f.expectAdded([created(E)])
    f.disks.trail.mend()
    for (let turn = 0; turn < 4; turn++) await f.advance(1000)
    await f.expectAdded([delivered(E), ...receipt('sig1', E)])
    expect(await inboxOf(f, 'W')).toEqual(['E'])
  },
)

test('W-ENV-15 a failed write of somebody else starts no redelivery anew', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
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
  await f.expectAdded([
    created(E),
    ['envelope_undeliverable', 'R', 'protocol', { envelope_id: 'E', from: 'R', to: 'W', reason: 'delivery_exhausted' }],
    ['signal_emitted', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
})

test('W-ENV-15 giving up waits for the trail too, and makes no fifth attempt meanwhile', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  await f.mark()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.advance(6500)
  breakDisk(f)
  for (let turn = 0; turn < 10; turn++) await f.advance(1000)
  await f.expectAdded([created(E)])
  f.disks.trail.mend()
  for (let turn = 0; turn < 3; turn++) await f.advance(1000)
  await f.expectAdded([
    ['envelope_undeliverable', 'R', 'protocol', { envelope_id: 'E', from: 'R', to: 'W', reason: 'delivery_exhausted' }],
    ['signal_emitted', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect(transport.times(id)).toEqual([0, 1000, 3000, 6000])
})

test('W-ENV-08 an envelope is on the trail before the first attempt to deliver it, and delivered before it is placed', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  await f.mark()
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
  const { f, transport } = await carriedFixture({ run: withNotes })
  await f.worker('W')
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
