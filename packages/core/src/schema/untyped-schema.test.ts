// Schemas without a type here: those of our own operations, and those from outside with their patterns.
import { describe, expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { unwrap } from '../result.ts'
import { compileForeign } from './foreign-schema.ts'
import { compileOwn } from './own-schema.ts'
import { foreignPattern } from './pattern.ts'
import { makeAjv } from './validator.ts'

describe('a pattern from outside', () => {
  test.each([
    ['^[a-z]+(-[a-z]+)*$', 'a-b-c'],
    ['^[a-z]+(\\.[a-z]+)*$', 'a.b.c'],
    ['^(?:\\d{3}-)?\\d{4}$', '123-4567'],
    ['^(https?|ftp)://', 'https://x'],
    ['^[\\w.+-]+@[\\w-]+\\.[\\w.]+$', 'a@b.c'],
    ['^(a+){0,3}$', 'aaa'],
    ['^(?:[0-9a-f]{2}){3,}$', 'c0ffee'],
    ['^([0-9]{6}){2}$', '123456123456'],
    ['^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '00000000-0000-0000-0000-000000000000'],
    ['^([a-z])+$', 'abc'],
    ['^[(+)*]+$', '(+)*'],
    ['^\\(\\+\\)*$', '(+)'],
    ['(?<year>\\d{4})-(?<month>\\d{2})', '2026-03'],
    ['^(?!x)[a-z]+$', 'abc'],
    ['^[^@]+@[^@]+\\.[a-z]+$', `${'a'.repeat(100)}@${'b'.repeat(100)}.org`],
    ['^-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?$', '-12.5e+10'],
    ['^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \\S+$', `GET /${'a'.repeat(500)}`],
    ['^[a-z]+(-[a-z]+)*$', 'a-b'.repeat(600)],
    ['^".*?"$', `"${'a'.repeat(5000)}"`],
    ['^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$', '2026-11-30'],
  ])('%s is used', (source, text) => {
    expect(foreignPattern(source, 'u').test(text)).toBe(true)
    expect(foreignPattern(source, 'u').test('\u0000')).toBe(false)
  })

  test.each([
    '^(a+)+$',
    '^(a*)*$',
    '(a+){10,}',
    '(a+){50}',
    '((a+)b?)*',
    '(a|a)*',
    '(a|ab)+$',
    '(.*)*x',
    '^(\\w+\\s?)+$',
    '^[a-z]+([a-z]+)*$',
    '^(-[a-z-]+)*$',
    '(?:a+)+',
    '(?<n>a+)+',
    '(a)\\1',
    '(?<n>a)\\k<n>',
  ])('%s is refused, since it may run for ages', source => {
    expect(() => foreignPattern(source, 'u')).toThrow(expect.objectContaining({ code: 'invalid_schema' }))
  })

  test('is not tried on a long text, unless it takes one pass', () => {
    const long = 'a'.repeat(limits.foreignPatternSubjectLength + 1)
    expect(foreignPattern('a+$', 'u').test(long)).toBe(false)
    expect(foreignPattern('^a*b?a*$', 'u').test(long)).toBe(false)
    expect(foreignPattern('^a+$', 'u').test(long)).toBe(true)
  })

  test('is bounded in length', () => {
    expect(foreignPattern('a'.repeat(limits.foreignPatternLength), 'u')).toBeTruthy()
    expect(() => foreignPattern('a'.repeat(limits.foreignPatternLength + 1), 'u')).toThrow(/characters/)
  })
})

test.each([
  ['repetitions that share a text', '^a*a*a*a*a*b$', 2048],
  ['more of them, without a start', 'a*a*a*a*a*a*a*b', 2048],
  ['many that are optional', `^${'a?'.repeat(23)}${'a'.repeat(23)}$`, 22],
  ['few at most', `^${'a{0,4}'.repeat(9)}b$`, 40],
  ['choices', `^${'(a|a)'.repeat(22)}b$`, 22],
  ['a repetition a few times', '^(a+){0,4}b$', 2048],
  ['that a few times', '^((a+){0,4}){0,4}b$', 2048],
  ['a choice a few times', `^${'((a|a){4})'.repeat(5)}b$`, 20],
])('none takes long: %s', (_, source, length) => {
  const started = performance.now()
  expect(foreignPattern(source, 'u').test('a'.repeat(length))).toBe(false)
  // The slowest takes a tenth of a second; before the bound, the first took days.
  expect(performance.now() - started).toBeLessThan(20_000)
})

test.each([
  `^${'a?'.repeat(40)}${'a'.repeat(40)}$`,
  `^${'(a|a)'.repeat(40)}b$`,
  `^${'a{0,4}'.repeat(40)}b$`,
  '^(a?){30}a{30}$',
  '^(a?a?)*b$',
  `^${'(a|a){4}'.repeat(9)}$`,
])('more choices than can be tried are refused: %s', source => {
  expect(() => foreignPattern(source, 'u')).toThrow('may run for ages')
})

/** What is no schema, whoever gives it. */
const NONE: readonly [what: string, schema: unknown][] = [
  ['text', 'string'],
  ['nothing', undefined],
  ['null', null],
  ['an unknown type', { properties: { a: { type: 'strin' } } }],
  ['a check that would answer with a promise', { $async: true }],
  ['a value without a JSON form', { const: 1n }],
]

function refusal(schema: unknown): string {
  const result = compileForeign(schema)
  expect(result).toMatchObject({ ok: false, error: { code: 'invalid_schema', retryable: false } })
  return result.ok ? '' : result.error.message
}

describe('a schema from outside', () => {
  const DRAFT = 'https://json-schema.org/draft/2020-12'
  const two = { properties: { a: { pattern: '^a*b*$' }, b: { pattern: '^c*d*$' } } }

  test.each([
    ['an empty schema', {}, [1, null, 'x'], []],
    ['true', true, [1, null], []],
    ['false', false, [], [1, null]],
    ['types', { type: ['string', 'null'] }, ['x', null], [1]],
    ['local references', { $ref: '#/$defs/n', $defs: { n: { type: 'number' } } }, [1], ['x']],
    ['recursion', { properties: { n: { $ref: '#' } }, required: ['v'] }, [{ v: 1 }], [{ v: 1, n: {} }]],
    ['another draft by name', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'number' }, [1], ['x']],
    ['the name of the draft itself', { $id: `${DRAFT}/schema`, type: 'number' }, [1], ['x']],
    ['unknown keywords and formats', { 'x-note': 1, format: 'email' }, ['no mail'], []],
    ['tuples', { prefixItems: [{ type: 'number' }], items: false }, [[1]], [['x'], [1, 2]]],
    ['a pattern', { pattern: '^[a-z]+(-[a-z]+)*$' }, ['a-b-c'], ['a--b']],
    ['several patterns', two, [{ a: 'ab', b: 'cd' }], ['ab', 'cd'].map(text => ({ a: text, b: text }))],
  ])('works with %s', (_name, schema, fitting, others) => {
    const validator = unwrap(compileForeign(schema))
    for (const value of fitting) expect(validator.check(value)).toEqual({ ok: true, value })
    for (const value of others)
      expect(validator.check(value)).toMatchObject({ ok: false, error: { code: 'invalid_argument' } })
  })

  test.each([
    ...NONE,
    ['a bound that makes no sense', { minLength: -1 }],
    ['a remote reference', { $ref: 'https://example.org/schema' }],
    ['a remote reference below', { properties: { default: { $ref: 'other.json#/x' } } }],
    ['a reference to nothing', { $ref: '#/$defs/missing' }],
    ['a check below that would answer with a promise', { properties: { a: { $async: true, type: 'string' } } }],
    ['a broken pattern', { pattern: '(' }],
    ['a pattern that may run for ages', { pattern: '^(a+)+$' }],
    ['such a pattern below a keyword that can hold data', { properties: { default: { pattern: '^(a+)+$' } } }],
    ['such a pattern for keys', { patternProperties: { '^(a|a)*$': {} } }],
  ])('is refused if it is or has %s', (_name, schema) => {
    refusal(schema)
  })

  test('is refused if it is too large, too deep, or has too long a pattern', () => {
    expect(refusal({ description: 'x'.repeat(limits.foreignSchemaBytes) })).toContain('larger')
    const nested = (levels: number): object => {
      let schema = {}
      for (let level = 0; level < levels; level++) schema = { not: schema }
      return schema
    }
    unwrap(compileForeign(nested(limits.foreignSchemaDepth - 1)))
    expect(refusal(nested(limits.foreignSchemaDepth))).toContain('deeper')
    expect(refusal(nested(100_000))).toBeTruthy()
    expect(refusal({ pattern: 'x'.repeat(limits.foreignPatternLength + 1) })).toContain('pattern')
  })

  test('bytes are counted, not characters', () => {
    expect(refusal({ description: '€'.repeat(limits.foreignSchemaBytes / 3) })).toContain('larger')
  })

  test('does not fit a value that leads it round in circles, and says so', () => {
    const validator = unwrap(compileForeign({ $ref: '#' }))
    expect(validator.is(1)).toBe(false)
    expect(validator.check(1)).toMatchObject({ ok: false, error: { message: 'value: expected less nesting, got 1' } })
  })

  test('is what it was when it came', () => {
    const schema = { type: 'string' }
    const validator = unwrap(compileForeign(schema))
    schema.type = 'number'
    expect(validator.problems(1)).toMatchObject([{ expected: 'string' }])
    expect(validator.schema).toEqual({ type: 'string' })
  })

  test('cannot change how the next one is checked', () => {
    unwrap(compileForeign({ $id: `${DRAFT}/schema`, $defs: { a: { $id: `${DRAFT}/meta/core` } } }))
    refusal({ type: 'strin' })
  })
})

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

test.each(NONE)('a schema of our own is refused where it is given if it is or has %s', (_what, schema) => {
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
