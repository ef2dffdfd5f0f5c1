// Attempts that fail, and when they are made again: W-ENV-14 to -16.
import { type EntryId, formatTimestamp, unwrap } from '@parley/core'
import { stamp } from '@parley/trail'
import { expect, test } from 'vitest'
import { type Fixture, refused } from '../testing/fixture.ts'
import { arrived, created, delivered, receipt, redelivered, send, withNotes } from '../testing/mail.ts'
import { carriedFixture, type TestTransport } from '../testing/transport.ts'

const E = { id: 'E', from: 'R', to: 'W', type: 'directive' }

const exhausted = (signal: string, mail = E) =>
  [
    [
      'envelope_undeliverable',
      mail.from,
      'protocol',
      { envelope_id: mail.id, from: mail.from, to: mail.to, reason: 'delivery_exhausted' },
    ],
    [
      'signal_emitted',
      mail.to,
      'protocol',
      { signal_id: signal, from: mail.to, type: 'failed', reason: 'delivery_exhausted', ref: mail.id },
    ],
    [
      'signal_delivered',
      mail.from,
      'protocol',
      { signal_id: signal, from: mail.to, delivered_to: mail.from },
    ],
  ] as const

async function withWorker(
  options: Parameters<typeof carriedFixture>[0] = {},
): Promise<{ f: Fixture; transport: TestTransport }> {
  const made = await carriedFixture(options)
  await made.f.worker('W')
  await made.f.mark()
  return made
}

test('WP-032 mail of one channel arrives in the order in which it was sent, also when the first attempt is lost', async () => {
  const { f, transport } = await withWorker()
  let first = ''
  transport.begin(f.clock, ({ id, nth }) => {
    first ||= id
    return id === first && nth === 1 ? 'drop' : 'pass'
  })
  const mail = ['E1', 'E2', 'E3'].map(id => ({ ...E, id }))
  for (const { id } of mail) await send(f, f.root, id, 'W', 'directive')
  await f.advance(999)
  await f.expectAdded(mail.map(each => created(each)))
  await f.advance(1)
  await f.expectAdded(mail.flatMap((each, at) => [delivered(each), ...receipt(`sig${at + 1}`, each)]))
  expect(transport.attempts.map(({ id, at }) => [f.nameOf(id), at])).toEqual([
    ['E1', 0],
    ['E1', 1000],
    ['E2', 1000],
    ['E3', 1000],
  ])
})

