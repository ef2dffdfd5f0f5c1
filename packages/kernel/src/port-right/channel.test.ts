// The graph of rights between workspaces (W-TOPO-CHAN): its first edges, and how they come and go.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { created, delivered, receipt, rejected, send, withNotes } from '../testing/mail.ts'
import { grant, granted, moved, revoked, rightsBetween, sendBad, used } from '../testing/rights.ts'
import { carriedFixture } from '../testing/transport.ts'

const note = (id: string, from: string, to: string) => ({ id, from, to, type: 'note' })

/** Active rights as `type holder target`. */
async function edges(f: Fixture): Promise<string[]> {
  const rights = unwrap(await f.root.rights()).filter(each => each.status === 'active')
  return rights.map(each => `${each.type} ${f.nameOf(each.holder)} ${f.nameOf(each.target)}`)
}

test('WM-098 the first rights follow the matrix; mail between workers takes a registered type and a right', async () => {
  const f = await fixture({ run: withNotes })
  await f.workspace('W1')
  await f.workspace('W2')
  await f.workspace('O', { role: 'observer' })
  const made = (await f.added()).map(entry => f.row(entry)).filter(([type]) => type === 'port_right_created')
  expect(made).toEqual([
    granted('right1', 'receive', 'W1', 'W1'),
    granted('right2', 'send', 'R', 'W1'),
    granted('right3', 'send', 'W1', 'R'),
    granted('right4', 'receive', 'W2', 'W2'),
    granted('right5', 'send', 'R', 'W2'),
    granted('right6', 'send', 'W2', 'R'),
    granted('right7', 'receive', 'O', 'O'),
  ])
  for (const name of ['W1', 'W2']) await send(f, f.root, 'D', name, 'directive')
  await f.mark()
  const worker = f.agent('W1')

  expect(await sendBad(f, worker, 'B1', f.mail('W2', 'note'))).toBe('rejected(no_send_right)')
  await f.expectAdded([rejected(note('B1', 'W1', 'W2'), 'no_send_right')])

  const once = await grant(f, 'once', 'send_once', 'W1', 'W2')
  await f.expectAdded([granted('once', 'send_once', 'W1', 'W2')])
  expect(await sendBad(f, worker, 'B2', f.mail('W2', 'query'))).toBe('rejected(permission_denied)')
  await f.expectAdded([rejected({ ...note('B2', 'W1', 'W2'), type: 'query' }, 'permission_denied')])
  expect(await rightsBetween(f, 'W1', 'W2')).toEqual([once])

  const [first, second] = await Promise.all([
    worker.send(f.mail('W2', 'note')),
    worker.send(f.mail('W2', 'note')),
  ])
  expect([first, second].map(refused)).toEqual(['ok', 'rejected(no_send_right)'])
  f.name(unwrap(first).envelope, 'N1')
  if (!second.ok) f.name(second.error.details.envelope as string, 'B3')
  await f.expectAdded([
    created(note('N1', 'W1', 'W2')),
    used('once', 'W1', 'W2', 'N1'),
    rejected(note('B3', 'W1', 'W2'), 'no_send_right'),
    delivered(note('N1', 'W1', 'W2')),
    // Three `ready` came before.
    ...receipt('sig4', note('N1', 'W1', 'W2')),
  ])
})

