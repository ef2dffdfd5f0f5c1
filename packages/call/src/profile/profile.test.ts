// The three spellings (CALL-EVT-02, -07): how requests are recognised and answered in each, how a link finds out which
// one its peer uses, what handlers give back; and their codecs, which read whatever is written as it was meant.
import { ManualClock } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CALL_CODES, CallError, codeOf, opsName } from '../error.ts'
import { CallNode } from '../node.ts'
import { echo, type Peered, peered, registryOf, SPELLED, turn } from '../testing/peer.ts'
import { memoryPair } from '../transport/memory.ts'
import { CALL_EVENTS, type Envelope, parseText } from '../wire/envelope.ts'
import { readRequest } from '../wire/request.ts'
import { detectProfile, PROFILES, type ProfileName, profileOf, readError, requestIdOf } from './profile.ts'

test('CALL-T07 CALL-T08 CALL-T09 a request is answered once, in its own spelling', async () => {
  const { peer } = peered()
  peer.send('call.requested', 's', { name: '/test/echo', input: { a: 1 } })
  peer.send('call.requested', 'c', { operationId: '/test/echo', input: 5 })
  peer.send('call.requested', '', { requestId: 'q1', operationId: 'test.echo', input: 5 })
  // A peer that fills in the envelope too gets its own id back.
  peer.send('call.requested', 'q2', { requestId: 'q2', operationId: 'test.echo' })
  await turn()
  const meta = { source: 'local', operationId: 'test.echo', timestamp: expect.any(Number) }
  expect(peer.received).toEqual([
    { type: 'call.responded', id: 's', payload: { a: 1 } },
    { type: 'call.responded', id: 'c', payload: { output: 5 } },
    { type: 'call.responded', id: '', payload: { requestId: 'q1', output: { data: 5, meta } } },
    { type: 'call.responded', id: 'q2', payload: { requestId: 'q2', output: { data: null, meta } } },
  ])
})

test('CALL-T10 input may be called payload, and two targets that differ are refused', async () => {
  const { peer } = peered()
  peer.send('call.requested', 'r1', { name: '/test/echo', payload: { b: 2 } })
  peer.send('call.requested', 'r2', { name: '/a/b', operationId: '/c/d' })
  peer.send('call.requested', 'r3', { name: '/test/echo', operationId: 'test.echo', input: 3 })
  await turn()
  expect(peer.received).toMatchObject([
    { type: 'call.responded', id: 'r1', payload: { b: 2 } },
    { type: 'call.error', id: 'r2', payload: { code: 'INVALID_INPUT', retryable: false } },
    { type: 'call.responded', id: 'r3', payload: 3 },
  ])
})

test('CALL-T11 a link in auto mode finds out that its peer speaks CORE before the first call goes out', async () => {
  const { link, peer } = peered({}, { profile: 'auto' })
  const called = link.call('/fs/x', 1)
  const probe = await peer.next()
  expect(probe).toEqual({
    type: 'call.requested',
    id: expect.any(String),
    payload: { name: '/services/list', operationId: '/services/list', requestId: probe.id, input: {} },
  })
  await peer.next()
  await turn()
  expect(peer.received).toHaveLength(2)
  peer.send('call.responded', probe.id, { output: { operations: [] } })
  const request = await peer.next()
  expect(request.payload).toMatchObject({ operationId: '/fs/x', input: 1 })
  expect(request.payload).not.toHaveProperty('name')
  peer.send('call.responded', request.id, { output: 7 })
  expect(await called).toBe(7)
})

/** How the link asks from now on; the call itself is given up. */
async function nextAsked({ link, peer }: Peered): Promise<Envelope> {
  const called = link.call('/fs/x').catch(() => undefined)
  const request = await peer.next()
  link.close()
  await called
  return request
}

const FORBIDDEN = { code: 'FORBIDDEN', message: '', retryable: false }
const UNKNOWN = { code: 'OPERATION_NOT_FOUND', message: '' }

