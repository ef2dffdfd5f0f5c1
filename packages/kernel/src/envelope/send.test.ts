// Submitting an envelope: the checks of W-ENV-05, and what a refusal leaves behind.
import { type EnvelopeId, type Result, unwrap } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import type { AgentHandle } from '../runtime/agent.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { arrived, rejected, send } from '../testing/mail.ts'
import { carriedFixture } from '../testing/transport.ts'

/** Sends what the types may rule out. */
function sendAny(agent: AgentHandle, draft: unknown): Promise<Result<{ readonly envelope: EnvelopeId }>> {
  return agent.send(draft as never)
}

function envelopeOf(result: Result<unknown>): string {
  return result.ok ? '' : (result.error.details.envelope as string)
}

/** An envelope to W with one thing changed. */
const payload = { format: 'markdown', content: 'text' }
const toW = (f: Fixture, change: object = {}) => ({ to: f.id('W'), type: 'directive', payload, ...change })

type Bad = readonly [
  what: string,
  reason: string,
  draft: (f: Fixture) => object,
  claims?: { readonly to?: string | null; readonly type?: string | null },
  from?: string,
]

const BAD: readonly Bad[] = [
  ['no content', 'invalid_structure', f => toW(f, { payload: { format: 'markdown' } })],
  ['a priority that does not exist', 'invalid_structure', f => toW(f, { priority: 'high' })],
  ['a status', 'invalid_structure', f => toW(f, { status: 'validated' })],
  ['its sender as receiver', 'invalid_structure', f => toW(f, { to: f.id('R') }), { to: 'R' }],
  ['a type that is not registered', 'invalid_type', f => toW(f, { type: 'note' }), { type: 'note' }],
  ['a receiver that does not exist', 'target_not_found', f => toW(f, { to: 'nobody' }), { to: 'nobody' }],
  ['a closed receiver', 'target_terminal', f => toW(f, { to: f.id('Closed') }), { to: 'Closed' }],
  ['an integrating receiver', 'target_terminal', f => toW(f, { to: f.id('Sealed') }), { to: 'Sealed' }],
  ['a conflicted receiver', 'target_terminal', f => toW(f, { to: f.id('Torn') }), { to: 'Torn' }],
  ['a reply to nothing', 'invalid_structure', f => toW(f, { in_reply_to: 'nothing' })],
  ['a directive of a worker', 'permission_denied', f => toW(f, { to: f.id('R') }), { to: 'R' }, 'W'],
  ['two receivers', 'invalid_structure', f => toW(f, { to: [f.id('W'), f.id('W2')] }), { to: null }],
]

test('WP-029 a bad envelope is rejected with its reason, on record, and its id is used up', async () => {
  const { f, transport } = await carriedFixture()
  for (const name of ['W', 'W2', 'Closed', 'Sealed', 'Torn']) await f.worker(name)
  await f.bring('Closed', 'closed')
  await f.bring('Sealed', 'integrating')
  await f.force('Torn', 'conflicted')
  await f.mark()
  const before = await f.picture()
  transport.begin(f.clock)
  const ids = new Set<string>()
  for (const [what, reason, draft, claims = {}, from = 'R'] of BAD) {
    const sender = from === 'R' ? f.root : f.agent(from)
    const result = await sendAny(sender, draft(f))
    expect(refused(result), what).toBe(`rejected(${reason})`)
    const id = envelopeOf(result)
    f.name(id, what)
    ids.add(id)
    await f.expectAdded([rejected({ id: what, from, to: 'W', type: 'directive', ...claims }, reason)])
  }
  expect(ids.size).toBe(BAD.length)
  expect(await f.picture()).toEqual(before)

  const [first] = ids
  expect(refused(await sendAny(f.root, toW(f, { id: first })))).toBe('rejected(invalid_structure)')
  await f.mark()
  await send(f, f.root, 'E', 'W', 'directive')
  await f.expectAdded(arrived('sig1', { id: 'E', from: 'R', to: 'W', type: 'directive' }))
  expect(transport.attempts).toHaveLength(1)
  await f.restart()
  for (const id of ids) {
    const view = unwrap(await f.root.readEnvelope(id as EnvelopeId))
    expect([view.status, view.payload]).toEqual(['rejected', null])
  }
})

test('W-ENV-02 no field that the runtime owns can be supplied', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  const owned = { id: 'x', timestamp: 'x', origin: 'human', originator: 'ux', status: 'created', actor: 'ux' }
  for (const [field, value] of Object.entries({ ...owned, from: f.id('W'), integrity: {} })) {
    expect(refused(await sendAny(f.root, toW(f, { [field]: value }))), field).toBe(
      'rejected(invalid_structure)',
    )
    await f.expectAmong([['envelope_rejected', 'R', 'protocol', { reason: 'invalid_structure' }]])
  }
  expect(refused(await sendAny(f.root, toW(f, { from: f.id('R') })))).toBe('ok')
})