test('WM-099 rights are revoked, travel and end with their holder, while mail in flight arrives', async () => {
  const { f, transport } = await carriedFixture({ run: withNotes })
  for (const name of ['W1', 'W2', 'W3', 'W4']) await f.worker(name)
  const worker = f.agent('W1')
  const right = await grant(f, 'to2', 'send', 'W1', 'W2')
  await grant(f, 'to3', 'send', 'W1', 'W3')
  await grant(f, 'to4', 'send', 'W1', 'W4')
  await f.mark()

  transport.begin(f.clock, () => 'delay')
  await send(f, worker, 'N1', 'W2', 'note')
  unwrap(await f.root.revokeRight(right, 'test'))
  await f.expectAdded([created(note('N1', 'W1', 'W2')), revoked('to2', 'send', 'W1', 'W2')])
  transport.release()
  await f.expectAdded([delivered(note('N1', 'W1', 'W2')), ...receipt('sig1', note('N1', 'W1', 'W2'))])
  expect(await sendBad(f, worker, 'B1', f.mail('W2', 'note'))).toBe('rejected(no_send_right)')
  await f.expectAdded([rejected(note('B1', 'W1', 'W2'), 'no_send_right')])

  transport.fate = () => 'pass'
  const receive = [{ type: 'receive', target: f.id('W1') }]
  expect(await sendBad(f, worker, 'B2', f.mail('W3', 'note', { rights: receive }))).toBe(
    'rejected(invalid_structure)',
  )
  await f.expectAdded([rejected(note('B2', 'W1', 'W3'), 'invalid_structure')])

  await send(f, worker, 'N2', 'W3', 'note', { rights: [{ type: 'send', target: f.id('W4') }] })
  await f.expectAdded([
    created(note('N2', 'W1', 'W3')),
    delivered(note('N2', 'W1', 'W3')),
    moved('to4', 'send', 'W1', 'W3', 'W4', 'N2'),
    ...receipt('sig2', note('N2', 'W1', 'W3')),
  ])
  expect(await sendBad(f, worker, 'B3', f.mail('W4', 'note'))).toBe('rejected(no_send_right)')
  await f.expectAdded([rejected(note('B3', 'W1', 'W4'), 'no_send_right')])
  expect(await edges(f)).toContain('send W3 W4')

  unwrap(await f.agent('W3').failed('gone'))
  await f.expectAdded([
    ['signal_emitted', 'W3', 'worker', { signal_id: 'sig3', from: 'W3', type: 'failed', reason: 'gone' }],
    [
      'workspace_state_changed',
      'W3',
      'protocol',
      {
        workspace_id: 'W3',
        from_state: 'active',
        to_state: 'failed',
        trigger: 'agent_failed',
        initiator: 'worker',
        reason: 'gone',
      },
    ],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig3', from: 'W3', delivered_to: 'R' }],
  ])
  const live = await edges(f)
  expect(live.filter(edge => edge.includes('W3'))).toEqual([])
  const ended = unwrap(await f.root.rights()).filter(each => [each.holder, each.target].includes(f.id('W3')))
  expect(new Set(ended.map(each => each.status))).toEqual(new Set(['expired']))
  for (const { id } of ended) expect(refused(await f.root.revokeRight(id, 'test'))).toBe('not_found')
  // A terminal target is found before a missing right.
  expect(await sendBad(f, worker, 'B4', f.mail('W3', 'note'))).toBe('rejected(target_terminal)')
  await f.expectAdded([rejected(note('B4', 'W1', 'W3'), 'target_terminal')])
  const before = unwrap(await f.root.rights())
  await f.restart()
  expect(unwrap(await f.root.rights())).toEqual(before)
})

test('W-TOPO-CHAN-04 only the coordinator revokes and grants, and an attempt of anybody else is on record', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('W2')
  const [own] = await rightsBetween(f, 'W', 'R')
  await f.mark()
  const before = await f.picture()
  const denied = (capability: string, action: string, target?: string) =>
    [
      'capability_denied',
      'W',
      'worker',
      { user_id: null, capability, action, ...(target && { target }), reason: 'permission_denied' },
    ] as const
  expect(refused(await worker.revokeRight(own!, 'mine'))).toBe('permission_denied')
  await f.expectAdded([denied('operation:revoke_right', 'revoke_right')])
  expect(refused(await worker.grantRight('send', f.id('W'), f.id('W2')))).toBe('permission_denied')
  await f.expectAdded([denied('operation:create_right', 'create_right', 'W')])
  expect(await f.picture()).toEqual(before)
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
