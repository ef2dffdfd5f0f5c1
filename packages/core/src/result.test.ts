import { expect, test } from 'vitest'
import { ParleyError } from './error.ts'
import { err, ok, type Result, refuse, unwrap } from './result.ts'

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
