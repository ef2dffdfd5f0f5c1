// What happens between acceptance and consumption: W-ENV-08 to -13, -18, W-WS-21, W-TRAIL-05.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
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

async function consumed(f: Fixture, name: string): Promise<string | undefined> {
  const envelope = unwrap(await f.agent(name).consume())
  return envelope && f.nameOf(envelope.id)
}

test('WM-006 an envelope whose entry cannot be written was never sent', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  const before = await f.picture()
  breakDisk(f)
  expect(refused(await f.root.send(f.mail('W', 'directive')))).toBe('trail_unavailable')
  f.disks.trail.mend()
  await f.advance(100_000)
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})

test('WP-031 without an entry there is no envelope, and the next one is as good as ever', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  await f.mark()
  transport.begin(f.clock)
  breakDisk(f)
  expect(refused(await f.root.send(f.mail('W', 'directive')))).toBe('trail_unavailable')
  expect(await inboxOf(f, 'W')).toEqual([])
  f.disks.trail.mend()
  await f.expectAdded([])
  expect(transport.attempts).toEqual([])
  await send(f, f.root, 'E', 'W', 'directive')
  await f.expectAdded(arrived('sig1', E))
})

test.for([
  { outage: 'one that is over at once', milliseconds: 0 },
  { outage: 'one that outlasts all redeliveries', milliseconds: 60_000 },
])(
  'WP-031 an envelope that cannot be placed because the trail is away is placed once when the trail is back: $outage',
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

test('WP-031 a failed write of somebody else starts no redelivery anew', async () => {
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
    [
      'envelope_undeliverable',
      'R',
      'protocol',
      { envelope_id: 'E', from: 'R', to: 'W', reason: 'delivery_exhausted' },
    ],
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
    [
      'envelope_undeliverable',
      'R',
      'protocol',
      { envelope_id: 'E', from: 'R', to: 'W', reason: 'delivery_exhausted' },
    ],
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

test('WP-033 urgent mail is consumed first, each class in order of placement, also while blocked', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.bring('W', 'blocked')
  await f.mark()
  const mail = [
    ['N1', 'normal'],
    ['U1', 'urgent'],
    ['N2', 'normal'],
    ['U2', 'urgent'],
  ] as const
  for (const [name, priority] of mail) await send(f, f.root, name, 'W', 'directive', { priority })
  // Channel order is the order of sending: priority orders consumption only.
  const rows = mail.map(([id, priority], at) => {
    const each = { ...E, id }
    return {
      created: created(each, { priority }),
      placed: [delivered(each), ...receipt(`sig${at + 1}`, each)],
    }
  })
  const added = (await f.added()).map(entry => f.row(entry))
  expect(added.filter(([type]) => type === 'envelope_created')).toEqual(rows.map(each => each.created))
  expect(added.filter(([type]) => type !== 'envelope_created')).toEqual(rows.flatMap(each => each.placed))
  await f.restart()
  await f.mark()
  const order = []
  for (let turn = 0; turn < 5; turn++) order.push(await consumed(f, 'W'))
  expect(order).toEqual(['U1', 'U2', 'N1', 'N2', undefined])
  await f.expectAdded([])
})

test('W-ENV-12 mail for a suspended worker is accepted and waits; on resumption it arrives in order, older before newer', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  await f.bring('W', 'suspended')
  await f.mark()
  transport.begin(f.clock)
  const [one, two, three] = ['E1', 'E2', 'E3'].map(id => ({ ...E, id }))
  await send(f, f.root, 'E1', 'W', 'directive')
  await send(f, f.root, 'E2', 'W', 'feedback')
  await f.advance(1_000_000)
  await f.expectAdded([created(one!), created({ ...two!, type: 'feedback' })])
  expect(transport.attempts).toEqual([])
  expect(refused(await f.agent('W').consume())).toBe('invalid_state(frozen)')
  await f.expectAmong([['capability_denied', 'W', 'worker', { action: 'consume' }]])
  const [, sent] = await Promise.all([f.root.resume(f.id('W')), f.root.send(f.mail('W', 'directive'))])
  f.name(unwrap(sent).envelope, 'E3')
  await f.settle()
  const rows = (await f.added()).map(entry => f.row(entry))
  expect(rows.filter(([type]) => type === 'envelope_delivered')).toEqual([one!, two!, three!].map(delivered))
  expect(await inboxOf(f, 'W')).toEqual(['E1', 'E2', 'E3'])
})

test('WP-039 mail that waits for a worker is given up when the worker is aborted', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.bring('W', 'suspended')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  const more = [
    await send(f, f.root, 'E2', 'W', 'feedback'),
    await send(f, f.root, 'E3', 'W', 'directive', { priority: 'urgent' }),
  ]
  await f.mark()
  f.notices.length = 0
  unwrap(await f.root.abort(f.id('W')))
  await f.expectAdded([
    [
      'signal_emitted',
      'W',
      'system',
      { signal_id: 'sig1', from: 'W', type: 'failed', reason: 'aborted_by_coordinator' },
    ],
    [
      'workspace_state_changed',
      'W',
      'system',
      {
        workspace_id: 'W',
        from_state: 'suspended',
        to_state: 'failed',
        trigger: 'aborted_by_coordinator',
        initiator: 'coordinator',
        reason: 'aborted_by_coordinator',
      },
    ],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W', delivered_to: 'R' }],
    ...['E', 'E2', 'E3'].map(
      (envelope_id): Row => [
        'envelope_undeliverable',
        'R',
        'protocol',
        { envelope_id, from: 'R', to: 'W', reason: 'failed' },
      ],
    ),
  ])
  for (const each of [id, ...more])
    expect(unwrap(await f.root.readEnvelope(each))).toMatchObject({
      status: 'validated',
      undeliverable: 'failed',
    })
  expect(f.notices.filter(each => each.kind === 'undeliverable')).toMatchObject(
    [id, ...more].map(envelope => ({ to: f.id('R'), envelope, reason: 'failed' })),
  )
  await f.restart()
  await f.advance(100_000)
  await f.expectAdded([])
  expect(unwrap(await f.root.readEnvelope(id))).toMatchObject({
    status: 'validated',
    undeliverable: 'failed',
  })
})

