// Text for people: names that were probably meant, paths, lines without escapes, globs, durations and sizes, and YAML
// with places.
import { posix } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileGlobs } from './glob.ts'
import { limits } from './limits.ts'
import { nearest } from './nearest.ts'
import { pathText, shorten } from './path.ts'
import { harmless, oneLine } from './plain-text.ts'
import { parseBytes, parseDuration } from './quantities.ts'
import { unwrap } from './result.ts'
import { composeYaml, member, plain, readYaml } from './yaml.ts'

const known = ['solve', 'show', 'runs', 'approve', 'prompt', 'paths']

test.each([
  ['sovle', 'solve'],
  ['shwo', 'show'],
  ['promt', 'prompt'],
  ['Paths', 'paths'],
  ['aprove', 'approve'],
])('%s is probably %s', (given, meant) => {
  expect(nearest(given, known)).toBe(meant)
})

test.each(['banana', 'x', '', 'resolve it'])('%j is none of them', given => {
  expect(nearest(given, known)).toBeUndefined()
})

test.each([
  [[], 'value'],
  [['body', 'status'], 'body.status'],
  [['items', 3, 'name'], 'items[3].name'],
  [['a b', 'c'], '["a b"].c'],
  [['body', 'x.y', ''], 'body["x.y"][""]'],
])('the path %j reads %s', (parts, text) => {
  expect(pathText(parts)).toBe(text)
})

test('a long path is cut', () => {
  expect(pathText(Array.from({ length: 1000 }, () => 'key'))).toHaveLength(limits.messagePathLength)
})

test('cutting never leaves half a character', () => {
  expect(shorten('ab😀cd', 4)).toBe('ab\ufffd…')
  expect(shorten('abcd', 4)).toBe('abcd')
})

test.each([
  ['line\nbreak\r\nand\ttab', 'line break and tab'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u009b31mred', 'red'],
  ['\u001b]8;;https://evil.example\u0007link\u001b]8;;\u001b\\', 'link'],
  ['title\u001b]0;x', 'title'],
  ['\u001b(0\u001bc clear \u001b', 'clear'],
  ['nul\0bell\u0007', 'nul bell'],
  ['safe\u202etxt.exe\u202c', 'safe txt.exe'],
  ['\u2066iso\u2069\u200e\u061c', 'iso'],
  ['zero\u200bwidth\ufeff', 'zero width'],
  ['tag\u{e0041}ged', 'tag ged'],
  ['Zoë 漢字 👩‍👩‍👧', 'Zoë 漢字 👩‍👩‍👧'],
  ['\u2028\u2029', ''],
])('%j is %j in one line', (text, line) => {
  expect(oneLine(text)).toBe(line)
})

test('a text keeps its lines and tabs, and nothing else that a terminal obeys', () => {
  expect(harmless('a\n\tb\u001b[2J\r\u0000\u202ec')).toBe('a\n\tbc')
})

test('a million characters that could begin an escape are read once', () => {
  const began = performance.now()
  for (const piece of ['\u001b]', '\u001b[', '\u001b[1;', '\u001b'])
    expect(oneLine(piece.repeat(250_000)).length).toBeLessThan(1_000_000)
  expect(performance.now() - began).toBeLessThan(5_000)
})

const matches = (pattern: string, path: string) => unwrap(compileGlobs([pattern]))(path)

/**
 * How paths were matched before. matchesGlob passes over names that begin with a dot, so every name got a character in
 * front, which was wrong where a choice in braces begins with `**`. It also takes `$` before a brace and a star that
 * stands beside one for something else.
 */
function matchedBefore(pattern: string, path: string): boolean {
  const relative = pattern.replace(/^(?:\.\/+)+/, '')
  const whole = relative === '' || relative === '.' ? '**' : relative
  const dotted = (text: string) => text.replace(/(^|\/)(?!\*\*(?:$|[/,}]))/g, '$1_')
  return posix.matchesGlob(dotted(path), dotted(whole.endsWith('/') ? `${whole}**` : whole))
}

