import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { canonicalize, canonicalString } from './canonical.ts'

/** Enough repetitions for a shape to be compiled. */
const often = 40

function float64(hex: string): number {
  return new DataView(new BigUint64Array([BigInt(`0x${hex}`)]).buffer).getFloat64(0, true)
}

/** RFC 8785 word for word, without regard to speed. */
function reference(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(reference).join(',')}]`
  const record = value as Record<string, unknown>
  const keys = Object.keys(record).sort((a, b) => (a < b ? -1 : 1))
  return `{${keys.map(key => `${JSON.stringify(key)}:${reference(record[key])}`).join(',')}}`
}

describe('RFC 8785, the published examples', () => {
  test('sections 3.2.2 to 3.2.4: the sample object gives the sample bytes', () => {
    const sample = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`
    const bytes = `
      7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
      75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
      5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
      65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
      5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
      30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d`
    const canonical = Buffer.from(canonicalize(JSON.parse(sample)))
    expect(canonical.toString('hex')).toBe(bytes.replaceAll(/\s/g, ''))
  })

  test('section 3.2.3: keys are sorted by UTF-16 code unit', () => {
    const sample = String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`
    const texts = canonicalize(JSON.parse(sample)).matchAll(/:"(\w+)/g)
    const words = ['Carriage', 'One', 'Control', 'Latin', 'Euro', 'Emoji', 'Hebrew']
    expect(Array.from(texts, match => match[1])).toEqual(words)
  })

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('appendix B: the number with the bits %s is %s', (bits, text) => {
    expect(canonicalize(float64(bits))).toBe(text)
    expect(canonicalize({ 1: float64(bits) })).toBe(`{"1":${text}}`)
  })

  test.each(['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])('appendix B: %s is refused', bits => {
    expect(() => canonicalize(float64(bits))).toThrow(expect.objectContaining({ code: 'not_canonical' }))
  })
})

describe('key order', () => {
  test.each([
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    ['{"b":{"d":1,"c":[{"f":1,"e":2}]},"a":0}', '{"a":0,"b":{"c":[{"e":2,"f":1}],"d":1}}'],
    ['{"10":1,"9":2,"1":3,"a":4}', '{"1":3,"10":1,"9":2,"a":4}'],
    ['{"z":1,"__proto__":{"b":1,"a":2}}', '{"__proto__":{"a":2,"b":1},"z":1}'],
    ['{"peach":1,"péché":2,"pêche":3,"sin":4}', '{"peach":1,"péché":2,"pêche":3,"sin":4}'],
    ['{"toString":1,"constructor":2}', '{"constructor":2,"toString":1}'],
    ['{"":1," ":2,"\\"":3,"\\\\":4,"\\n":5}', '{"":1,"\\n":5," ":2,"\\"":3,"\\\\":4}'],
    ['{"a":[],"b":{}}', '{"a":[],"b":{}}'],
  ])('%s becomes %s, the first time and every time', (text, canonical) => {
    for (let time = 0; time < often; time++) expect(canonicalize(JSON.parse(text))).toBe(canonical)
  })

  test('keys that look like code are only keys', () => {
    const hostile = { '"]);process.exit(1);//': 1, '${x}': 2, '\u2028': 3, "'": 4, '*/': 5 }
    for (let time = 0; time < often; time++) expect(canonicalize(hostile)).toBe(reference(hostile))
  })

  test('a shape that was seen often is not taken for another with keys of the same lengths', () => {
    for (let time = 0; time < often; time++) canonicalize({ ab: 1, cd: 2 })
    expect(canonicalize({ ab: 1, ce: 2 })).toBe('{"ab":1,"ce":2}')
    expect(canonicalize({ cd: 2, ab: 1 })).toBe('{"ab":1,"cd":2}')
    expect(canonicalize({ ab: 1 })).toBe('{"ab":1}')
  })

  test('an object with one more key, of whatever length, is not taken for one without it', () => {
    for (let time = 0; time < often; time++) {
      canonicalize({ more: 1, than: 2 })
      for (let length = 1; length < 600; length++) {
        const value = { more: 1, than: 2, ['x'.repeat(length)]: 3 }
        if (canonicalize(value) !== reference(value)) expect.fail(`wrong for a key of ${length} characters`)
      }
    }
  })

  test('members that are inherited or not enumerable are not written', () => {
    for (let time = 0; time < often; time++) canonicalize({ seen: 1, shown: 2 })
    const hidden = Object.defineProperty({ seen: 1, other: 2 }, 'shown', { value: 3, enumerable: false })
    expect(canonicalize(hidden)).toBe('{"other":2,"seen":1}')
  })

  test('keys without end do not disturb what is remembered', () => {
    const known = { status: 'active', id: 'run_1' }
    for (let at = 0; at < 3 * limits.canonicalShapes; at++) {
      const value = { [`key${at}`]: at, id: at }
      expect(canonicalize(value)).toBe(reference(value))
      expect(canonicalize(known)).toBe('{"id":"run_1","status":"active"}')
    }
  })

  test('wide objects and long keys are written too', () => {
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${999 - at}${'x'.repeat(at)}`, at]))
    for (let time = 0; time < often; time++) expect(canonicalize(wide)).toBe(reference(wide))
  })
})

