// Attempts that fail, and when they are made again: W-ENV-14 to -16.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, refused } from '../testing/fixture.ts'
import { arrived, created, delivered, receipt, redelivered, send } from '../testing/mail.ts'
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
    ['signal_delivered', mail.from, 'protocol', { signal_id: signal, from: mail.to, delivered_to: mail.from }],
  ] as const

async function withWorker(
  options: Parameters<typeof carriedFixture>[0] = {},
): Promise<{ f: Fixture; transport: TestTransport }> {
  const made = await carriedFixture(options)
  await made.f.worker('W')
  await made.f.mark()
  return made
}

test('W-ENV-10 an envelope that comes before an earlier one of its channel is turned away', async () => {
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

test('W-ENV-15 W-SIG-08 the notice about what a person wrote to the root is on record and goes to nobody', async () => {
  const { f, transport } = await withWorker()
  transport.begin(f.clock, () => 'drop')
  const { envelope } = unwrap(await f.runtime.user('ux').inject(f.run.id, f.mail('R', 'directive')))
  f.name(envelope, 'E')
  await f.mark()
  await f.advance(7000)
  await f.expectAdded(exhausted('sig1', { ...E, to: 'R' }).slice(0, 2))
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
  await f.expectAdded([...arrived('sig1', one!), redelivered(one!), ...arrived('sig2', two!), redelivered(two!)])
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
    ['envelope_undeliverable', 'R', 'protocol', { envelope_id: 'E', from: 'R', to: 'W', reason: 'integrating' }],
  ])
  await f.advance(100_000)
  await f.expectAdded([])
  expect(transport.times(id)).toEqual([0, 1000])
})
