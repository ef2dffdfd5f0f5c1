import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalize, canonicalizeWithNull } from './canonical.ts'
import { limits } from './limits.ts'

class Other {
  readonly a = 1
}

test.each([
  ['null', null],
  ['null in an object', { a: null }],
  ['undefined in an array', [undefined]],
  ['a hole in an array', new Array(1)],
  ['an undefined member', { a: undefined }],
  ['NaN', Number.NaN],
  ['an infinity', [-Infinity]],
  ['a BigInt', 1n],
  ['a function', { a: () => 1 }],
  ['a symbol', Symbol('a')],
  ['a Date', new Date(0)],
  ['a Map', new Map()],
  ['a class instance', new Other()],
  ['a lone surrogate', 'a\ud800'],
  ['a lone surrogate as a key', { '\udc00': 1 }],
])('ALX-T47 %s has no canonical text', (_name, value) => {
  expect(() => canonicalize(value)).toThrow(TypeError)
})

test('ALX-KB-04 nesting is bounded, which is also how a cycle ends', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
  expect(canonicalize(nested(limits.nesting))).toContain('1')
  expect(() => canonicalize(nested(limits.nesting + 1))).toThrow('nesting beyond')
  const cycle: unknown[] = []
  cycle.push(cycle)
  expect(() => canonicalize(cycle)).toThrow('cycle')
})

const leaf = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
)
const key = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('__proto__', 'constructor', '1', '10'),
)
const { value: json } = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value'), { maxLength: 5 }), tie('object')),
  object: fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map(Object.fromEntries),
}))

/** The same value with the members of all objects in another order. */
function shuffled(value: unknown, random: () => number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => shuffled(item, random))
  const members = Object.entries(value).map(([name, member]) => ({ name, member, at: random() }))
  const entries = members.sort((a, b) => a.at - b.at).map(({ name, member }) => [name, shuffled(member, random)])
  return Object.fromEntries(entries)
}

test('ALX-T48 the order of members never shows in the canonical text, and the text reads back as the value', () => {
  fc.assert(
    fc.property(json, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (value, order) => {
      const text = canonicalize(value)
      const random = () => order.next().value
      expect(canonicalize(shuffled(value, random))).toBe(text)
      // -0 is written as 0.
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 1000 },
  )
})

test('ALX-KB-04 strings and numbers are written as ECMAScript writes them, keys sorted by code units', () => {
  expect(canonicalize({ '\ufb33': 1, '\u{1f600}': 2, a: 3, B: 4 })).toBe('{"B":4,"a":3,"\u{1f600}":2,"\ufb33":1}')
  expect(canonicalize('"\\/\b\t\n\f\r\u0001\u001f\u007f\u2028é')).toBe(
    '"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\u007f\u2028é"',
  )
  expect(canonicalize([1.0, -0, 1e21, 0.0000001, 5e-324, 2 ** 53])).toBe('[1,0,1e+21,1e-7,5e-324,9007199254740992]')
})

test('ALX-SOLVE-15 the text of a fingerprint may hold null, and refuses everything else that has no text', () => {
  expect(canonicalizeWithNull({ b: [null], a: null })).toBe('{"a":null,"b":[null]}')
  expect(() => canonicalizeWithNull({ a: undefined })).toThrow(TypeError)
})