test('WP-032 an envelope that comes before an earlier one of its channel is turned away', async () => {
  const { f, transport } = await withWorker()
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

test.for([
  { base: undefined, unit: 1000 },
  { base: 20, unit: 20 },
])(
  'WP-035 attempts are made at 0, 1, 3 and 6 times a base of $unit ms, and the fourth counts like the first',
  async ({ base, unit }) => {
    const { f, transport } = await withWorker(base === undefined ? {} : { redeliveryBase: base })
    transport.begin(f.clock, ({ nth }) => (nth < 4 ? 'drop' : 'pass'))
    const id = await send(f, f.root, 'E', 'W', 'directive')
    await f.advance(6 * unit - 1)
    await f.expectAdded([created(E)])
    expect(transport.times(id)).toEqual([0, unit, 3 * unit])
    await f.advance(1)
    await f.expectAdded([delivered(E), ...receipt('sig1', E)])
    await f.advance(100 * unit)
    await f.expectAdded([])
    expect(transport.times(id)).toEqual([0, unit, 3 * unit, 6 * unit])
  },
)

test.for([
  { base: undefined, unit: 1000 },
  { base: 20, unit: 20 },
])(
  'WP-036 what never arrives is given up one base after the third redelivery (base $unit ms), which changes no state',
  async ({ base, unit }) => {
    const { f, transport } = await withWorker(base === undefined ? {} : { redeliveryBase: base })
    transport.begin(f.clock, () => 'drop')
    const id = await send(f, f.root, 'E', 'W', 'directive')
    const before = await f.picture()
    await f.advance(7 * unit - 1)
    await f.expectAdded([created(E)])
    await f.advance(1)
    await f.expectAdded(exhausted('sig1'))
    expect([await f.state('R'), await f.state('W')]).toEqual(['active', 'active'])
    const view = await f.root.readEnvelope(id)
    expect(view.ok && view.value).toMatchObject({ status: 'validated', undeliverable: 'delivery_exhausted' })
    expect(await f.picture()).toEqual(withGivenUp(before, id))
    transport.fate = () => 'pass'
    await f.advance(100 * unit)
    await f.expectAdded([])
    expect(transport.times(id)).toEqual([0, unit, 3 * unit, 6 * unit])
  },
)

/** The picture of a run in which one envelope was given up and nothing else happened. */
function withGivenUp(picture: object, id: string): object {
  const { envelopes, ...rest } = picture as { envelopes: { id: string }[] }
  return {
    ...rest,
    envelopes: envelopes.map(each =>
      each.id === id ? { ...each, undeliverable: 'delivery_exhausted' } : each,
    ),
  }
}

test('W-ENV-15 W-SIG-08 the notice about what a person wrote to the root is on record and goes to nobody', async () => {
  const { f, transport } = await withWorker()
  transport.begin(f.clock, () => 'drop')
  const { envelope } = unwrap(await f.runtime.user('ux').inject(f.run.id, f.mail('R', 'directive')))
  f.name(envelope, 'E')
  await f.mark()
  await f.advance(7000)
  await f.expectAdded(exhausted('sig1', { ...E, to: 'R' }).slice(0, 2))
})

test('WM-038 a receiver that is never reached fails for the sender alone, and the coordinator hears of it', async () => {
  const { f, transport } = await withWorker({ run: withNotes })
  const worker = f.agent('W')
  await f.worker('W2')
  const task = await f.root.submitGraph([{ name: 'A', description: 'do A' }] as never)
  expect(task.ok).toBe(true)
  await f.root.grantRight('send', f.id('W'), f.id('W2'))
  await f.mark()
  f.notices.length = 0
  transport.begin(f.clock, () => 'drop')
  const note = { id: 'E', from: 'W', to: 'W2', type: 'note' }
  const id = await send(f, worker, 'E', 'W2', 'note')
  await f.advance(6999)
  await f.expectAdded([created(note)])
  expect(transport.times(id)).toEqual([0, 1000, 3000, 6000])
  await f.advance(1)
  await f.expectAdded(exhausted('sig1', note))
  expect(await Promise.all(['R', 'W', 'W2'].map(name => f.state(name)))).toEqual([
    'active',
    'active',
    'active',
  ])
  const told = f.notices.filter(each => each.kind === 'undeliverable').map(each => f.nameOf(each.to))
  expect(told.sort()).toEqual(['R', 'W'])
  expect(f.notices.filter(each => each.kind === 'signal')).toMatchObject([
    { to: f.id('W'), from: f.id('W2'), type: 'failed', reason: 'delivery_exhausted', ref: id },
  ])
})

test('WP-037 a lost confirmation brings the envelope again, which is noted and changes nothing', async () => {
  const { f, transport } = await withWorker()
  transport.begin(f.clock, ({ nth }) => (nth === 1 ? 'unconfirmed' : 'pass'))
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.expectAdded(arrived('sig1', E))
  const consumed = await f.agent('W').consume()
  expect(consumed.ok && consumed.value?.id).toBe(id)
  await f.advance(999)
  await f.expectAdded([])
  await f.advance(1)
  await f.expectAdded([redelivered(E)])
  await f.advance(100_000)
  expect(transport.times(id)).toEqual([0, 1000])
  await f.expectAdded([])
  expect(await f.agent('W').consume()).toMatchObject({ ok: true, value: undefined })

  await f.restart()
  await f.advance(100_000)
  await f.expectAdded([])
  expect(await f.agent('W').consume()).toMatchObject({ ok: true, value: undefined })
  expect(transport.times(id)).toEqual([0, 1000])
})

test('WP-037 an envelope that lies in the inbox lies there once, however often it comes', async () => {
  const { f, transport } = await withWorker()
  transport.begin(f.clock, ({ nth }) => (nth === 4 ? 'pass' : 'unconfirmed'))
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.expectAdded(arrived('sig1', E))
  await f.advance(1000)
  await f.advance(2000)
  await f.restart()
  const inbox = await f.agent('W').look()
  expect(inbox.ok && inbox.value.inbox).toEqual([id])
  const consumed = await f.agent('W').consume()
  expect(consumed.ok && consumed.value?.id).toBe(id)
  await f.advance(100_000)
  await f.expectAdded([redelivered(E), redelivered(E)])
  expect(await f.agent('W').consume()).toMatchObject({ ok: true, value: undefined })
})

test('W-ENV-16 a confirmation that never comes ends after the fourth attempt without a word', async () => {
  const { f, transport } = await withWorker()
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
  const { f, transport } = await withWorker()
  transport.begin(f.clock, () => 'duplicate')
  const mail = ['E1', 'E2'].map(id => ({ ...E, id }))
  for (const { id } of mail) {
    await send(f, f.root, id, 'W', 'directive')
    await f.settle()
  }
  await f.advance(100_000)
  const [one, two] = mail
  await f.expectAdded([
    ...arrived('sig1', one!),
    redelivered(one!),
    ...arrived('sig2', two!),
    redelivered(two!),
  ])
  expect(transport.attempts).toHaveLength(2)
})

test('W-ENV-14 the clocks of redelivery stand still while the receiver holds mail, and attempts made before count', async () => {
  const { f, transport } = await withWorker()
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
  const { f, transport } = await withWorker()
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
  const { f, transport } = await withWorker()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.advance(1000)
  await f.final('W')
  await f.mark()
  await f.agent('W').complete()
  await f.expectAdded([
    ['signal_emitted', 'W', 'worker', { signal_id: 'sig1', from: 'W', type: 'complete' }],
    [
      'workspace_state_changed',
      'W',
      'protocol',
      {
        workspace_id: 'W',
        from_state: 'active',
        to_state: 'integrating',
        trigger: 'agent_complete',
        initiator: 'worker',
      },
    ],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W', delivered_to: 'R' }],
    [
      'envelope_undeliverable',
      'R',
      'protocol',
      { envelope_id: 'E', from: 'R', to: 'W', reason: 'integrating' },
    ],
  ])
  await f.advance(100_000)
  await f.expectAdded([])
  expect(transport.times(id)).toEqual([0, 1000])
})

test('W-ENV-16 an envelope that was placed and never acknowledged is acknowledged once, by the restart', async () => {
  const { f, transport } = await withWorker()
  transport.begin(f.clock, () => 'drop')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await f.settle()
  // As a runtime leaves it that appends entry by entry and stops in between.
  const at = formatTimestamp(f.runtime.clock.take())
  const body = { envelope_id: id, from: f.id('R'), to: f.id('W'), delivered_at: at }
  const placed = { event_type: 'envelope_delivered', workspace: f.id('W'), actor: 'protocol', body } as const
  unwrap(await f.trail.run(f.run.id).append({ entries: [stamp(placed, f.ids.next('e') as EntryId, at)] }))
  await f.mark()
  await f.restart()
  await f.expectAdded([redelivered(E), ...receipt('sig1', E)])
  unwrap(await f.run.submit({ type: 'arrive', envelope: id }))
  await f.expectAdded([redelivered(E)])
  expect(unwrap(await f.agent('W').look()).inbox).toEqual([id])
})