describe('what has no canonical form is refused, and the error names the place', () => {
  class Point {
    x = 1
  }
  class Numbers extends Array {}
  const cycle: Record<string, unknown> = { name: 'a' }
  cycle.list = [1, cycle]

  test.each([
    ['NaN', { a: { b: Number.NaN } }, 'a.b'],
    ['NaN behind deeper members', { a: { b: [[1]] }, c: [[2], { d: 3 }], e: Number.NaN }, 'e'],
    ['an infinity', { a: [1, Number.NEGATIVE_INFINITY] }, 'a[1]'],
    ['an undefined member', { a: 1, b: undefined }, 'b'],
    ['an undefined element', { a: [1, undefined] }, 'a[1]'],
    ['undefined itself', undefined, 'value'],
    ['a hole in an array', { a: new Array(2) }, 'a[0]'],
    ['a function', { run: () => 1 }, 'run'],
    ['a toJSON method, which is not called', { toJSON: () => 1 }, 'toJSON'],
    ['a symbol', { a: Symbol('a') }, 'a'],
    ['a bigint', { a: 1n }, 'a'],
    ['a lone surrogate in text', { a: ['x\ud800y'] }, 'a[0]'],
    ['a lone surrogate in a key', { a: { 'x\udfff': 1 } }, 'a["x\\udfff"]'],
    ['a Map', { a: new Map() }, 'a'],
    ['a Date', { a: new Date(0) }, 'a'],
    ['a class instance', { a: new Point() }, 'a'],
    ['a class of arrays', { a: Numbers.from([1]) }, 'a'],
    ['a boxed string', { a: new String('a') }, 'a'],
    ['typed bytes', { a: new Uint8Array(2) }, 'a'],
  ])('%s', (_name, value, path) => {
    const expected = expect.objectContaining({ code: 'not_canonical', retryable: false, details: { path } })
    for (let time = 0; time < often; time++) expect(() => canonicalize(value)).toThrow(expected)
  })

  test('a member that turns bad in a shape that was seen often', () => {
    for (let time = 0; time < often; time++) canonicalize({ hot: 1, other: { deep: 'x' } })
    const expected = expect.objectContaining({ details: { path: 'other.deep' } })
    for (const bad of [undefined, Number.NaN, 1n, () => 1, '\ud800', new Date()])
      expect(() => canonicalize({ hot: 1, other: { deep: bad } })).toThrow(expected)
  })

  test('a cycle', () => {
    expect(() => canonicalize(cycle)).toThrow(expect.objectContaining({ code: 'not_canonical' }))
  })

  test('nesting beyond the limit, objects and arrays alike', () => {
    const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown =>
      levels === 0 ? 1 : wrap(nested(levels - 1, wrap))
    const refused = { code: 'not_canonical', message: expect.stringContaining('64 levels') }
    for (const wrap of [(inner: unknown) => [inner], (inner: unknown) => ({ inner })]) {
      const deepest = nested(limits.canonicalDepth, wrap)
      expect(canonicalize(deepest)).toBe(JSON.stringify(deepest))
      expect(() => canonicalize(wrap(deepest))).toThrow(expect.objectContaining(refused))
    }
  })
})

test('objects without a prototype are plain', () => {
  expect(canonicalize(Object.assign(Object.create(null), { b: 1, a: 2 }))).toBe('{"a":2,"b":1}')
})

test('minus zero is zero, everywhere', () => {
  expect(canonicalize([-0, { a: -0 }, { 0: -0 }])).toBe('[0,{"a":0},{"0":0}]')
})