test.each<[reply: string, event: string, payload: (id: string) => unknown, profile: ProfileName]>([
  ['a SEED list', 'call.responded', () => ({ operations: [], requestId: 'x' }), 'seed'],
  ['an OPS list', 'call.responded', requestId => ({ requestId, output: { data: { operations: [] } } }), 'ops'],
  ['an OPS error', 'call.error', requestId => ({ requestId, ...UNKNOWN }), 'ops'],
  ['another error', 'call.error', () => FORBIDDEN, 'seed'],
  ['an answer of no known shape', 'call.responded', () => [], 'seed'],
  ['an abort', 'call.aborted', () => ({}), 'seed'],
])('CALL-EVT-02 %s to the probe means the spelling of its kind', async (_reply, event, payload, profile) => {
  const { link, peer } = peered({}, { profile: 'auto' })
  const called = link.call('/fs/x').catch(() => undefined)
  const probe = await peer.next()
  await peer.next()
  peer.send(event, event === 'call.error' && profile === 'ops' ? '' : probe.id, payload(probe.id))
  expect(await peer.next()).toMatchObject(SPELLED[profile])
  link.close()
  await called
})

test('CALL-EVT-02 a peer that does not answer the probe within two seconds is spoken to in SEED', async () => {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { profile: 'auto', clock })
  const called = link.call('/fs/x').catch(() => undefined)
  const probes = [await peer.next(), await peer.next()]
  clock.advance(1999)
  await turn()
  expect(peer.received).toHaveLength(2)
  clock.advance(1)
  expect(await peer.next()).toEqual({ type: 'call.aborted', id: probes[0]!.id, payload: {} })
  const { requestId } = probes[1]!.payload as { requestId: string }
  expect(await peer.next()).toEqual({ type: 'call.aborted', id: '', payload: { requestId } })
  expect(await peer.next()).toMatchObject(SPELLED.seed)
  link.close()
  await called
})

test.each([
  ['seed', 'r1', { name: '/test/echo' }],
  ['core', 'r1', { operationId: '/test/echo' }],
  ['ops', '', { requestId: 'r1', operationId: 'test.echo' }],
] as const)(
  'CALL-EVT-02 the first request of a peer shows that it speaks %s, and no probe is needed',
  async (profile, id, payload) => {
    const both = peered({}, { profile: 'auto' })
    both.peer.send('call.requested', id, payload)
    await both.peer.next()
    expect(await nextAsked(both)).toMatchObject(SPELLED[profile])
  },
)

test('CALL-EVT-02 a peer that listens where OPS does hears the probe too, and the first reply decides', async () => {
  const { link, peer } = peered({}, { profile: 'auto' })
  const called = link.call('/fs/x', 1)
  const [first, second] = [await peer.next(), await peer.next()]
  const { requestId } = second.payload as { requestId: string }
  expect(second).toEqual({
    type: 'call.requested',
    id: '',
    payload: { name: '/services/list', operationId: '/services/list', requestId, input: {} },
  })
  expect([first.id, requestId].includes('')).toBe(false)
  expect(requestId).not.toBe(first.id)
  peer.send('call.error', '', { requestId, code: 'OPERATION_NOT_FOUND', message: '' })
  // Too late: nobody waits for it any more.
  peer.send('call.responded', first.id, { operations: [] })
  const request = await peer.next()
  expect(request).toMatchObject(SPELLED.ops)
  const asked = request.payload as { requestId: string }
  peer.send('call.responded', '', { requestId: asked.requestId, output: { data: 7 } })
  expect(await called).toBe(7)
  expect([peer.received.length, link.pendingCount]).toEqual([3, 0])
})

test('CALL-EVT-02 two links in auto mode find out about each other', async () => {
  const registry = registryOf({ '/test/echo': echo })
  const [one, other] = memoryPair()
  const links = [one, other].map(end => new CallNode({ registry }).attach(end, { profile: 'auto' }))
  expect(await Promise.all(links.map((link, n) => link.call('/test/echo', n)))).toEqual([0, 1])
  expect(links.map(({ pendingCount, inboundCount }) => pendingCount + inboundCount)).toEqual([0, 0])
})

test.each([
  ['names no operation', 'r1', {}],
  ['names two operations', 'r1', { operationId: 'a.b', name: 5 }],
  ['has no path', '', { requestId: 'r1', operationId: 'no path/at all/here/or/there' }],
  ['has an impossible deadline', '', { requestId: 'r1', operationId: 'test.echo', deadline: 'soon' }],
  ['is a list', 'r1', []],
])('CALL-EVT-02 a first request that %s does not show how a peer spells', async (_what, id, payload) => {
  const both = peered({}, { profile: 'auto' })
  const { peer } = both
  peer.send('call.requested', id, payload)
  expect(await peer.next()).toMatchObject({ type: 'call.error' })
  peer.send('call.requested', 'r2', { operationId: '/test/echo' })
  expect(await peer.next()).toMatchObject({ type: 'call.responded', id: 'r2' })
  expect(await nextAsked(both)).toMatchObject(SPELLED.core)
})

