import { expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { unwrap } from '../result.ts'
import { compileForeign } from './foreign-schema.ts'
import { compileOwn } from './own-schema.ts'
import { makeAjv } from './validator.ts'

const words = { type: 'string', pattern: '^[a-z]+( [a-z]+)*$' }
const sentence = Array(600).fill('word').join(' ')
const semver = {
  pattern:
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$',
}

test('CALL-T65 a schema of our own has its patterns as they are; in a foreign one they are bounded', () => {
  const own = unwrap(compileOwn(words))
  expect(sentence.length).toBeGreaterThan(2900)
  expect(own.is(sentence)).toBe(true)
  expect(own.is(`${sentence}!`)).toBe(false)
  expect(unwrap(compileForeign(words)).is(sentence)).toBe(false)
  expect(unwrap(compileOwn(semver)).is('1.0.0-rc.1+build.5')).toBe(true)
  expect(unwrap(compileOwn(semver)).is('1.0')).toBe(false)
  expect(compileForeign(semver).ok).toBe(false)
})

test('CALL-T65 a schema of our own may be larger and deeper than a foreign one', () => {
  const large = { enum: Array.from({ length: 20_000 }, (_, index) => `value ${index}`) }
  let deep: object = { type: 'string' }
  for (let level = 0; level < limits.foreignSchemaDepth; level++) deep = { properties: { next: deep } }
  for (const [schema, fitting, other] of [
    [large, 'value 19999', 'value 20000'],
    [deep, {}, JSON.parse(`${'{"next":'.repeat(32)}5${'}'.repeat(32)}`)],
  ] as const) {
    expect(compileForeign(schema).ok).toBe(false)
    const own = unwrap(compileOwn(schema))
    expect(own.is(fitting)).toBe(true)
    expect(own.is(other)).toBe(false)
  }
})

test('CALL-T65 a recursive schema of our own checks values as deep as they come, and survives those that are too deep', () => {
  const tree = unwrap(
    compileOwn({
      $ref: '#/$defs/tree',
      $defs: { tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' }, word: words } } },
    }),
  )
  const nested = (levels: number, leaf: unknown) => {
    let value = leaf
    for (let level = 0; level < levels; level++) value = { next: value, word: sentence }
    return value
  }
  expect(tree.is(nested(100, {}))).toBe(true)
  expect(tree.is(nested(100, 5))).toBe(false)
  expect(tree.is(nested(1_000_000, {}))).toBe(false)
})

/** Each is a schema of the draft, as far as its form goes. */
const POSSIBLE: readonly unknown[] = [
  true,
  {},
  words,
  semver,
  { properties: { id: { type: 'string' }, $ref: { type: 'string' }, pattern: { type: 'string' } } },
  { const: { $ref: 'https://example.org', pattern: '(' } },
  { default: { pattern: '(' }, examples: [{ $ref: '#/nothing' }] },
  { $ref: '#/$defs/n', $defs: { n: { type: 'number' } } },
  { $ref: '#there', $defs: { n: { $anchor: 'there', type: 'number' } } },
  { $id: 'https://example.org/a', $ref: 'a' },
  { type: 'string', nullable: true },
  { dependencies: { a: ['b'], c: { required: ['d'] } } },
  { format: 'email', 'x-note': 1, if: true, minContains: 3, maxContains: 1 },
  // From here on, none that can be compiled.
  { pattern: '(' },
  { items: { anyOf: [{ patternProperties: { '[': {} } }] } },
  { $ref: '#/$defs/missing' },
  { $ref: 'https://example.org/schema' },
  { properties: { default: { $ref: 'other.json#/x' } } },
  { allOf: [{ not: { $dynamicRef: 'other.json#a' } }] },
  { properties: { a: { $ref: '#/$defs/b' } } },
  { properties: { enum: { pattern: '(' } } },
  { prefixItems: [{ enum: [] }] },
  { contains: { nullable: true } },
  { if: { id: 'x' } },
  { propertyNames: { $async: true, type: 'string' } },
]

test.each(POSSIBLE.map(schema => [JSON.stringify(schema).slice(0, 80), schema]))(
  'a schema of our own is refused where it is given if it cannot be compiled: %s',
  (_text, schema) => {
    let compiles = true
    try {
      makeAjv('first', { strict: false }).compile(schema as object)
    } catch {
      compiles = false
    }
    const own = compileOwn(schema)
    expect(own.ok).toBe(compiles)
    if (own.ok) expect(() => own.value.is('1.0.0')).not.toThrow()
    else expect(own.error.code).toBe('invalid_schema')
  },
)

test.each([
  ['text', 'string'],
  ['nothing', undefined],
  ['null', null],
  ['an unknown type', { properties: { a: { type: 'strin' } } }],
  ['a check that would answer with a promise', { $async: true }],
  ['a value without a JSON form', { const: 1n }],
])('a schema of our own is refused where it is given if it is or has %s', (_what, schema) => {
  expect(compileOwn(schema)).toMatchObject({ ok: false, error: { code: 'invalid_schema' } })
})

test('data that looks like keywords is no schema', () => {
  const own = unwrap(compileOwn({ enum: [{ pattern: '(' }], default: { $ref: '#/nowhere' } }))
  expect(own.is({ pattern: '(' })).toBe(true)
})

test('a pattern in what is never used is refused all the same', () => {
  expect(compileOwn({ $defs: { unused: { pattern: '(' } } }).ok).toBe(false)
})

test('CALL-REG-06 a schema of our own is compiled when it is first used, and is what it was when it was given', () => {
  const compiled = compilations(() => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^a' } } }
    const validator = unwrap(compileOwn(schema))
    schema.properties.a.type = 'number'
    return validator
  })
  expect(compiled.count).toBe(0)
  expect(compilations(() => compiled.value.is({ a: 'a' })).count).toBe(1)
  expect(compilations(() => compiled.value.is({ a: 1 }))).toEqual({ count: 0, value: false })
})

/** How often code was made from text meanwhile: that is what compiling a schema comes down to. */
function compilations<T>(run: () => T): { readonly count: number; readonly value: T } {
  // The draft itself is compiled once, with whatever comes first.
  compileOwn({})
  const real = globalThis.Function
  let count = 0
  globalThis.Function = new Proxy(real, {
    construct(target, given) {
      count++
      return Reflect.construct(target, given) as object
    },
  })
  try {
    return { value: run(), count }
  } finally {
    globalThis.Function = real
  }
}
