import { describe, expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { unwrap } from '../result.ts'
import { compileForeign } from './foreign-schema.ts'

function refusal(schema: unknown): string {
  const result = compileForeign(schema)
  expect(result).toMatchObject({ ok: false, error: { code: 'invalid_schema', retryable: false } })
  return result.ok ? '' : result.error.message
}

describe('a schema from outside', () => {
  test.each([
    ['an empty schema', {}, [1, null, 'x'], []],
    ['true', true, [1, null], []],
    ['false', false, [], [1, null]],
    ['types', { type: ['string', 'null'] }, ['x', null], [1]],
    ['local references', { $ref: '#/$defs/n', $defs: { n: { type: 'number' } } }, [1], ['x']],
    [
      'recursion',
      { properties: { next: { $ref: '#' } }, required: ['value'] },
      [{ value: 1 }],
      [{ value: 1, next: {} }],
    ],
    ['another draft by name', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'number' }, [1], ['x']],
    [
      'the name of the draft itself',
      { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'number' },
      [1],
      ['x'],
    ],
    ['unknown keywords and formats', { 'x-note': 1, format: 'email' }, ['no mail'], []],
    ['tuples', { prefixItems: [{ type: 'number' }], items: false }, [[1]], [['x'], [1, 2]]],
    ['a pattern', { pattern: '^[a-z]+(-[a-z]+)*$' }, ['a-b-c'], ['a--b']],
    [
      'several patterns',
      { properties: { a: { pattern: '^a*b*$' }, b: { pattern: '^c*d*$' } } },
      [{ a: 'ab', b: 'cd' }],
      [
        { a: 'ab', b: 'ab' },
        { a: 'cd', b: 'cd' },
      ],
    ],
  ])('works with %s', (_name, schema, fitting, others) => {
    const validator = unwrap(compileForeign(schema))
    for (const value of fitting) expect(validator.check(value)).toEqual({ ok: true, value })
    for (const value of others)
      expect(validator.check(value)).toMatchObject({ ok: false, error: { code: 'invalid_argument' } })
  })

  test.each([
    ['text', 'string'],
    ['nothing', undefined],
    ['null', null],
    ['an unknown type', { type: 'strin' }],
    ['a bound that makes no sense', { minLength: -1 }],
    ['a remote reference', { $ref: 'https://example.org/schema' }],
    ['a remote reference below', { properties: { default: { $ref: 'other.json#/x' } } }],
    ['a reference to nothing', { $ref: '#/$defs/missing' }],
    ['a check that would answer with a promise', { $async: true }],
    ['such a check below', { properties: { a: { $async: true, type: 'string' } } }],
    ['a broken pattern', { pattern: '(' }],
    ['a pattern that may run for ages', { pattern: '^(a+)+$' }],
    ['such a pattern below a keyword that can hold data', { properties: { default: { pattern: '^(a+)+$' } } }],
    ['such a pattern for keys', { patternProperties: { '^(a|a)*$': {} } }],
    ['a value without a JSON form', { const: 1n }],
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
    expect(validator.check(1)).toMatchObject({
      ok: false,
      error: { message: 'value: expected less nesting, got 1' },
    })
  })

  test('is what it was when it came', () => {
    const schema = { type: 'string' }
    const validator = unwrap(compileForeign(schema))
    schema.type = 'number'
    expect(validator.problems(1)).toMatchObject([{ expected: 'string' }])
    expect(validator.schema).toEqual({ type: 'string' })
  })

  test('cannot change how the next one is checked', () => {
    const id = 'https://json-schema.org/draft/2020-12/schema'
    unwrap(compileForeign({ $id: id, $defs: { a: { $id: 'https://json-schema.org/draft/2020-12/meta/core' } } }))
    refusal({ type: 'strin' })
  })
})
