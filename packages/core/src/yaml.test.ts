// Values know where they stand, and a text that is too much is refused before it costs anything. What each mistake is
// called is for those who read such files, and is tested there.
import { expect, test } from 'vitest'
import { composeYaml, locate, member, plain, readYaml } from './yaml.ts'

const BOUNDS = { bytes: 1000, tokens: 200, depth: 20, aliasGrowth: 100 }

const TEXT = 'name: one\nlist:\n  - a\n  - { b: 2, c: }\nword: &w yes\nagain: *w\n'

function placeIn(path: readonly (string | number)[], of?: 'key'): string {
  const { root, place } = readYaml(TEXT, BOUNDS)
  const { line, column } = place(locate(root!, path, of))
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