test('CALL-EVT-02 a first request that comes too late shows how its peer spells', async () => {
  const both = peered({}, { profile: 'auto' })
  both.peer.send('call.requested', '', { requestId: 'r1', operationId: 'test.echo', deadline: 1 })
  expect(await both.peer.next()).toMatchObject({ type: 'call.error', payload: { code: 'TIMEOUT' } })
  expect(await nextAsked(both)).toMatchObject(SPELLED.ops)
})

test('CALL-EVT-02 on a link that is closed nothing is probed, and the call fails at once', async () => {
  const { link } = peered({}, { profile: 'auto', clock: new ManualClock() })
  link.close()
  await expect(link.call('/fs/x')).rejects.toMatchObject({ code: 'INTERNAL', message: 'connection closed' })
})

const boom = () => {
  throw new Error('boom')
}
const other = () => {
  throw 'text'
}

test('CALL-T12 an Error of a handler goes out with its message and nothing else, in the names of each spelling', async () => {
  const { peer } = peered({ '/test/boom': boom, '/test/other': other })
  peer.send('call.requested', 's', { name: '/test/boom' })
  peer.send('call.requested', 'c', { operationId: '/test/boom' })
  peer.send('call.requested', '', { requestId: 'o', operationId: 'test.boom' })
  peer.send('call.requested', '', { requestId: 'u', operationId: 'test.other' })
  await turn()
  const plain = { code: 'INTERNAL', message: 'boom', retryable: false }
  const unknown = { code: 'UNKNOWN_ERROR', message: 'text', details: { raw: 'text' } }
  expect(peer.received).toEqual([
    { type: 'call.error', id: 's', payload: plain },
    { type: 'call.error', id: 'c', payload: plain },
    { type: 'call.error', id: '', payload: { requestId: 'o', code: 'EXECUTION_ERROR', message: 'boom' } },
    { type: 'call.error', id: '', payload: { requestId: 'u', ...unknown } },
  ])
})

test('CALL-T13 a handler that returns nothing is answered with null, which is there', async () => {
  const { peer } = peered({ '/test/nothing': () => undefined })
  peer.send('call.requested', 's', { name: '/test/nothing' })
  peer.send('call.requested', 'c', { operationId: '/test/nothing' })
  peer.send('call.requested', '', { requestId: 'o', operationId: 'test.nothing' })
  await turn()
  const [seed, core, ops] = peer.received
  expect(seed).toStrictEqual({ type: 'call.responded', id: 's', payload: null })
  expect(core).toStrictEqual({ type: 'call.responded', id: 'c', payload: { output: null } })
  expect(ops).toMatchObject({ payload: { requestId: 'o', output: { data: null } } })
})

test('CALL-EVT-08 request ids are random UUIDs', async () => {
  const { link, peer } = peered()
  const calls = [link.call('/fs/x'), link.call('/fs/x')].map(call => call.catch(() => undefined))
  const ids = [(await peer.next()).id, (await peer.next()).id]
  const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  for (const each of ids) expect(each).toMatch(v4)
  expect(ids[0]).not.toBe(ids[1])
  link.close()
  await Promise.all(calls)
})

const NOW = Date.UTC(2026, 0, 1)

const id = fc.string({ minLength: 1, maxLength: 128, unit: 'binary' })
const segment = fc.stringMatching(/^[A-Za-z0-9_.~-]{1,64}$/)
const path = fc.oneof(
  fc.tuple(segment, segment).map(([service, op]) => `/${service}/${op}`),
  fc.tuple(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/), segment, segment).map(parts => `/${parts.join('/')}`),
)
/** As JSON carries it: -0 is 0 there. */
const json = fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)) as unknown)
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const fields = fc.record({
  parentRequestId: optional(fc.string()),
  deadline: optional(fc.integer({ min: NOW, max: NOW * 2 })),
  idleTimeout: optional(fc.integer({ min: 1, max: 1e6 })),
  metadata: optional(fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), json)),
  forwardedFor: optional(fc.record({ id: fc.string(), scopes: fc.array(fc.string()) })),
  authToken: optional(fc.string()),
})

