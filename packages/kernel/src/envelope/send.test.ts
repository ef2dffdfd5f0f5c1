// Submitting an envelope (W-ENV-05): the checks, and what a refusal leaves behind. Mail of priority `blocking`
// (W-ENV-13).
import { type EnvelopeId, type Result, unwrap } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'
import { arrived, created, delivered, inboxOf, receipt, rejected, send, withNotes } from '../testing/mail.ts'
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

test('W-ENV-02 no field that the runtime owns can be supplied', async () => {
  const f = await withWorker()
  const owned = { id: 'x', timestamp: 'x', origin: 'human', originator: 'ux', status: 'created', actor: 'ux' }
  for (const [field, value] of Object.entries({ ...owned, from: f.id('W'), integrity: {} })) {
    expect(refused(await sendAny(f.root, toW(f, { [field]: value }))), field).toBe('rejected(invalid_structure)')
    await f.expectAmong([['envelope_rejected', 'R', 'protocol', { reason: 'invalid_structure' }]])
  }
  expect(refused(await sendAny(f.root, toW(f, { from: f.id('R') })))).toBe('ok')
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
    const [type, , actor, body] = rejected({ id: 'E', from: name, to: 'nobody', type: null }, 'permission_denied')
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
  ['content that is too large once it is written', f => toW(f, { payload: { ...payload, content: escaped() } }), 'W'],
  ['a receiver whose name ends in half a character', f => toW(f, { to: halved(), priority: 'high' }), clipped()],
])('W-ENV-05 %s in place of a good envelope is rejected, and nothing is lost', async ([, draft, to]) => {
  const f = await withWorker()
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
  const f = await withWorker()
  await f.worker('W2')
  await f.mark()
  const content = 'x'.repeat(1024 * 1024)
  const rights = rightsTo(f, kernelLimits.envelopeRights)
  const draft = toW(f, { payload: { ...payload, content }, rights })
  const { envelope } = unwrap(await sendAny(f.root, draft))
  await f.settle()
  const got = unwrap(await f.agent('W').consume())
  expect(got).toMatchObject({ id: envelope, payload: { content, attachments: [] } })
  const held = unwrap(await f.root.rights()).filter(each => each.holder === f.id('W') && each.target === f.id('W2'))
  expect(held).toHaveLength(kernelLimits.envelopeRights)
})

const blocking = { priority: 'blocking' }

async function consume(f: Fixture, name: string): Promise<string | undefined> {
  const envelope = unwrap(await f.agent(name).consume())
  await f.settle()
  return envelope && f.nameOf(envelope.id)
}

/** W with two channels that end at it: from R, and from V. */
async function twoChannels(f: Fixture): Promise<void> {
  await f.worker('W')
  await f.worker('V')
  unwrap(await f.root.grantRight('send', f.id('V'), f.id('W')))
  await f.mark()
}

const fromRoot = (id: string) => ({ id, from: 'R', to: 'W', type: 'directive' })
test('W-ENV-13 urgent mail is held too, and the next blocking one of another channel is not, also over a restart', async () => {
  const f = await fixture({ run: withNotes })
  await twoChannels(f)
  await send(f, f.root, 'B1', 'W', 'directive', blocking)
  await send(f, f.root, 'U1', 'W', 'directive', { priority: 'urgent' })
  await send(f, f.agent('V'), 'B3', 'W', 'note', blocking)
  await send(f, f.agent('V'), 'N3', 'W', 'note')
  expect(await inboxOf(f, 'W')).toEqual(['B1', 'B3'])
  await f.restart()
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
  const f = await withWorker()
  await f.bring('W', 'suspended')
  await f.mark()
  await send(f, f.root, 'B1', 'W', 'directive', blocking)
  await f.expectAdded([created(fromRoot('B1'), blocking)])
  unwrap(await f.root.resume(f.id('W')))
  await f.expectAmong([delivered(fromRoot('B1'))])
  await send(f, f.root, 'B2', 'W', 'directive', blocking)
  await f.expectAdded(arrived('sig2', fromRoot('B2'), blocking))
})
