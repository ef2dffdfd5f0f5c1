// Port rights: who may send, once or always, and how a right changes hands (W-PORT, W-TOPO-CHAN).
import { type Result, type RightId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { arrived, created, delivered, receipt, rejected, send, withNotes } from '../testing/mail.ts'
import { grant, granted, moved, revoked, rightsBetween, sendBad, used } from '../testing/rights.ts'
import { carriedFixture } from '../testing/transport.ts'

const note = (id: string, from: string, to: string) => ({ id, from, to, type: 'note' })

async function withWorkers(...names: string[]): Promise<Fixture> {
  const f = await fixture({ run: withNotes })
  for (const name of names) await f.worker(name)
  await f.mark()
  return f
}

test('WP-074 a send_once serves one accepted envelope: a rejected one leaves it, and of two at once one passes', async () => {
  const f = await withWorkers('W', 'W2')
  const worker = f.agent('W')
  const once = await grant(f, 'once', 'send_once', 'W', 'W2')
  await f.expectAdded([granted('once', 'send_once', 'W', 'W2')])

  expect(await sendBad(f, worker, 'B1', f.mail('W2', 'note', { priority: 'high' }))).toBe(
    'rejected(invalid_structure)',
  )
  await f.expectAdded([rejected(note('B1', 'W', 'W2'), 'invalid_structure')])
  expect(await rightsBetween(f, 'W', 'W2')).toEqual([once])

  await send(f, worker, 'E1', 'W2', 'note')
  const [first, ...rest] = arrived('sig1', note('E1', 'W', 'W2'))
  await f.expectAdded([first!, used('once', 'W', 'W2', 'E1'), ...rest])
  expect(await sendBad(f, worker, 'B2', f.mail('W2', 'note'))).toBe('rejected(no_send_right)')
  await f.expectAdded([rejected(note('B2', 'W', 'W2'), 'no_send_right')])

  await grant(f, 'fresh', 'send_once', 'W', 'W2')
  await f.mark()
  const racing = await Promise.all([worker.send(f.mail('W2', 'note')), worker.send(f.mail('W2', 'note'))])
  expect(racing.map(refused)).toEqual(['ok', 'rejected(no_send_right)'])
  const [passed, failed] = racing
  if (passed?.ok) f.name(passed.value.envelope, 'E2')
  if (failed && !failed.ok) f.name(failed.error.details.envelope as string, 'B3')
  await f.expectAdded([
    created(note('E2', 'W', 'W2')),
    used('fresh', 'W', 'W2', 'E2'),
    rejected(note('B3', 'W', 'W2'), 'no_send_right'),
    delivered(note('E2', 'W', 'W2')),
    ...receipt('sig2', note('E2', 'W', 'W2')),
  ])
  const statuses = unwrap(await f.root.rights())
    .filter(each => each.type === 'send_once')
    .map(each => each.status)
  expect(statuses).toEqual(['consumed', 'consumed'])
})

test('W-PORT-07 a lasting right is used before one that serves once', async () => {
  const f = await withWorkers('W', 'W2')
  const once = await grant(f, 'once', 'send_once', 'W', 'W2')
  const always = await grant(f, 'always', 'send', 'W', 'W2')
  await f.mark()
  await send(f, f.agent('W'), 'E', 'W2', 'note')
  await f.expectAdded(arrived('sig1', note('E', 'W', 'W2')))
  expect(await rightsBetween(f, 'W', 'W2')).toEqual([once, always])
})

test('WP-075 a listed right moves when its envelope is delivered, not before; what the root lists is made anew', async () => {
  const f = await withWorkers('W', 'W2', 'W3')
  const [worker, third] = [f.agent('W'), f.agent('W3')]
  await grant(f, 'right', 'send', 'W', 'W2')
  await grant(f, 'way', 'send', 'W', 'W3')
  await f.bring('W3', 'suspended')
  await f.mark()
  const rights = [{ type: 'send', target: f.id('W2') }]
  await send(f, worker, 'E', 'W3', 'note', { rights })
  await f.expectAdded([created(note('E', 'W', 'W3'))])
  // Until then the sender keeps it and may use it.
  await send(f, worker, 'N1', 'W2', 'note')
  await f.expectAdded(arrived('sig1', note('N1', 'W', 'W2')))
  unwrap(await f.root.resume(f.id('W3')))
  await f.expectAdded([
    ['suspension_resumed', 'W3', 'system'],
    ['workspace_state_changed', 'W3', 'system'],
    delivered(note('E', 'W', 'W3')),
    moved('right', 'send', 'W', 'W3', 'W2', 'E'),
    ...receipt('sig2', note('E', 'W', 'W3')),
  ])
  expect(await sendBad(f, worker, 'B1', f.mail('W2', 'note'))).toBe('rejected(no_send_right)')
  await f.expectAdded([rejected(note('B1', 'W', 'W2'), 'no_send_right')])
  await send(f, third, 'N2', 'W2', 'note')
  await f.expectAdded(arrived('sig3', note('N2', 'W3', 'W2')))

  const own = await rightsBetween(f, 'R', 'W2')
  const once = [{ type: 'send_once', target: f.id('W2') }]
  await send(f, f.root, 'D', 'W3', 'directive', { rights: once })
  const directive = { id: 'D', from: 'R', to: 'W3', type: 'directive' }
  await f.settle()
  const [made] = await rightsBetween(f, 'W3', 'W2', 'send_once')
  f.name(made!, 'made')
  await f.expectAdded([
    created(directive),
    delivered(directive),
    granted('made', 'send_once', 'W3', 'W2'),
    ...receipt('sig4', directive),
  ])
  expect(await rightsBetween(f, 'R', 'W2')).toEqual(own)
})

test.for([
  { how: 'revoked', lose: async (f: Fixture, right: RightId) => f.root.revokeRight(right, 'test') },
  { how: 'void, since its target failed', lose: async (f: Fixture) => f.root.abort(f.id('W2')) },
  { how: 'void, since its holder failed', lose: async (f: Fixture) => f.root.abort(f.id('W')) },
])('WP-075 an envelope whose listed right is $how by delivery arrives without it', async ({ lose }) => {
  const { f, transport } = await carriedFixture({ run: withNotes })
  for (const name of ['W', 'W2', 'W3']) await f.worker(name)
  const right = await grant(f, 'right', 'send', 'W', 'W2')
  await grant(f, 'way', 'send', 'W', 'W3')
  transport.begin(f.clock, () => 'delay')
  await send(f, f.agent('W'), 'E', 'W3', 'note', { rights: [{ type: 'send', target: f.id('W2') }] })
  const lost: Result<unknown> = await lose(f, right)
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

test('WP-075 a send_once that its holder uses before delivery does not travel', async () => {
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

test('WP-076 only a right that the sender holds can be listed, never a receive right, never one to its own inbox', async () => {
  const f = await withWorkers('W', 'W2')
  const worker = f.agent('W')
  const before = await f.picture()
  const lists = [
    [{ type: 'send', target: f.id('W2') }],
    [{ type: 'receive', target: f.id('W') }],
    [{ type: 'send_once', target: f.id('W') }],
  ]
  for (const rights of lists) {
    expect(await sendBad(f, worker, 'B', f.mail('R', 'query', { rights }))).toBe(
      'rejected(invalid_structure)',
    )
    await f.expectAdded([rejected({ id: 'B', from: 'W', to: 'R', type: 'query' }, 'invalid_structure')])
  }
  // Nor may the root list a receive right.
  const receive = [{ type: 'receive', target: f.id('W2') }]
  expect(await sendBad(f, f.root, 'B', f.mail('W', 'directive', { rights: receive }))).toBe(
    'rejected(invalid_structure)',
  )
  await f.expectAdded([rejected({ id: 'B', from: 'R', to: 'W', type: 'directive' }, 'invalid_structure')])
  expect(await f.picture()).toEqual(before)
})

test('WP-077 a revocation stops what is sent after it, and nothing that was accepted', async () => {
  const f = await withWorkers('W')
  const [up] = await rightsBetween(f, 'W', 'R')
  const [down] = await rightsBetween(f, 'R', 'W')
  const [receive] = await rightsBetween(f, 'W', 'W')
  f.name(up!, 'up')
  f.name(down!, 'down')
  await f.bring('W', 'suspended')
  await send(f, f.root, 'E', 'W', 'directive')
  await f.mark()
  expect(refused(await f.root.revokeRight(up!, 'test'))).toBe('ok')
  expect(refused(await f.root.revokeRight(down!, 'test'))).toBe('ok')
  await f.expectAdded([revoked('up', 'send', 'W', 'R'), revoked('down', 'send', 'R', 'W')])
  unwrap(await f.root.resume(f.id('W')))
  const mail = { id: 'E', from: 'R', to: 'W', type: 'directive' }
  await f.expectAdded([
    ['suspension_resumed', 'W', 'system'],
    ['workspace_state_changed', 'W', 'system'],
    delivered(mail),
    ...receipt('sig1', mail),
  ])
  expect(await sendBad(f, f.root, 'B1', f.mail('W', 'directive'))).toBe('rejected(no_send_right)')
  expect(await sendBad(f, f.agent('W'), 'B2', f.mail('R', 'query'))).toBe('rejected(no_send_right)')
  await f.expectAdded([
    rejected({ ...mail, id: 'B1' }, 'no_send_right'),
    rejected({ id: 'B2', from: 'W', to: 'R', type: 'query' }, 'no_send_right'),
  ])
  const before = await f.picture()
  expect(refused(await f.root.revokeRight(receive!, 'test'))).toBe('invalid_argument')
  expect(refused(await f.root.revokeRight(down!, 'test'))).toBe('not_found')
  expect(refused(await f.root.revokeRight('nothing' as RightId, 'test'))).toBe('not_found')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})

test('W-PORT-08 a revoked right does not stop the redeliveries of what it served', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  const [down] = await rightsBetween(f, 'R', 'W')
  await f.mark()
  transport.begin(f.clock, ({ nth }) => (nth < 4 ? 'drop' : 'pass'))
  await send(f, f.root, 'E', 'W', 'directive')
  unwrap(await f.root.revokeRight(down!, 'test'))
  await f.mark()
  await f.advance(6000)
  const mail = { id: 'E', from: 'R', to: 'W', type: 'directive' }
  await f.expectAdded([delivered(mail), ...receipt('sig1', mail)])
})
