import { expect, test } from 'vitest'
import { compileForeign } from './foreign-schema.ts'
import { compileOwn } from './own-schema.ts'
import { unwrap } from './result.ts'

test('CALL-REG-06 schemas of the own code may recurse and have patterns that foreign ones are bounded for', () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string', pattern: '^[a-z]+( [a-z]+)*$' }, next: { $ref: '#' } },
  }
  const own = unwrap(compileOwn(schema))
  const name = 'word '.repeat(600).trim()
  expect(name).toHaveLength(2999)
  expect(own.is({ name, next: { name } })).toBe(true)
  expect(own.is({ name, next: { name: 'Word' } })).toBe(false)
  expect(unwrap(compileForeign(schema)).is({ name })).toBe(false)
})

test.each([
  ['no schema', { type: 'text' }],
  ['a reference to elsewhere', { $ref: 'https://x.test/s.json' }],
  ['a reference to what is not there', { properties: { a: { $ref: '#/$defs/b' } } }],
  ['a pattern that is none', { type: 'string', pattern: '(' }],
  ['a name’s pattern that is none', { patternProperties: { '[': {} } }],
  ['a pattern below a property with the name of a keyword', { properties: { enum: { pattern: '(' } } }],
  ['$async', { $async: true }],
])('%s is refused when it is given', (_what, schema) => {
  expect(compileOwn(schema)).toMatchObject({ ok: false, error: { code: 'invalid_schema' } })
})

test('data that looks like keywords is no schema', () => {
  const own = unwrap(compileOwn({ enum: [{ pattern: '(' }], default: { $ref: '#/nowhere' } }))
  expect(own.is({ pattern: '(' })).toBe(true)
})
