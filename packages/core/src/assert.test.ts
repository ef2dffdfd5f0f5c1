import { expect, test } from 'vitest'
import { assertNever, invariant } from './assert.ts'

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
