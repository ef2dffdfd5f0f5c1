import { type Static, Type } from 'typebox'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { RunId } from '../ids.ts'
import { limits } from '../limits.ts'
import { compile, mapSchema } from './schema.ts'

const Envelope = Type.Object(
  {
    id: Type.Unsafe<RunId>({ type: 'string', maxLength: limits.idLength, pattern: '^[\\x21-\\x7e]+$' }),
    status: Type.Union([Type.Literal('queued'), Type.Literal('read')]),
    priority: Type.Integer({ minimum: 0, maximum: 9 }),
    cause: Type.Union([Type.String(), Type.Null()]),
    items: Type.Array(Type.Object({ name: Type.String({ minLength: 1 }) }), { maxItems: 3 }),
    note: Type.Optional(Type.String({ maxLength: 5 })),
  },
  { additionalProperties: false },
)
const envelope = compile(Envelope, { name: 'body' })
const good = { id: 'run_1', status: 'read', priority: 3, cause: null, items: [{ name: 'a' }] }

/** The only problem of a value that is good but for one change. */
function problem(change: object) {
  const found = envelope.problems({ ...good, ...change })
  expect(found).toHaveLength(1)
  return found[0]
}

describe('a validator', () => {
  test('accepts what fits and hands back the very same value', () => {
    expect(envelope.is(good)).toBe(true)
    const result = envelope.check(good)
    expect(result).toEqual({ ok: true, value: good })
    if (result.ok) expect(result.value).toBe(good)
    expect(envelope.problems(good)).toEqual([])
  })

  test('has the type of its schema', () => {
    expectTypeOf<Static<typeof Envelope>['status']>().toEqualTypeOf<'queued' | 'read'>()
    expectTypeOf<Static<typeof Envelope>['id']>().toEqualTypeOf<RunId>()
    const value: unknown = good
    if (envelope.is(value)) expectTypeOf(value).toEqualTypeOf<Static<typeof Envelope>>()
    expect(envelope.schema).toBe(Envelope)
  })

  test('refuses as a value, with the code it was told, and names place, expectation and what came', () => {
    const result = envelope.check({ ...good, status: 'sent' }, 'invalid_structure')
    expect(result.ok).toBe(false)
    if (result.ok) return
    expect(result.error.toJSON()).toEqual({
      code: 'invalid_structure',
      message: 'body.status: expected one of "queued", "read", got "sent"',
      retryable: false,
      details: { errors: [{ path: 'body.status', expected: 'one of "queued", "read"', actual: '"sent"' }] },
    })
    expect(envelope.check(null)).toMatchObject({ ok: false, error: { code: 'invalid_argument' } })
  })

  test('changes nothing: no coercion, no defaults, no removal', () => {
    const withDefault = compile(Type.Object({ n: Type.Optional(Type.Number({ default: 1 })) }))
    const value = { extra: true }
    expect(withDefault.is(value)).toBe(true)
    expect(value).toEqual({ extra: true })
    expect(withDefault.is({ n: '1' })).toBe(false)
  })

  test('counts length in characters, not in UTF-16 units', () => {
    const two = compile(Type.String({ minLength: 2, maxLength: 2 }))
    const fits = ['😀', '😀😀', '😀a', 'ab', 'a', 'abc', '😀😀😀', ''].map(text => two.is(text))
    expect(fits).toEqual([false, true, true, true, false, false, false, false])
  })

  test('a schema with a misspelt keyword is a defect and throws at first use', () => {
    const misspelt = compile(Type.String({ maxLenght: 3 }))
    expect(() => misspelt.is('x')).toThrow(/maxLenght/)
  })

  test('names inside one schema do not meet those of another', () => {
    const tree = (member: string) =>
      compile(Type.Cyclic({ Node: Type.Object({ [member]: Type.Array(Type.Ref('Node')) }) }, 'Node'))
    const [first, second] = [tree('left'), tree('right')]
    expect(first.is({ left: [{ left: [] }] })).toBe(true)
    expect(second.is({ right: [{ right: [] }] })).toBe(true)
    expect(second.is({ left: [] })).toBe(false)
  })
})

