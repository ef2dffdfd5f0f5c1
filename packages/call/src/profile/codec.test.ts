// The codecs of the three spellings (CALL-EVT-02, -07): whatever is written is read as it was meant.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CALL_CODES, CallError, codeOf, opsName } from '../error.ts'
import { CALL_EVENTS, parseText } from '../wire/envelope.ts'
import { readRequest } from '../wire/request.ts'
import { detectProfile, PROFILES, profileOf, readError, requestIdOf } from './profile.ts'

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
      expect(readRequest(read, envelope.payload, NOW)).toMatchObject({
        ...given,
        target: { path: target },
        input,
      })
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
  expect(readError({ code: 5, message: 6, retryable: 'yes' }, seed)).toMatchObject({
    code: 'INTERNAL',
    message: '',
  })
  expect(readError({ code: 'TIMEOUT' }, seed).retryable).toBe(true)
  expect(readError({ code: 'TIMEOUT', retryable: false }, seed).retryable).toBe(false)
  expect(readError({ code: 'SOMETHING_ELSE' }, seed)).toMatchObject({
    code: 'SOMETHING_ELSE',
    retryable: false,
  })
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
