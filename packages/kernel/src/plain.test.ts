import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deepFreeze, plain } from './plain.ts'

function* objectsIn(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const member of Object.values(value)) yield* objectsIn(member)
}

describe('plain', () => {
  test('gives a frozen copy of whatever JSON can say, and the original stays its owner’s', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), value => {
        fc.pre(!JSON.stringify(value).includes('__proto__'))
        const copy = plain(value)
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
        const originals = new Set(objectsIn(value))
        for (const each of objectsIn(copy)) {
          expect(Object.isFrozen(each)).toBe(true)
          expect(originals.has(each)).toBe(false)
        }
        for (const each of originals) expect(Object.isFrozen(each)).toBe(false)
      }),
    )
  })

  test('leaves out members that are undefined', () => {
    expect(plain({ a: undefined, b: { c: undefined, d: null } })).toEqual({ b: { d: null } })
    expect(Object.keys(plain({ a: undefined })!)).toEqual([])
  })

  test('takes objects without a prototype, and gives every copy the usual one', () => {
    const bare = Object.assign(Object.create(null) as object, { a: 1 })
    const copy = plain(bare)
    expect(copy).toEqual({ a: 1 })
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  })

  test('knows one zero only, as JSON does', () => {
    expect(Object.is(plain(-0), 0)).toBe(true)
  })

  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) })
  class Point {
    x = 1
  }
  test.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a bigint', 1n],
    ['NaN', Number.NaN],
    ['an infinity', Number.NEGATIVE_INFINITY],
    ['half a surrogate pair', '\ud800'],
    ['a key with half a surrogate pair', { '\udc00': 1 }],
    ['a class instance', new Point()],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['a boxed text', Object('text')],
    ['a list with a hole', new Array(1)],
    ['a list with undefined', [undefined]],
    ['a member named __proto__', JSON.parse('{"__proto__": {"admin": true}}')],
    ['a cycle', cycle],
    ['what is nested too deeply', deep(100)],
  ])('has no copy of %s, alone or inside', (_what, value) => {
    expect(plain(value)).toBeUndefined()
    if (value !== undefined) expect(plain({ inside: [value] })).toBeUndefined()
    expect(plain([value])).toBeUndefined()
  })

  test('passes on what a getter throws: that is no question of form', () => {
    const thrower = {
      get broken(): never {
        throw new RangeError('mine')
      },
    }
    expect(() => plain(thrower)).toThrow(RangeError)
  })
})

test('deepFreeze freezes a value and everything in it', () => {
  const value = { a: [{ b: { c: 1 } }] }
  expect(deepFreeze(value)).toBe(value)
  for (const each of objectsIn(value)) expect(Object.isFrozen(each)).toBe(true)
})
