// Port rights: how they are used, handed on, granted and revoked (W-PORT-06 to -10, W-TOPO-CHAN-04).
import { type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { arrived, created, delivered, receipt, rejected, send, withNotes } from '../testing/mail.ts'
import { grant, moved, rightsBetween, sendBad, used } from '../testing/rights.ts'
import { carriedFixture } from '../testing/transport.ts'

const note = (id: string, from: string, to: string) => ({ id, from, to, type: 'note' })

async function withWorkers(...names: string[]): Promise<Fixture> {
  const f = await fixture({ run: withNotes })
  for (const name of names) await f.worker(name)
  await f.mark()
  return f
}

test('W-PORT-07 a lasting right is used before one that serves once', async () => {
  const f = await withWorkers('W', 'W2')
  const once = await grant(f, 'once', 'send_once', 'W', 'W2')
  const always = await grant(f, 'always', 'send', 'W', 'W2')
  await f.mark()
  await send(f, f.agent('W'), 'E', 'W2', 'note')
  await f.expectAdded(arrived('sig1', note('E', 'W', 'W2')))
  expect(await rightsBetween(f, 'W', 'W2')).toEqual([once, always])
})

test.for([
  { how: 'void, since its target failed', lose: async (f: Fixture) => f.root.abort(f.id('W2')) },
  { how: 'void, since its holder failed', lose: async (f: Fixture) => f.root.abort(f.id('W')) },
])('W-PORT-06 an envelope whose listed right is $how by delivery arrives without it', async ({ lose }) => {
  const { f, transport } = await carriedFixture({ run: withNotes })
  for (const name of ['W', 'W2', 'W3']) await f.worker(name)
  await grant(f, 'right', 'send', 'W', 'W2')
  await grant(f, 'way', 'send', 'W', 'W3')
  transport.begin(f.clock, () => 'delay')
  await send(f, f.agent('W'), 'E', 'W3', 'note', { rights: [{ type: 'send', target: f.id('W2') }] })
  const lost: Result<unknown> = await lose(f)
  unwrap(lost)
  await f.mark()
  transport.release()
  const mail = note('E', 'W', 'W3')
  const sent = (await f.state('W')) === 'failed' ? receipt('sig1', mail).slice(0, 1) : receipt('sig1', mail)
  await f.expectAdded([delivered(mail), ...sent])
  expect(await rightsBetween(f, 'W3', 'W2')).toEqual([])
  const consumed = unwrap(await f.agent('W3').consume())
  expect(consumed && f.nameOf(consumed.id)).toBe('E')
})

test('W-PORT-06 a send_once that its holder uses before delivery does not travel', async () => {
  const { f, transport } = await carriedFixture({ run: withNotes })
  for (const name of ['W', 'W2', 'W3']) await f.worker(name)
  await grant(f, 'once', 'send_once', 'W', 'W2')
  await grant(f, 'way', 'send', 'W', 'W3')
  await f.mark()
  transport.begin(f.clock, (_attempt, { to }) => (to === f.id('W3') ? 'delay' : 'pass'))
  await send(f, f.agent('W'), 'E', 'W3', 'note', { rights: [{ type: 'send_once', target: f.id('W2') }] })
  await send(f, f.agent('W'), 'N', 'W2', 'note')
  const [first, ...rest] = arrived('sig1', note('N', 'W', 'W2'))
  await f.expectAdded([created(note('E', 'W', 'W3')), first!, used('once', 'W', 'W2', 'N'), ...rest])
  transport.release()
  await f.expectAdded([delivered(note('E', 'W', 'W3')), ...receipt('sig2', note('E', 'W', 'W3'))])
})

test('W-PORT-06 of a right that two envelopes list the first to arrive has it', async () => {
  const f = await withWorkers('W', 'W2', 'W3', 'W4')
  await grant(f, 'right', 'send', 'W', 'W2')
  await grant(f, 'way3', 'send', 'W', 'W3')
  await grant(f, 'way4', 'send', 'W', 'W4')
  await f.bring('W3', 'suspended')
  await f.mark()
  const rights = [{ type: 'send', target: f.id('W2') }]
  await send(f, f.agent('W'), 'E3', 'W3', 'note', { rights })
  await send(f, f.agent('W'), 'E4', 'W4', 'note', { rights })
  await f.expectAdded([
    created(note('E3', 'W', 'W3')),
    created(note('E4', 'W', 'W4')),
    delivered(note('E4', 'W', 'W4')),
    moved('right', 'send', 'W', 'W4', 'W2', 'E4'),
    ...receipt('sig1', note('E4', 'W', 'W4')),
  ])
  unwrap(await f.root.resume(f.id('W3')))
  await f.expectAdded([
    ['suspension_resumed', 'W3', 'system'],
    ['workspace_state_changed', 'W3', 'system'],
    delivered(note('E3', 'W', 'W3')),
    ...receipt('sig2', note('E3', 'W', 'W3')),
  ])
})

test('W-PORT-06 a right listed twice takes two rights, and one is not enough', async () => {
  const f = await withWorkers('W', 'W2', 'W3')
  const worker = f.agent('W')
  await grant(f, 'way', 'send', 'W', 'W3')
  await grant(f, 'one', 'send_once', 'W', 'W2')
  await f.mark()
  const rights = [1, 2].map(() => ({ type: 'send_once', target: f.id('W2') }))
  expect(await sendBad(f, worker, 'B', f.mail('W3', 'note', { rights }))).toBe('rejected(invalid_structure)')
  await f.expectAdded([rejected(note('B', 'W', 'W3'), 'invalid_structure')])
  expect(await rightsBetween(f, 'W', 'W2')).toHaveLength(1)
  await grant(f, 'two', 'send_once', 'W', 'W2')
  await f.mark()
  await send(f, worker, 'E', 'W3', 'note', { rights })
  await f.expectAdded([
    created(note('E', 'W', 'W3')),
    delivered(note('E', 'W', 'W3')),
    moved('one', 'send_once', 'W', 'W3', 'W2', 'E'),
    moved('two', 'send_once', 'W', 'W3', 'W2', 'E'),
    ...receipt('sig1', note('E', 'W', 'W3')),
  ])
  expect(await rightsBetween(f, 'W', 'W2')).toEqual([])
  expect(await rightsBetween(f, 'W3', 'W2')).toHaveLength(2)
})

test('W-PORT-10 a grant needs two workspaces that are alive and differ, and a type that sends', async () => {
  const f = await fixture()
  for (const name of ['W', 'W2']) await f.worker(name)
  await f.bring('W2', 'failed')
  await f.mark()
  const before = await f.picture()
  expect(refused(await f.root.grantRight('receive' as 'send', f.id('W'), f.id('R')))).toBe('invalid_argument')
  expect(refused(await f.root.grantRight('send', f.id('W'), f.id('W')))).toBe('invalid_argument')
  expect(refused(await f.root.grantRight('send', f.id('W'), f.id('W2')))).toBe('invalid_state')
  expect(refused(await f.root.grantRight('send', f.id('W2'), f.id('W')))).toBe('invalid_state')
  expect(refused(await f.root.grantRight('send', 'nobody' as never, f.id('W')))).toBe('not_found')
  expect(refused(await f.root.grantRight('send', f.id('W'), 'nobody' as never))).toBe('not_found')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})
