// Whitespace, mentions, errors, and what the threat model says of them.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dispatchErrors, errorIn, LOCAL_SYMBOLS, localError, readWireError, WIRE_CODES, wireError } from './errors.ts'
import { wireText } from './json/write.ts'
import { linkDefaults, linkLimits } from './limits.ts'
import { mentionsIn, parseMention } from './mention.ts'
import { MESSAGE_BYTES } from './noise/handshake.ts'
import { vectors } from './testing/vectors.ts'
import { isSpace, trim, trimLeft, trimRight } from './text.ts'

test('whitespace is the 29 code points of the sheet and no other', () => {
  const listed = new Set(vectors.whitespace_set.map(name => Number.parseInt(name.slice(2), 16)))
  expect(listed.size).toBe(29)
  for (let code = 0; code <= 0xffff; code++)
    expect(isSpace(String.fromCharCode(code)), code.toString(16)).toBe(listed.has(code))
})

test('trimming takes whitespace from the ends alone, and leaves a byte order mark', () => {
  expect(trim('\u0085 \u001c a b\u3000\n')).toBe('a b')
  expect(trimLeft(' a ')).toBe('a ')
  expect(trimRight(' a ')).toBe(' a')
  expect(trim('\ufeffa\ufeff')).toBe('\ufeffa\ufeff')
  expect(trim(' '.repeat(100_000))).toBe('')
})

const ids = (text: string) => mentionsIn(text).map(({ id }) => id)

test.each([
  ['@alice', ['alice']],
  ['@alice, hi', ['alice']],
  ['@carol- hi', ['carol']],
  ['@josé', []],
  ['x@y.z', []],
  ['(@alice)', []],
  ['hi\n@bob', ['bob']],
  ['hi\u0085@bob', ['bob']],
  ['\ufeff@bob', []],
  ['@a-é', ['a-']],
  ['@a_b-c9.', ['a_b-c9']],
  ['@a𝐛', []],
  ['@a😀', ['a']],
  ['@', []],
  ['@-', []],
  ['@@a', []],
])('ALP-MENTION-01 in %j the mentions are %j', (text, expected) => {
  expect(ids(text)).toEqual(expected)
})

test('ALP-MENTION-02 all of them are found, in order, as often as they occur', () => {
  expect(ids('@a then @b and @a again, not x@c, @A')).toEqual(['a', 'b', 'a', 'A'])
})

test.each(vectors.mention_parse)('ALP-MENTION-03 $text', ({ text, known_peers, expect: expected }) => {
  const parsed = parseMention(text, new Set(known_peers))
  expect(parsed ?? null).toEqual(expected && { peerId: expected.peer_id, prompt: expected.prompt })
})

test('ALP-MENTION-03 without a roster anybody can be meant', () => {
  expect(parseMention('ask @nobody-knows  this')).toEqual({ peerId: 'nobody-knows', prompt: 'ask this' })
  expect(parseMention('nobody at all')).toBeUndefined()
})

test('ALP-MENTION-01 a long text costs no long time', () => {
  const began = performance.now()
  expect(ids(` @${'a'.repeat(500_000)}é`)).toEqual([])
  expect(ids(' @'.repeat(200_000))).toEqual([])
  expect(performance.now() - began).toBeLessThan(2000)
})

test('ALP-ERR-01 every error of the wire has its code', () => {
  expect(WIRE_CODES).toEqual({
    'capability-denied': -32001,
    'rate-limited': -32005,
    'budget-exceeded': -32005,
    'target-busy': -32007,
    'workgroup-not-member': -32008,
    'workgroup-not-hub': -32008,
    'workgroup-not-joined': -32008,
    'workgroup-not-found': -32009,
    'workgroup-paused': -32010,
    'workgroup-full': -32010,
    'invalid-request': -32600,
    'method-not-found': -32601,
    'invalid-params': -32602,
    'internal-error': -32603,
  })
})