test.each(PROFILES)('CALL-EVT-02 any request in %s is recognised, and read as it was meant', name => {
  const profile = profileOf(name)
  fc.assert(
    fc.property(id, path, json, fields, (requestId, target, input, given) => {
      const envelope = parseText(profile.request(requestId, target, input, given))
      expect(envelope.type).toBe('call.requested')
      expect(Object.keys(envelope)).toEqual(['type', 'id', 'payload'])
      expect(detectProfile(envelope.payload).name).toBe(name)
      expect(envelope.id).toBe(profile.envelopeId(requestId))
      const read = requestIdOf(envelope.id, envelope.payload)
      expect(read).toBe(requestId)
      expect(readRequest(read, envelope.payload, NOW)).toMatchObject({ ...given, target: { path: target }, input })
    }),
  )
})

const error = fc
  .record({
    code: fc.oneof(fc.constantFrom(...Object.keys(CALL_CODES)), fc.stringMatching(/^[A-Z]{3,9}_X$/)),
    message: fc.string({ unit: 'binary' }),
    retryable: fc.boolean(),
    details: optional(json),
  })
  .map(
    ({ code, message, retryable, details }) =>
      new CallError(code, message, { retryable, ...(details !== undefined && { details }) }),
  )

test.each(PROFILES)('CALL-EVT-02 any answer in %s is read as it was meant', name => {
  const profile = profileOf(name)
  fc.assert(
    fc.property(id, path, json, error, (requestId, target, value, failure) => {
      const answers = [
        profile.responded(requestId, profile.envelopeId(requestId), value, target, undefined),
        profile.completed(requestId, profile.envelopeId(requestId)),
        profile.aborted(requestId, profile.envelopeId(requestId)),
        profile.error(requestId, profile.envelopeId(requestId), failure),
      ].map(text => parseText(text))
      expect(answers.map(({ type }) => type)).toEqual(CALL_EVENTS.slice(1))
      for (const envelope of answers) {
        expect(Object.keys(envelope)).toEqual(['type', 'id', 'payload'])
        expect(requestIdOf(envelope.id, envelope.payload)).toBe(requestId)
      }
      expect(profile.value(answers[0]!.payload)).toEqual(value)
      const read = readError(answers[3]!.payload, profile)
      expect([read.code, read.message, read.details]).toEqual([failure.code, failure.message, failure.details])
      // OPS has no word for it: it follows from the code.
      if (name !== 'ops') expect(read.retryable).toBe(failure.retryable)
      else expect(read.retryable).toBe(new CallError(failure.code, '').retryable)
    }),
  )
})

test('CALL-EVT-07 an error that lacks something is read all the same', () => {
  const seed = profileOf('seed')
  const bare = readError(null, seed)
  expect([bare.code, bare.message, bare.retryable, bare.details]).toEqual(['INTERNAL', '', false, undefined])
  for (const code of ['__proto__', 'constructor', 'hasOwnProperty'])
    expect(readError({ code, message: {} }, seed)).toMatchObject({ code, message: '', retryable: false })
  expect(readError({ code: 5, message: 6, retryable: 'yes' }, seed)).toMatchObject({ code: 'INTERNAL', message: '' })
  expect(readError({ code: 'TIMEOUT' }, seed).retryable).toBe(true)
  expect(readError({ code: 'TIMEOUT', retryable: false }, seed).retryable).toBe(false)
  expect(readError({ code: 'SOMETHING_ELSE' }, seed)).toMatchObject({ code: 'SOMETHING_ELSE', retryable: false })
})

test('CALL-ERR-01 every name of a code is read as that code', () => {
  for (const [code, { ops }] of Object.entries(CALL_CODES)) {
    expect([codeOf(code), codeOf(ops), opsName(code)]).toEqual([code, code, ops])
  }
  expect(codeOf('UNKNOWN_ERROR')).toBe('INTERNAL')
})

test('CALL-T76 a code that OPS knows by that name is read as that code in OPS, and as itself elsewhere', () => {
  const code = 'VALIDATION_ERROR'
  const read = (name: (typeof PROFILES)[number]) => readError({ code }, profileOf(name)).code
  expect([read('seed'), read('core'), read('ops')]).toEqual([code, code, 'INVALID_INPUT'])
})