describe('problems', () => {
  test.each([
    [{ id: '' }, 'body.id', 'text like ^[\\x21-\\x7e]+$', '""'],
    [{ priority: 12 }, 'body.priority', 'a number <= 9', '12'],
    [{ priority: 1.5 }, 'body.priority', 'integer', '1.5'],
    [{ priority: 'x' }, 'body.priority', 'integer', '"x"'],
    [{ cause: 5 }, 'body.cause', 'string or null', '5'],
    [{ items: [{ name: 'a' }, { name: 7 }] }, 'body.items[1].name', 'string', '7'],
    [{ items: [{ name: '' }] }, 'body.items[0].name', 'at least 1 characters', '""'],
    [{ items: [{}] }, 'body.items[0].name', 'string', 'nothing'],
    [{ items: { 0: 'a' } }, 'body.items', 'array', 'an object'],
    [{ items: Array(4).fill({ name: 'a' }) }, 'body.items', 'at most 3 items', 'an array of 4'],
    [{ note: 'longer' }, 'body.note', 'at most 5 characters', '"longer"'],
    [{ actor: 'me' }, 'body.actor', 'no such member', '"me"'],
    [{ 'a/b~c': 1 }, 'body["a/b~c"]', 'no such member', '1'],
  ])('%j', (change, path, expected, actual) => {
    expect(problem(change)).toMatchObject({ path, expected, actual })
  })

  test('carry a JSON pointer too', () => {
    expect(problem({ items: [{ name: 'a' }, {}] })?.pointer).toBe('/items/1/name')
    expect(problem({ 'a/b~c': 1 })?.pointer).toBe('/a~1b~0c')
  })

  test('of a union with a tag are those of the branch that the tag names', () => {
    const circle = Type.Object({ kind: Type.Literal('circle'), radius: Type.Number() })
    const box = Type.Object({ kind: Type.Literal('box'), width: Type.Number(), height: Type.Number() })
    const shape = compile(Type.Union([circle, box]))
    for (const [value, path, expected] of [
      [{ kind: 'box', width: 'x', height: 1 }, 'width', 'number'],
      [{ kind: 'cone' }, 'kind', 'one of "circle", "box"'],
      [{}, 'value', 'one of the allowed forms'],
    ] as const)
      expect(shape.problems(value)).toMatchObject([{ path, expected }])
  })

  test('are bounded in number', () => {
    const result = compile(Type.Array(Type.Number())).check(Array(100).fill('x'))
    expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining('(and 7 more)') } })
    if (!result.ok) expect(result.error.details.errors).toHaveLength(limits.schemaErrors)
  })

  test('of a large value are the first one only', () => {
    const list = compile(Type.Array(Type.Number()))
    expect(list.problems(Array(limits.schemaErrorNodes + 1).fill('x'))).toHaveLength(1)
  })

  test('do not repeat long values, long expectations or long paths', () => {
    const secret = 's'.repeat(10_000)
    const names = compile(Type.Object({ [secret]: Type.Enum([secret, 'b']) }))
    const [found] = names.problems({ [secret]: secret.repeat(2) })
    expect(found!.actual.length).toBeLessThanOrEqual(limits.messageValueLength)
    expect(found!.expected.length).toBeLessThanOrEqual(limits.messageExpectedLength)
    expect(found!.path.length).toBeLessThanOrEqual(limits.messagePathLength)
  })

  test('name the whole value if it has no name', () => {
    const error = { message: 'value: expected string, got 5' }
    expect(compile(Type.String()).check(5)).toMatchObject({ ok: false, error })
  })

  test('describe values that JSON does not know', () => {
    const text = compile(Type.String())
    const described = [undefined, 1n, () => 1, Number.NaN].map(value => text.problems(value)[0]?.actual)
    expect(described).toEqual(['nothing', 'a bigint', 'a function', 'NaN'])
  })
})

test('a map checks the value of every key', () => {
  const counts = compile(mapSchema(Type.Integer()))
  expect(counts.is({ a: 1, 'b\nc': 2 })).toBe(true)
  expect(counts.is({ 'b\nc': 'x' })).toBe(false)
})