test('ALP-ERR-01 those of dispatch carry their data, sums as floats', () => {
  const text = Object.values({
    denied: dispatchErrors.capabilityDenied('link.nope'),
    malformed: dispatchErrors.invalidRequest('method'),
    rate: dispatchErrors.rateLimited(),
    budget: dispatchErrors.budgetExceeded(1, 1),
    unknown: dispatchErrors.methodNotFound(),
    busy: dispatchErrors.targetBusy('one at a time'),
    params: dispatchErrors.invalidParams('prompt'),
    internal: dispatchErrors.internal('oh'),
    full: wireError('workgroup-not-found'),
  }).map(({ code, message, data }) => wireText({ code, message, data }))
  expect(text).toEqual([
    '{"code":-32001,"message":"capability-denied","data":{"method":"link.nope"}}',
    '{"code":-32600,"message":"invalid-request","data":{"detail":"method"}}',
    '{"code":-32005,"message":"rate-limited","data":{"window_seconds":60}}',
    '{"code":-32005,"message":"budget-exceeded","data":{"cap_kind":"usd","cap":1.0,"used":1.0}}',
    '{"code":-32601,"message":"method-not-found","data":null}',
    '{"code":-32007,"message":"target-busy","data":{"detail":"one at a time"}}',
    '{"code":-32602,"message":"invalid-params","data":{"detail":"prompt"}}',
    '{"code":-32603,"message":"internal-error","data":{"detail":"oh"}}',
    '{"code":-32009,"message":"workgroup-not-found","data":null}',
  ])
})

test('ALP-ERR-02 no code stands for what is dropped, and the historical ones are unused', () => {
  const codes = new Set<number>(Object.values(WIRE_CODES))
  for (const code of [-32700, -32002, -32003, -32004, -32006]) expect(codes.has(code)).toBe(false)
})

test('ALP-ERR-03 a local error has its symbol as its code and at the beginning of its text', () => {
  for (const symbol of LOCAL_SYMBOLS)
    expect(localError(symbol, 'what happened')).toMatchObject({ code: symbol, message: `${symbol}: what happened` })
  expect(localError('target-offline', 'x').retryable).toBe(true)
})

test.each([
  ['[error] it broke', 'it broke'],
  ['Half of it.\n\n[error] it broke', 'it broke'],
  ['Half of it.\n\n\n[error] ', ''],
  ['[error] it broke\n\nand went on', undefined],
  ['one line\n[error] of a log', undefined],
  ['[errors] none', undefined],
  ['', undefined],
])('ALP-ASK-04 %j ends with the error %j', (text, error) => {
  expect(errorIn(text)).toBe(error)
})

test('ALP-ERR-04 what an error leaves out is filled in', () => {
  expect(readWireError({ code: -32005, message: 'rate-limited', data: { window_seconds: 60 } })).toEqual({
    code: -32005,
    message: 'rate-limited',
    data: { window_seconds: 60 },
  })
  for (const value of [{}, null, 'x', undefined, { code: 'x', message: 1, data: [] }, { code: 1.5 }])
    expect(readWireError(value)).toEqual({ code: -32603, message: 'unknown', data: null })
})

test('the limits and times of the threat model are those of the code', () => {
  const page = readFileSync(new URL('../../../docs/guide/threat-model.md', import.meta.url), 'utf8')
  const text = page.replace(/\s+/g, ' ')
  const [first, second, third] = MESSAGE_BYTES
  for (const words of [
    `(${first}, ${second} and ${third} bytes)`,
    `${linkDefaults.perMinute} calls a minute`,
    `for up to ${linkDefaults.turnMs / 60_000} minutes each`,
    `${linkDefaults.strangerMs / 1000} s to deliver one message, of ${linkLimits.strangerFrameBytes / 1024} KiB where more than ${linkLimits.roomyStrangers} strangers`,
  ])
    expect(text).toContain(words)
  const inWords = { 'in its thread for twenty turns': linkLimits.threadTurns, 'It holds twenty': linkLimits.pending }
  for (const [words, number] of Object.entries(inWords)) {
    expect(text).toContain(words)
    expect(number).toBe(20)
  }
  expect(text).toContain('by more than two minutes')
  expect(linkDefaults.skewSeconds).toBe(120)
})