test('WP-030 the first check that fails gives the reason', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  const right = unwrap(await f.root.rights()).find(each => each.holder === f.id('W') && each.type === 'send')
  const row = (to: string, type: string, reason: string) => rejected({ id: 'E', from: 'W', to, type }, reason)
  const attempt = async (draft: object): Promise<string> => {
    const result = await sendAny(worker, draft)
    f.name(envelopeOf(result), 'E')
    return refused(result)
  }
  expect(await attempt({ to: 'nobody', type: 'wish', payload: { format: 'markdown' } })).toBe(
    'rejected(invalid_structure)',
  )
  await f.expectAdded([row('nobody', 'wish', 'invalid_structure')])
  expect(await attempt({ to: 'nobody', type: 'wish', payload })).toBe('rejected(invalid_type)')
  await f.expectAdded([row('nobody', 'wish', 'invalid_type')])
  expect(await attempt({ to: 'nobody', type: 'directive', payload })).toBe('rejected(target_not_found)')
  await f.expectAdded([row('nobody', 'directive', 'target_not_found')])
  unwrap(await f.root.revokeRight(right!.id, 'test'))
  await f.mark()
  expect(await attempt({ to: f.id('R'), type: 'directive', payload })).toBe('rejected(permission_denied)')
  await f.expectAdded([row('R', 'directive', 'permission_denied')])
  expect(await attempt({ to: f.id('R'), type: 'query', payload })).toBe('rejected(no_send_right)')
  await f.expectAdded([row('R', 'query', 'no_send_right')])
  unwrap(await f.root.grantRight('send', f.id('W'), f.id('R')))
  await f.mark()
  expect(
    await attempt({ to: f.id('R'), type: 'query', payload, rights: [{ type: 'send', target: f.id('W') }] }),
  ).toBe('rejected(invalid_structure)')
  await f.expectAdded([row('R', 'query', 'invalid_structure')])
})

test('W-ENV-05 a sender that is not at work sends nothing, whatever else is wrong with its envelope', async () => {
  const f = await fixture()
  await f.workspace('Idle')
  for (const name of ['Paused', 'Sealed', 'Gone', 'Blocked']) await f.worker(name)
  await f.bring('Paused', 'suspended')
  await f.bring('Sealed', 'integrating')
  await f.bring('Gone', 'failed')
  await f.bring('Blocked', 'blocked')
  await f.mark()
  for (const name of ['Idle', 'Paused', 'Sealed', 'Gone']) {
    const result = await sendAny(f.agent(name), { to: 'nobody' })
    expect(refused(result), name).toBe('rejected(permission_denied)')
    f.name(envelopeOf(result), 'E')
    const [type, , actor, body] = rejected(
      { id: 'E', from: name, to: 'nobody', type: null },
      'permission_denied',
    )
    // Nothing is filed under a terminal workspace any more.
    await f.expectAdded([[type, name === 'Gone' ? null : name, actor, body!]])
  }
  expect(refused(await f.agent('Blocked').send(f.mail('R', 'query')))).toBe('ok')
})

const lone = '\ud800'
class Draft {
  readonly format = 'markdown'
  readonly content = 'text'
}

function cyclic(): object {
  const made: Record<string, unknown> = { ...payload }
  made.attachments = [made]
  return made
}
const rightsTo = (f: Fixture, count: number) =>
  Array.from({ length: count }, () => ({ type: 'send_once', target: f.id('W2') }))
const tooMuch = () => 'x'.repeat(kernelLimits.payloadLength + 1)
const tooMany = () => Array.from({ length: kernelLimits.attachments + 1 }, () => 'a')
/** Each character takes six in JSON. */
const escaped = () => '\u0001'.repeat(kernelLimits.payloadLength)
const halved = () => `${'x'.repeat(bodyLimits.nameLength - 1)}😀`
const clipped = () => 'x'.repeat(bodyLimits.nameLength - 1)

test.for<[string, (f: Fixture) => unknown, string | null]>([
  ['no JSON text', f => toW(f, { payload: { format: 'markdown', content: `a${lone}` } }), null],
  ['a name that is no JSON text', f => toW(f, { type: lone }), null],
  ['an instance of a class', f => toW(f, { payload: new Draft() }), null],
  ['a date', f => toW(f, { payload: { ...payload, attachments: [new Date(0)] } }), null],
  ['a number that JSON lacks', f => toW(f, { payload: { ...payload, attachments: [Number.NaN] } }), null],
  ['a cycle', f => toW(f, { payload: cyclic() }), null],
  ['nothing at all', () => undefined, null],
  ['a list', () => [], null],
  ['one right too many', f => toW(f, { rights: rightsTo(f, kernelLimits.envelopeRights + 1) }), 'W'],
  ['too much content', f => toW(f, { payload: { ...payload, content: tooMuch() } }), 'W'],
  ['too many attachments', f => toW(f, { payload: { ...payload, attachments: tooMany() } }), 'W'],
  ['attachments that are too large', f => toW(f, { payload: { ...payload, attachments: [tooMuch()] } }), 'W'],
  [
    'content that is too large once it is written',
    f => toW(f, { payload: { ...payload, content: escaped() } }),
    'W',
  ],
  [
    'a receiver whose name ends in half a character',
    f => toW(f, { to: halved(), priority: 'high' }),
    clipped(),
  ],
])('W-ENV-05 %s in place of a good envelope is rejected, and nothing is lost', async ([, draft, to]) => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.mark()
  const before = await f.picture()
  const type = to === null ? null : 'directive'
  const result = await sendAny(f.root, draft(f))
  expect(refused(result)).toBe('rejected(invalid_structure)')
  f.name(envelopeOf(result), 'E')
  await f.expectAdded([rejected({ id: 'E', from: 'R', to, type }, 'invalid_structure')])
  expect(await f.picture()).toEqual(before)
  await send(f, f.root, 'E2', 'W', 'directive')
  await f.expectAdded(arrived('sig1', { id: 'E2', from: 'R', to: 'W', type: 'directive' }))
})