test('W-ENV-17 mail that was on its way when the runtime stopped is placed by the restart, in order; held mail stays held', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  await f.worker('S')
  await f.mark()
  transport.begin(f.clock, () => 'drop')
  const mail = ['E1', 'E2', 'E3'].map(id => ({ ...E, id }))
  for (const { id } of mail) await send(f, f.root, id, 'W', 'directive')
  await f.bring('S', 'suspended')
  await send(f, f.root, 'H', 'S', 'directive')
  await f.advance(6500)
  await f.mark()
  transport.begin(f.clock, () => 'pass')
  await f.restart()
  await f.expectAdded(mail.flatMap((each, at) => [delivered(each), ...receipt(`sig${at + 1}`, each)]))
  expect(transport.attempts).toEqual([])
  await f.root.resume(f.id('S'))
  const held = { id: 'H', from: 'R', to: 'S' }
  await f.expectAdded([
    ['suspension_resumed', 'S', 'system'],
    ['workspace_state_changed', 'S', 'system'],
    delivered(held),
    ...receipt('sig4', held),
  ])
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

test('WM-100 many envelopes of one pair arrive in order through one channel, whatever stands between them', async () => {
  const { f, transport } = await carriedFixture({ run: withNotes })
  const [a, b] = [await f.worker('A'), await f.worker('B')]
  for (let turn = 0; turn < 2; turn++) unwrap(await f.root.grantRight('send', f.id('A'), f.id('B')))
  unwrap(await f.root.grantRight('send', f.id('B'), f.id('A')))
  await f.mark()
  let seen = 0
  transport.begin(f.clock, ({ nth }) => (nth < 3 && seen++ % 2 === 0 ? 'drop' : 'pass'))
  const e: string[] = []
  // e1 ← e2 ← e4, e1 ← e3, e5 alone; f1 goes back and answers e2.
  for (const [name, parent] of [
    ['e1', undefined],
    ['e2', 0],
    ['e3', 0],
    ['e4', 1],
    ['e5', undefined],
  ] as const) {
    const extra = parent === undefined ? {} : { in_reply_to: e[parent] }
    e.push(await send(f, a, name, 'B', 'note', extra))
    for (let noise = 0; noise < 20; noise++) void f.root.send(f.mail('B', 'feedback'))
  }
  const back = await send(f, b, 'f1', 'A', 'note', { in_reply_to: e[1] })
  for (let turn = 0; turn < 40; turn++) await f.advance(1000)
  const rows = (await f.added()).map(entry => f.row(entry))
  const channel = rows.filter(([, , , body]) => body?.from === 'A' && body.to === 'B')
  const inOrder = (type: string): Row[] => channel.filter(row => row[0] === type)
  expect(inOrder('envelope_created').map(row => row[3]?.envelope_id)).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
  expect(inOrder('envelope_delivered')).toEqual(
    ['e1', 'e2', 'e3', 'e4', 'e5'].map(id => delivered({ id, from: 'A', to: 'B' })),
  )
  expect(inOrder('envelope_created').map(row => row[3]?.in_reply_to)).toEqual([null, 'e1', 'e1', 'e2', null])
  const thread = unwrap(await b.thread(back))
  const named = thread.map(each => [f.nameOf(each.id), each.replies.map(id => f.nameOf(id))])
  expect(named[0]).toEqual(['e1', ['e2', 'e3']])
  expect(Object.fromEntries(named as [string, string[]][])).toEqual({
    e1: ['e2', 'e3'],
    e2: ['e4', 'f1'],
    e3: [],
    e4: [],
    f1: [],
  })
  expect(unwrap(await a.thread(e[4] as never)).map(each => f.nameOf(each.id))).toEqual(['e5'])
})
