// Canonical form (ALP-ENV-04): the worked vectors, and whatever Python's own json module says.
import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { vectors } from '../testing/vectors.ts'
import { parseText, parseWire } from './parse.ts'
import { Float, float, integerOf, isWireObject, numberOf, type WireValue } from './value.ts'
import { asciiText, canonicalText, pythonFloat, wireText } from './write.ts'

function canonical(text: string): string {
  const value = parseText(text)
  if (value === undefined) throw new Error(`not JSON: ${text}`)
  return canonicalText(value)
}

describe('vectors', () => {
  test.each(vectors.canonical_numbers)('ALP-ENV-04 the number $lexeme is written $canonical', vector => {
    const value = parseText(vector.lexeme)!
    expect(canonicalText(value)).toBe(vector.canonical)
    expect(integerOf(value) !== undefined).toBe(vector.kind === 'int')
  })

  test.each(vectors.canonical_json)('ALP-ENV-04 the document $input has the canonical bytes', vector => {
    expect(canonical(vector.input)).toBe(vector.canonical)
    expect(Buffer.from(canonical(vector.input)).toString('hex')).toBe(vector.canonical_hex)
  })
})

test('ALP-ENV-04 integers have any size up to 4300 digits, beyond which the text is no message', () => {
  const largest = `-${'9'.repeat(linkLimits.integerDigits)}`
  expect(canonical(`[${largest}]`)).toBe(`[${largest}]`)
  expect(parseText(`[${largest}9]`)).toBeUndefined()
  expect(parseText('9007199254740991')).toBe(9007199254740991)
  expect(parseText('9007199254740993')).toBe(9007199254740993n)
})

test('ALP-ENV-04 NaN and the infinities are no JSON, neither read nor sent', () => {
  for (const token of ['NaN', 'Infinity', '-Infinity', '[NaN]']) expect(parseText(token)).toBeUndefined()
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    for (const sent of [value, float(value)]) expect(() => wireText([sent])).toThrow('no form')
  // What became infinite by reading it is checked against the signature that Python would make.
  expect(canonical('[1e400,-1e400]')).toBe('[Infinity,-Infinity]')
  expect(() => wireText(parseText('1e400')!)).toThrow('no form')
})

test('ALP-ENV-04 a lone surrogate has no canonical form, as key or as value', () => {
  for (const text of ['"\\ud800"', '{"\\udc00":1}', '["a\\ud83d"]', '"\\ude00\\ud83d"'])
    expect(() => canonical(text)).toThrow('lone surrogate')
  expect(canonical('"\\ud83d\\ude00"')).toBe('"😀"')
})

test('ALP-ENV-04 keys are sorted by code point, not by code unit, and prototypes play no part', () => {
  const text =
    '{"\\ud83d\\ude00":1,"\\uffff":2,"\\ud83d\\ude00a":3,"\\ue000":4,"__proto__":5,"constructor":{"__proto__":6},"a":7,"":8}'
  expect(canonical(text)).toBe(
    '{"":8,"__proto__":5,"a":7,"constructor":{"__proto__":6},"\ue000":4,"\uffff":2,"😀":1,"😀a":3}',
  )
})

test.each([
  ...String.raw`{ } [1,] {"a":1,} {"a"} {a:1} 'a' 01 1. .5 - +1 1e 0x10 tru nulll "\x" "\u12" "\u12g4" "a`.split(' '),
  ...['', ' ', '1 2', '"\n"', '"\u0000"', '\ufeff{}', '[1\u00a0]', '// a\n1'],
])('%j is no JSON', text => {
  expect(parseText(text)).toBeUndefined()
})