test('the value itself is not changed', () => {
  const value = Object.freeze({ b: Object.freeze([{ d: 1, c: 2 }]), a: 1 })
  canonicalize(value)
  expect(Object.keys(value)).toEqual(['b', 'a'])
  expect(value).toEqual({ b: [{ d: 1, c: 2 }], a: 1 })
})

test.each([
  ['', '""'],
  ['plain', '"plain"'],
  ['"\\/\b\f\n\r\t\u0001\u007f', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0001\u007f"'],
  ['€ 😀 \u2028', '"€ 😀 \u2028"'],
  ['the escape \\ud800 in words', '"the escape \\\\ud800 in words"'],
])('canonicalString(%j)', (text, quoted) => {
  expect(canonicalString(text)).toBe(quoted)
  expect(canonicalize({ text })).toBe(`{"text":${quoted}}`)
})

describe('for every JSON value', () => {
  const key = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.nat({ max: 200 }).map(String),
    fc.constantFrom('__proto__', 'constructor', 'toJSON', 'length', 'a', 'b', 'ab'),
  )
  const { value: jsonValue } = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(fc.string({ unit: 'binary' }), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer()),
      fc.constantFrom(null, true, false),
      fc.array(tie('value'), { maxLength: 5 }),
      // Through JSON, so that `__proto__` is a key like any other.
      fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map(entries => fromEntries(entries)),
    ),
  }))

  function fromEntries(entries: readonly (readonly [string, unknown])[]): unknown {
    const unique = new Map(entries)
    return JSON.parse(
      `{${[...unique].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`,
    )
  }

  test('the text is that of the RFC, reads back as the same value, and is its own canonical form', () => {
    fc.assert(
      fc.property(jsonValue, value => {
        const text = canonicalize(value)
        expect(text).toBe(reference(value))
        expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(reference(value))))
        expect(canonicalize(JSON.parse(text))).toBe(text)
      }),
      { numRuns: 1000 },
    )
  })

  test('the order of insertion does not matter', () => {
    const members = fc.uniqueArray(fc.tuple(key, jsonValue), { selector: ([name]) => name, maxLength: 8 })
    const shuffled = members.chain(list =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
    )
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        expect(canonicalize(fromEntries(one))).toBe(canonicalize(fromEntries(other)))
      }),
    )
  })

  test('a shape is written the same before and after it was compiled, whatever its values', () => {
    const keys = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 5 }), { minLength: 1, maxLength: 8 })
    const row = fc.array(jsonValue, { minLength: 8, maxLength: 8 })
    const table = fc.tuple(keys, fc.array(row, { minLength: 20, maxLength: 20 }))
    fc.assert(
      fc.property(table, ([names, rows]) => {
        for (const row of rows) {
          const value = fromEntries(names.map((name, at) => [name, row[at]]))
          expect(canonicalize(value)).toBe(reference(value))
        }
      }),
      { numRuns: 100 },
    )
  })

  test('text is refused exactly if it is not well-formed', () => {
    const codeUnit = fc.oneof(fc.integer({ min: 0xd800, max: 0xdfff }), fc.integer({ min: 0, max: 0xffff }))
    fc.assert(
      fc.property(fc.array(codeUnit, { maxLength: 6 }), units => {
        const text = String.fromCharCode(...units)
        for (const value of [text, [text], { text }, { [text]: 1 }]) {
          if (text.isWellFormed()) expect(canonicalize(value)).toBe(reference(value))
          else expect(() => canonicalize(value)).toThrow(expect.objectContaining({ code: 'not_canonical' }))
        }
      }),
    )
  })
})

test('where making code is forbidden, canonical JSON is slower and the same', () => {
  const script = `
    import { canonicalize } from '@parley/core'
    for (let i = 0; i < 100; i++) {
      const text = canonicalize({ b: { d: i, c: [] }, a: 'x' })
      if (text !== '{"a":"x","b":{"c":[],"d":' + i + '}}') throw new Error(text)
    }`
  const flags = [...process.execArgv, '--disallow-code-generation-from-strings', '--input-type=module']
  const where = { encoding: 'utf8', cwd: import.meta.dirname } as const
  expect(spawnSync(process.execPath, [...flags, '--eval', script], where)).toMatchObject({ stderr: '', status: 0 })
})