const letter = fc.constantFrom('a', 'b', 'c', '.', '-', 'é', '(', ')', '+', '^')
const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '.', '-'), minLength: 1, maxLength: 4 })
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map(names => names.join('/'))
const classes = fc.constantFrom('[ab]', '[!ab]', '[^.]', '[a-c]', '[b-]', '[]a]', '[!]]', '[c-a]', '[', ']')
const wild = fc.oneof(
  { weight: 4, arbitrary: letter },
  { weight: 3, arbitrary: fc.constantFrom('*', '?') },
  { weight: 1, arbitrary: classes },
)
const some = fc
  .array(wild, { maxLength: 4 })
  .map(units => units.join(''))
  .filter(text => !/\*\*|[?*+@!]\(/.test(text))
const filled = some.filter(text => text !== '')
const choice = fc.array(filled, { minLength: 2, maxLength: 3 }).map(texts => `{${texts.join(',')}}`)
/** Not `a*{*,b}`, whose stars become neighbours. */
const withChoice = fc
  .tuple(some, choice, some)
  .map(parts => parts.join(''))
  .filter(text => !/\*[{,}]|[{,}]\*|[?*+@!][{,}]\(|[{,}]\(/.test(text))
const braces = fc.constantFrom('{a/b,c}', '{a,{b,c}}', '{a/**,b}', '{a}', '{a', 'a,b', 'b}', '{}', '{{a,b}}')
const part = fc.oneof(
  { weight: 3, arbitrary: filled },
  { weight: 2, arbitrary: fc.constant('**') },
  { weight: 1, arbitrary: withChoice },
  { weight: 1, arbitrary: braces },
)
const pattern = fc
  .tuple(fc.constantFrom('', '', './'), fc.array(part, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '', '/'))
  .map(([start, parts, end]) => `${start}${parts.join('/')}${end}`)

test('a pattern matches what it matched before', () => {
  let matched = 0
  fc.assert(
    fc.property(pattern, path, (glob, file) => {
      const before = matchedBefore(glob, file)
      if (before) matched++
      expect(matches(glob, file)).toBe(before)
    }),
    { numRuns: process.env.PARLEY_SOAK ? 200_000 : 5_000 },
  )
  expect(matched).toBeGreaterThan(100)
})

test.each([
  ['{**/a,b}', 'x/y/a', true],
  ['{**,a}', 'x/y', true],
  ['a{b,/**}', 'a/x/y', true],
  ['?', '😀', true],
  ['[😀-😂]x', '😁x', true],
  ['[!😀]', '😀', false],
  ['a*', 'A', false],
  ['line*', 'line\nbreak', true],
] as const)('what was taken for something else before: %j on %j: %j', (glob, file, expected) => {
  expect(matches(glob, file)).toBe(expected)
})

/** What took a second and more for each name before. */
test.each([
  ['stars', '*-*-*-*.md', '-'.repeat(240)],
  ['stars in a name that is longer than any system allows', '*-*-*-*.md', '-'.repeat(4096)],
  ['as many stars as there may be', '*a'.repeat(limits.globStars), `${'a'.repeat(4096)}b`],
  ['stars and classes', '*[!b]*[a-c]*?*[a]*[!x]b', 'a'.repeat(240)],
  ['a long text behind a star', `*${'a'.repeat(120)}b`, 'a'.repeat(240)],
  ['folders', `${'**/'.repeat(16)}b`, 'a/'.repeat(2000)],
  ['folders and stars', `${'**/*a*/'.repeat(8)}b`, `${'a'.repeat(200)}/`.repeat(20)],
  ['braces', '{a,b}'.repeat(8), 'a'.repeat(9)],
  ['choices inside each other', `${'{a,'.repeat(250)}b${'}'.repeat(250)}*c`, 'a'.repeat(240)],
  ['braces that are not closed', '{'.repeat(limits.globLength), 'a'],
  ['brackets that are not closed', '['.repeat(limits.globLength), 'a'],
])('a thousand names are matched in a moment: %s', (_, glob, file) => {
  const isMatch = unwrap(compileGlobs([glob]))
  const started = performance.now()
  for (let count = 0; count < 1000; count++) expect(isMatch(file)).toBe(false)
  // About a second for the slowest on an old machine, where a thousand seconds were not enough.
  expect(performance.now() - started).toBeLessThan(20_000)
})

test('the time grows with the length of a name, not with its power', () => {
  const isMatch = unwrap(compileGlobs(['*-*-*-*-*-*-*-*.md']))
  const fastest = (length: number) => {
    const times = Array.from({ length: 9 }, () => {
      const started = performance.now()
      for (let count = 0; count < 20; count++) isMatch('-'.repeat(length))
      return performance.now() - started
    })
    return Math.min(...times)
  }
  fastest(1_000)
  expect(fastest(32_000) / fastest(1_000)).toBeLessThan(32 * 8)
})

const full = `${'{a,b}'.repeat(8)}*`

test.each([
  ['longer than any may be', ['a'.repeat(limits.globLength + 1)], 'glob_too_large', 'longer than'],
  ['too many stars', ['*a'.repeat(limits.globStars + 1)], 'glob_too_large', 'more than 32 stars'],
  ['braces that double', ['{a,b}'.repeat(200)], 'glob_too_large', 'more than 256 patterns'],
  ['one choice too many', [`{${'a,'.repeat(limits.globAlternatives)}a}`], 'glob_too_large', 'more than 256'],
  ['too much in all', Array.from({ length: 8 }, () => full), 'glob_too_large', 'more than 16384 characters'],
  ['plain names from braces', Array.from({ length: 9 }, () => full.slice(0, -1)), 'glob_too_large', '16384'],
  ['a range of numbers', ['a{1..300000}'], 'glob_unsupported', 'a range in braces'],
  ['a range with a step', ['{01..9..2}/b'], 'glob_unsupported', 'a range in braces'],
  ['a range of letters', ['{a..z}'], 'glob_unsupported', 'a range in braces'],
  ['a group', ['src/+(a|aa)'], 'glob_unsupported', 'a group'],
  ['a group that says what not', ['src/!(a)/b'], 'glob_unsupported', 'a group'],
  ['a named class', ['[[:alpha:]]*'], 'glob_unsupported', 'a named class'],
])('refused: %s', (_, globs, code, says) => {
  const compiled = compileGlobs(globs)
  expect(compiled).toMatchObject({ ok: false, error: { code, message: expect.stringContaining(says) } })
  if (!compiled.ok) expect(compiled.error.message.length).toBeLessThan(300)
})

test('at every bound there is still a matcher', () => {
  expect(matches('a'.repeat(limits.globLength), 'a')).toBe(false)
  expect(matches('*a'.repeat(limits.globStars), 'a'.repeat(limits.globStars))).toBe(true)
  expect(matches('{a,b}'.repeat(8), 'abababab')).toBe(true)
  expect(unwrap(compileGlobs(Array.from({ length: 7 }, () => full)))('aaaaaaaab')).toBe(true)
})

const BOUNDS = { bytes: 1000, tokens: 200, depth: 20, aliasGrowth: 100 }

const TEXT = 'name: one\nlist:\n  - a\n  - { b: 2, c: }\nword: &w yes\nagain: *w\n'

function placeIn(path: readonly (string | number)[], of?: 'key'): string {
  const { line, column } = readYaml(TEXT, BOUNDS).placeOf(path, of)
  return `${line}:${column}`
}

test('a text becomes plain values', () => {
  const { root, faults } = readYaml(`\ufeff${TEXT}`, BOUNDS)
  expect(faults).toEqual([])
  expect(plain(root!)).toEqual({ name: 'one', list: ['a', { b: 2, c: null }], word: 'yes', again: 'yes' })
  expect(member(root, 'name')?.value).toEqual({ kind: 'scalar', at: 6, value: 'one' })
  expect(member(root, 'nobody')).toBeUndefined()
})

test('every value and every key has its place', () => {
  expect(placeIn(['name'])).toBe('1:7')
  expect(placeIn(['name'], 'key')).toBe('1:1')
  expect(placeIn(['list', 1, 'b'])).toBe('4:10')
  // One that is left out is at its key, one that an alias repeats where it is used.
  expect(placeIn(['list', 1, 'c'])).toBe('4:13')
  expect(placeIn(['again'])).toBe('6:8')
  // Where there is nothing, what is around it.
  expect(placeIn(['list', 7, 'x'])).toBe('3:3')
  expect(placeIn(['list', 1, 'x'], 'key')).toBe('4:5')
})

test.each([
  ['too_many_bytes', `a: ${'x'.repeat(1000)}`, 0],
  ['too_many_tokens', `[${'a,'.repeat(200)}]`, 0],
  ['too_deep', '['.repeat(30), 20],
  ['syntax', 'a: [1\n', 6],
  ['syntax', 'a: !unknown 1\n', 3],
  ['second_document', 'a: 1\n---\nb: 2\n', 5],
  ['duplicate_key', 'a: 1\na: 2\n', 5],
  ['alias_unknown', 'a: *b\n', 3],
  ['alias_limit', `a: &a ${'x'.repeat(60)}\nb: [*a, *a]\n`, 75],
  ['half_character', 'a: "\\ud800"\n', 3],
] as const)('%s is told with its place', (kind, text, at) => {
  expect(readYaml(text, BOUNDS).faults).toMatchObject([{ kind, at }])
})

test('what the parser only warns of leaves the values', () => {
  const { root, faults } = readYaml('a: !unknown 1\n', BOUNDS)
  expect(faults).toMatchObject([{ kind: 'syntax', warning: true }])
  expect(plain(root!)).toEqual({ a: '1' })
})

test('another dialect has the same bounds, and keeps the document for whoever changes it', () => {
  const composed = composeYaml('a: yes # kept\n', BOUNDS, { version: '1.1' })
  if ('fault' in composed) throw new Error(composed.fault.kind)
  expect(composed.document.toJS()).toEqual({ a: true })
  expect(composed.document.toString()).toBe('a: yes # kept\n')
  expect(composeYaml('- '.repeat(40), BOUNDS, { version: '1.1' })).toMatchObject({ fault: { kind: 'too_deep' } })
})

test.each([
  ['250ms', 250],
  ['90s', 90_000],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  ['1m500ms', 60_500],
  ['', undefined],
  ['10', undefined],
  ['m', undefined],
  ['1.5h', undefined],
  ['30m1h', undefined],
  ['99999999999999999999d', undefined],
])('the duration %j is %s ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds)
})

test.each([
  ['1000', 1000],
  ['1B', 1],
  ['64KiB', 65_536],
  ['8 MiB', 8_388_608],
  ['1GB', 1e9],
  ['', undefined],
  ['8M', undefined],
  ['-1', undefined],
  ['99999999999999999999', undefined],
])('the size %j is %s bytes', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes)
})
