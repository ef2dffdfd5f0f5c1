// Mail of priority `blocking` (W-ENV-13): while one lies unread, nothing else is read and nothing else is placed.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture } from '../testing/fixture.ts'
import { arrived, created, delivered, receipt, send, withNotes } from '../testing/mail.ts'
import { carriedFixture } from '../testing/transport.ts'

const blocking = { priority: 'blocking' }

async function consume(f: Fixture, name: string): Promise<string | undefined> {
  const envelope = unwrap(await f.agent(name).consume())
  await f.settle()
  return envelope && f.nameOf(envelope.id)
}

async function inboxOf(f: Fixture, name: string): Promise<string[]> {
  return unwrap(await f.agent(name).look()).inbox.map(id => f.nameOf(id))
}

/** W with two channels that end at it: from R, and from V. */
async function twoChannels(f: Fixture): Promise<void> {
  await f.worker('W')
  await f.worker('V')
  unwrap(await f.root.grantRight('send', f.id('V'), f.id('W')))
  await f.mark()
}

const fromRoot = (id: string) => ({ id, from: 'R', to: 'W', type: 'directive' })
const B3 = { id: 'B3', from: 'V', to: 'W', type: 'note' }

test.for([{ restarts: false }, { restarts: true }])(
  'W-ENV-13 blocking mail keeps out what is not blocking, and order inside a channel holds (restart in between: $restarts)',
  async ({ restarts }) => {
    const f = await fixture({ run: withNotes })
    await twoChannels(f)
    await send(f, f.root, 'B1', 'W', 'directive', blocking)
    await send(f, f.root, 'N1', 'W', 'directive')
    await send(f, f.root, 'B2', 'W', 'directive', blocking)
    await send(f, f.agent('V'), 'B3', 'W', 'note', blocking)
    await f.expectAmong([created(fromRoot('B1'), blocking), delivered(fromRoot('B1')), delivered(B3)])
    expect(await inboxOf(f, 'W')).toEqual(['B1', 'B3'])
    if (restarts) await f.restart()
    await f.mark()
    expect(await consume(f, 'W')).toBe('B1')
    expect(await inboxOf(f, 'W')).toEqual(['B3'])
    await f.expectAdded([])
    expect(await consume(f, 'W')).toBe('B3')
    await f.expectAdded([
      delivered(fromRoot('N1')),
      ...receipt('sig3', fromRoot('N1')),
      delivered(fromRoot('B2')),
      ...receipt('sig4', fromRoot('B2')),
    ])
    // The later blocking one is read first all the same: it lies there.
    expect([await consume(f, 'W'), await consume(f, 'W'), await consume(f, 'W')]).toEqual(['B2', 'N1', undefined])
  },
)

test('W-ENV-13 urgent mail is held too, and the next blocking one of another channel is not', async () => {
  const f = await fixture({ run: withNotes })
  await twoChannels(f)
  await send(f, f.root, 'B1', 'W', 'directive', blocking)
  await send(f, f.root, 'U1', 'W', 'directive', { priority: 'urgent' })
  await send(f, f.agent('V'), 'B3', 'W', 'note', blocking)
  await send(f, f.agent('V'), 'N3', 'W', 'note')
  expect(await inboxOf(f, 'W')).toEqual(['B1', 'B3'])
  await consume(f, 'W')
  await consume(f, 'W')
  expect(await inboxOf(f, 'W')).toEqual(['U1', 'N3'])
})

test('W-ENV-14 no time runs for mail that a blocking envelope keeps out', async () => {
  const { f, transport } = await carriedFixture({ run: withNotes })
  await twoChannels(f)
  transport.begin(f.clock, (_attempt, { from }) => (from === f.id('R') ? 'drop' : 'pass'))
  const normal = await send(f, f.root, 'N1', 'W', 'directive')
  await f.advance(500)
  await send(f, f.agent('V'), 'B3', 'W', 'note', blocking)
  await f.mark()
  await f.advance(100_000)
  await f.expectAdded([])
  expect(transport.times(normal)).toEqual([0])
  transport.fate = () => 'pass'
  expect(await consume(f, 'W')).toBe('B3')
  await f.advance(500)
  await f.expectAdded([delivered(fromRoot('N1')), ...receipt('sig1', fromRoot('N1'))])
})

test('W-ENV-13 a blocking envelope that arrives in a full stop of another kind changes nothing', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.bring('W', 'suspended')
  await f.mark()
  await send(f, f.root, 'B1', 'W', 'directive', blocking)
  await f.expectAdded([created(fromRoot('B1'), blocking)])
  unwrap(await f.root.resume(f.id('W')))
  await f.expectAmong([delivered(fromRoot('B1'))])
  await send(f, f.root, 'B2', 'W', 'directive', blocking)
  await f.expectAdded(arrived('sig2', fromRoot('B2'), blocking))
})