test('bytes that are not UTF-8 are no JSON', () => {
  expect(parseWire(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined()
  expect(parseWire(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toBeUndefined()
  expect(parseWire(Buffer.from('"ä"'))).toBe('ä')
})

test('nesting is bounded, both ways, without harm to the stack', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const deepest = parseText(nested(linkLimits.nesting))!
  expect(canonicalText(deepest)).toBe(nested(linkLimits.nesting))
  expect(parseText(nested(linkLimits.nesting + 1))).toBeUndefined()
  expect(parseText('['.repeat(500_000))).toBeUndefined()
  expect(() => wireText([deepest])).toThrow('nesting')
  expect(parseText(`[${'[],'.repeat(1000)}[]]`)).toHaveLength(1001)
})

test('ALP-ENV-05 what is sent keeps its order and the kinds of its numbers', () => {
  const value = { b: float(1), a: 1, c: [0.5, 2n ** 70n, float(0), float(-0), 1e-7], d: null }
  const text = wireText(value)
  expect(text).toBe('{"b":1.0,"a":1,"c":[0.5,1180591620717411303424,0.0,-0.0,1e-07],"d":null}')
  expect(wireText(parseText(text)!)).toBe(text)
  expect(() => wireText(1e21)).toThrow('integer or a float')
  expect(() => wireText({ a: undefined } as unknown as WireValue)).toThrow('undefined')
  expect(asciiText({ a: 'é😀\u007f' })).toBe('{"a":"\\u00e9\\ud83d\\ude00\u007f"}')
})

test('numbers are told apart as Python does', () => {
  expect(integerOf(parseText('1')!)).toBe(1)
  expect(integerOf(parseText('1.0')!)).toBeUndefined()
  expect(integerOf(parseText('1.5')!)).toBeUndefined()
  expect(integerOf(true)).toBeUndefined()
  expect(numberOf(parseText('1.0')!)).toBe(1)
  expect(numberOf(2n ** 60n)).toBe(2 ** 60)
  expect(numberOf('1')).toBeUndefined()
  expect(isWireObject(new Float(1))).toBe(false)
  expect(isWireObject([])).toBe(false)
  expect(isWireObject({})).toBe(true)
})

const RUNS = process.env.PARLEY_SOAK ? 20_000 : 400

/** JSON texts with everything that is written in more than one way. */
const lexemes = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => pythonFloat(value)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value.toExponential()),
  fc.bigInt().map(String),
  fc.tuple(fc.integer(), fc.integer({ min: -330, max: 330 })).map(([digits, power]) => `${digits}E${power}`),
  fc.tuple(fc.integer(), fc.nat(), fc.integer({ min: -20, max: 20 })).map(([a, b, c]) => `${a}.${b}e${c}`),
)
const strings = fc.string({ unit: 'binary' }).map(text => JSON.stringify(text))
const escaped = fc
  .string({ unit: 'grapheme' })
  .map(
    text =>
      `"${[...text.matchAll(/[\s\S]/g)].map(([unit]) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`).join('')}"`,
  )
const { json } = fc.letrec<{ json: string; list: string; object: string }>(tie => ({
  json: fc.oneof(
    { depthSize: 'small' },
    lexemes,
    strings,
    escaped,
    fc.constantFrom('true', 'false', 'null'),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('json')).map(items => `[${items.join(' ,')}]`),
  object: fc
    .array(fc.tuple(fc.oneof(strings, escaped), tie('json')))
    .map(members => `{ ${members.map(([key, value]) => `${key}:\t${value}`).join(',')}}`),
}))

const PYTHON = `
import json, sys
for line in sys.stdin:
    text = json.loads(line)
    try:
        out = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        out.encode("utf-8")
    except Exception:
        out = None
    print(json.dumps(out))
`

function python(texts: readonly string[]): (string | null)[] {
  const input = texts.map(text => `${JSON.stringify(text)}\n`).join('')
  const { stdout, status, stderr } = spawnSync('python3', ['-c', PYTHON], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
}

test(`ALP-ENV-04 ${RUNS} documents have the canonical form that Python gives them`, ({ skip }) => {
  // Where there is no Python, the vectors above are what Python said.
  skip(spawnSync('python3', ['--version']).status !== 0, 'python3 is not installed')
  const texts = fc.sample(json, RUNS)
  const expected = python(texts)
  for (const [index, text] of texts.entries()) expect(canonical(text), text).toBe(expected[index])
})

test(`ALP-ENV-04 what is canonical stays as it is, and ${RUNS} documents are read back from it`, () => {
  fc.assert(
    fc.property(json, text => {
      const once = canonical(text)
      fc.pre(!once.includes('Infinity'))
      expect(canonical(once)).toBe(once)
    }),
    { numRuns: RUNS },
  )
})