test('W-ENV-05 an envelope may list as many rights as the limit says, and carry as much as it says', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.mark()
  const content = 'x'.repeat(1024 * 1024)
  const rights = rightsTo(f, kernelLimits.envelopeRights)
  const draft = toW(f, { payload: { ...payload, content }, rights })
  const { envelope } = unwrap(await sendAny(f.root, draft))
  await f.settle()
  const got = unwrap(await f.agent('W').consume())
  expect(got).toMatchObject({ id: envelope, payload: { content, attachments: [] } })
  const held = unwrap(await f.root.rights()).filter(
    each => each.holder === f.id('W') && each.target === f.id('W2'),
  )
  expect(held).toHaveLength(kernelLimits.envelopeRights)
})

test('WP-066 the matrix alone says who sends what to whom, even where every right exists', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.observer('O')
  const names = ['R', 'W', 'W2', 'O']
  const pairs = names.flatMap(from => names.filter(to => to !== from).map(to => [from, to] as const))
  for (const [from, to] of pairs) unwrap(await f.root.grantRight('send', f.id(from), f.id(to)))
  await f.mark()
  const allowed = new Set(
    ['W', 'W2'].flatMap(name => [`R directive ${name}`, `R feedback ${name}`, `${name} query R`]),
  )
  let receipts = 0
  for (const [from, to] of pairs) {
    for (const type of ['directive', 'feedback', 'query']) {
      const result = await sendAny(from === 'R' ? f.root : f.agent(from), f.mail(to, type))
      const route = `${from} ${type} ${to}`
      const mail = { id: route, from, to, type }
      f.name(result.ok ? result.value.envelope : envelopeOf(result), route)
      expect(refused(result), route).toBe(allowed.has(route) ? 'ok' : 'rejected(permission_denied)')
      await f.expectAdded(
        allowed.has(route) ? arrived(`sig${++receipts}`, mail) : [rejected(mail, 'permission_denied')],
      )
    }
  }
  expect(receipts).toBe(6)
})

test('WP-040 a reply may answer mail of any channel, and an envelope may have several', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('W2')
  await f.mark()
  const e1 = await send(f, f.root, 'E1', 'W2', 'directive')
  await f.mark()
  const query = await send(f, worker, 'Q', 'R', 'query', { in_reply_to: e1 })
  const replies = [
    await send(f, f.root, 'F1', 'W', 'feedback', { in_reply_to: query }),
    await send(f, f.root, 'F2', 'W', 'feedback', { in_reply_to: query }),
  ]
  const asked = { id: 'Q', from: 'W', to: 'R', type: 'query' }
  const rows = (await f.added()).map(entry => f.row(entry))
  const of = (id: string) => rows.filter(([, , , body]) => body?.envelope_id === id || body?.ref === id)
  const [created, delivered, emitted] = arrived('sig1', asked, { in_reply_to: 'E1' })
  expect(of('Q')).toEqual([created, delivered, emitted])
  for (const [at, id] of ['F1', 'F2'].entries()) {
    const reply = { id, from: 'R', to: 'W', type: 'feedback' }
    expect(of(id)).toEqual(arrived(`sig${at + 2}`, reply, { in_reply_to: 'Q' }).slice(0, 3))
  }
  // Three receipts, each told to the sender of its envelope, and no receipt for a receipt.
  const signals = rows.filter(([type]) => type === 'signal_emitted' || type === 'signal_delivered')
  expect(signals.map(([type, filed, , body]) => [type, filed, body?.from])).toEqual([
    ['signal_emitted', 'R', 'R'],
    ['signal_delivered', 'W', 'R'],
    ['signal_emitted', 'W', 'W'],
    ['signal_delivered', 'R', 'W'],
    ['signal_emitted', 'W', 'W'],
    ['signal_delivered', 'R', 'W'],
  ])
  const thread = unwrap(await f.root.thread(query))
  expect(thread.map(each => each.id)).toEqual([e1, query, ...replies])
  // What was said to somebody else is not the worker's to see.
  expect(unwrap(await worker.thread(query)).map(each => each.id)).toEqual([query, ...replies])
  const views = thread.map(each => ({ id: each.id, replies: each.replies }))
  expect(views[1]).toEqual({ id: query, replies })
})
