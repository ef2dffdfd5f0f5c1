import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type IdSource, isId, SeededIds, SystemIds } from './ids.ts'

const form = /^run_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/

function take(ids: IdSource, count: number): string[] {
  return Array.from({ length: count }, () => ids.next('run'))
}

function expectStrictlyIncreasing(ids: readonly string[]): void {
  for (let at = 1; at < ids.length; at++) expect(ids[at]! > ids[at - 1]!).toBe(true)
}

describe('SystemIds', () => {
  test('gives a prefix, an underscore and 26 characters of Crockford base 32', () => {
    const id = new SystemIds().next('run')
    expect(id).toMatch(form)
    expect(isId(id)).toBe(true)
  })

  test('the first ten characters are the time in milliseconds', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    const id = new SystemIds(() => 1_772_355_900_123.7).next('run')
    const time = [...id.slice(4, 14)].reduce((sum, character) => sum * 32 + alphabet.indexOf(character), 0)
    expect(time).toBe(1_772_355_900_123)
  })

  test('ids of one process increase strictly, whatever the clock does', () => {
    const anyTime = fc.integer({ min: 0, max: 2 ** 48 - 1 })
    const fractions = fc.integer({ min: 0, max: 100 }).map(tenths => 5 + tenths / 10)
    fc.assert(
      fc.property(fc.array(fc.oneof(anyTime, fractions), { minLength: 1, maxLength: 200 }), times => {
        let at = 0
        const ids = take(new SystemIds(() => times[at++]!), times.length)
        expect(ids.every(id => form.test(id))).toBe(true)
        expectStrictlyIncreasing(ids)
      }),
    )
  })

  test('ids of one millisecond increase strictly and do not follow each other by one', () => {
    const ids = take(new SystemIds(() => 5), 100_000)
    expectStrictlyIncreasing(ids)
    const followsByOne = ids.filter((id, at) => at > 0 && id.slice(0, -1) === ids[at - 1]!.slice(0, -1))
    expect(followsByOne.length).toBeLessThan(100)
  })

  test('when the random part overflows, the time part goes on', () => {
    const ids = take(
      new SystemIds(
        () => 5,
        bytes => bytes.fill(0xff),
      ),
      3,
    )
    expect(ids[0]).toBe('run_0000000005zzzzzzzzzzzzzzzz')
    expect(ids[1]).toBe('run_0000000006zzzzzzzzzzzzzzzz')
    expectStrictlyIncreasing(ids)
  })

  test('two processes do not give the same id, even at the same time', () => {
    const ids = [...take(new SystemIds(() => 5), 1000), ...take(new SystemIds(() => 5), 1000)]
    expect(new Set(ids).size).toBe(2000)
  })

  test.each(['', 'Run', 'a-b', '1x', 'x'.repeat(33)])('refuses the prefix "%s"', prefix => {
    expect(() => new SystemIds().next(prefix)).toThrow(expect.objectContaining({ code: 'internal' }))
  })

  test('the longest prefix still gives an id within the limit', () => {
    expect(isId(new SystemIds().next('x'.repeat(32)))).toBe(true)
  })
})

describe('SeededIds', () => {
  test('the same seed gives the same ids, another seed gives others', () => {
    expect(take(new SeededIds(7), 500)).toEqual(take(new SeededIds(7), 500))
    const both = [...take(new SeededIds(7), 500), ...take(new SeededIds(8), 500)]
    expect(new Set(both).size).toBe(1000)
  })

  test('has the form and the order of real ids', () => {
    const ids = take(new SeededIds(1), 2000)
    expect(ids.every(id => form.test(id))).toBe(true)
    expectStrictlyIncreasing(ids)
  })
})

test.each([
  ['run_1', true],
  ['alp:SHA256:abc/def+', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['a b', false],
  ['a\n', false],
  ['ü', false],
  [7, false],
])('isId(%j) is %s', (text, expected) => {
  expect(isId(text)).toBe(expected)
})
