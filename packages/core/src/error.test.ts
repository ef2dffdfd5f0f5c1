import { describe, expect, test } from 'vitest'
import { asParleyError, ParleyError } from './error.ts'

describe('ParleyError', () => {
  test('carries a stable code, a message, and by default no details and no promise that a retry helps', () => {
    const error = new ParleyError('trail_unavailable', 'the trail cannot be written')
    expect(error).toBeInstanceOf(Error)
    expect(error.toJSON()).toEqual({
      code: 'trail_unavailable',
      message: 'the trail cannot be written',
      retryable: false,
      details: {},
    })
  })

  test('keeps what it was given, and its details cannot be changed afterwards, from either side', () => {
    const details = { run: 'run_1' }
    const error = new ParleyError('overloaded', 'try later', { retryable: true, details })
    details.run = 'run_2'
    expect(error.retryable).toBe(true)
    expect(error.details).toEqual({ run: 'run_1' })
    expect(() => Object.assign(error.details, { run: 'run_3' })).toThrow(TypeError)
  })

  test('is serialised without stack and cause', () => {
    const error = new ParleyError('internal', 'broken', { cause: new Error('secret') })
    expect(error.cause).toBeInstanceOf(Error)
    expect(Object.keys(JSON.parse(JSON.stringify(error)))).toEqual(['code', 'message', 'retryable', 'details'])
  })
})

describe('asParleyError', () => {
  test('leaves a ParleyError as it is', () => {
    const error = new ParleyError('not_found', 'no such run')
    expect(asParleyError(error)).toBe(error)
  })

  test.each([
    ['an Error', new TypeError('x is not a function'), 'x is not a function'],
    ['an Error without a message', new RangeError(), 'RangeError'],
    ['a string', 'boom', 'boom'],
    ['undefined', undefined, 'undefined'],
    ['an object without a text form', Object.create(null), 'a value without a text form was thrown'],
  ])('turns %s into `internal` and keeps it as the cause', (_name, thrown, message) => {
    const error = asParleyError(thrown)
    expect(error).toMatchObject({ code: 'internal', message, retryable: false })
    expect(error.cause).toBe(thrown)
  })
})
