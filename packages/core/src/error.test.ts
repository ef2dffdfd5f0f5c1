// Refusals, results, defects, and faults of the machine.
import { describe, expect, test } from 'vitest'
import { assertNever, invariant } from './assert.ts'
import { asParleyError, ParleyError } from './error.ts'
import { isDiskFault, machineCodes, machineFaultOf, machineFaultText, systemCode } from './machine-fault.ts'
import { err, ok, type Result, refuse, unwrap } from './result.ts'

describe('ParleyError', () => {
  test('carries a stable code, a message, and by default no details and no promise that a retry helps', () => {
    const error = new ParleyError('trail_unavailable', 'the trail cannot be written')
    expect(error).toBeInstanceOf(Error)
    const told = { code: 'trail_unavailable', message: 'the trail cannot be written' }
    expect(error.toJSON()).toEqual({ ...told, retryable: false, details: {} })
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

function half(value: number): Result<number> {
  return value % 2 === 0 ? ok(value / 2) : refuse('odd', `${value} is odd`, { details: { value } })
}

test('a result is a value or an error, and `ok` tells which', () => {
  expect(half(4)).toEqual({ ok: true, value: 2 })
  const refused = half(3)
  expect(refused.ok).toBe(false)
  if (!refused.ok) expect(refused.error.toJSON()).toMatchObject({ code: 'odd', details: { value: 3 } })
})

test('unwrap gives the value or throws the error itself', () => {
  expect(unwrap(half(4))).toBe(2)
  expect(() => unwrap(half(3))).toThrow(ParleyError)
  const error = { reason: 'any type of error' }
  expect(() => unwrap(err(error))).toThrow(expect.objectContaining(error))
})

test('a broken invariant is an internal error that says what should have held', () => {
  expect(() => invariant(false, 'seq has no gaps')).toThrow(
    expect.objectContaining({ code: 'internal', message: 'broken invariant: seq has no gaps' }),
  )
  expect(() => invariant(true, 'seq has no gaps')).not.toThrow()
})

test('a member of a closed set without a case does not compile, and throws if it comes from outside', () => {
  const area = (shape: 'circle' | 'square') => {
    if (shape === 'circle') return 3
    // @ts-expect-error the square is missing
    return assertNever(shape)
  }
  expect(() => area('square')).toThrow(expect.objectContaining({ code: 'internal' }))
})

const system = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: something, write`), { code, syscall: 'write', ...more })

test.each(machineCodes)('%s is the machine’s, however deep it lies', code => {
  const cause = system(code, { path: '/p/file', syscall: 'spawn git' })
  const fault = { code, where: '/p/file' }
  expect(machineFaultOf(cause)).toEqual(fault)
  const full = new ParleyError('trail_full', 'no room', { cause })
  expect(machineFaultOf(new ParleyError('trail_unavailable', 'nothing was done', { cause: full }))).toEqual(fault)
  expect(machineFaultText(fault)).toContain(`(${code} at /p/file)`)
})

test('a quota that is used up is one, for which Node.js has no name', () => {
  for (const errno of [-122, -69])
    for (const name of ['UNKNOWN', `Unknown system error ${errno}`]) {
      expect(machineFaultOf(system(name, { errno, path: '/p/file' }))).toEqual({ code: 'EDQUOT', where: '/p/file' })
      expect(systemCode(system(name, { errno }))).toBe('EDQUOT')
    }
  expect(machineFaultOf(system('UNKNOWN', { errno: -4094 }))).toBeUndefined()
})

test('what crossed a thread or a process as details counts as well', () => {
  const error = new ParleyError('git_failed', 'git could not be started', { details: { system: 'EMFILE' } })
  expect(machineFaultOf(error)).toEqual({ code: 'EMFILE' })
  const sqlite = (errcode: number) => Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode })
  expect([13, 778].map(errcode => machineFaultOf(sqlite(errcode))?.code)).toEqual(['ENOSPC', 'EIO'])
  // As it comes from another thread.
  const details = { system: 'ERR_SQLITE_ERROR', errcode: 13 }
  expect(machineFaultOf(new ParleyError('index_failed', 'full', { details }))?.code).toBe('ENOSPC')
})

test('what only a restart ends is not waited for, whatever brought it about', () => {
  const error = new ParleyError('keys_uncertain', 'start again', { cause: system('ENOSPC') })
  expect(machineFaultOf(error)).toBeUndefined()
})

test('anything else is not, whatever its message quotes', () => {
  const quoted = new ParleyError('exit_nonzero', 'ENOSPC: No space left on device', { details: { stderr: 'ENOSPC' } })
  const around = new Error('a circle')
  around.cause = around
  const busy = Object.assign(new Error('locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 })
  const later = system('EAGAIN', { syscall: 'read' })
  for (const each of [quoted, around, busy, later, system('ENOENT'), system('EACCES'), 'ENOSPC', null, undefined])
    expect(machineFaultOf(each)).toBeUndefined()
})

test('only faults of a disk can be looked at by writing to it', () => {
  expect(machineCodes.filter(code => isDiskFault({ code }))).toEqual(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])
})
