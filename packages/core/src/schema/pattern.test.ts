import { describe, expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { foreignPattern } from './pattern.ts'

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

test.each([
  ['^[^@]+@[^@]+\\.[a-z]+$', `${'a'.repeat(100)}@${'b'.repeat(100)}.org`],
  ['^-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?$', '-12.5e+10'],
  ['^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \\S+$', `GET /${'a'.repeat(500)}`],
  ['^[a-z]+(-[a-z]+)*$', 'a-b'.repeat(600)],
  ['^".*?"$', `"${'a'.repeat(5000)}"`],
  ['^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$', '2026-11-30'],
])('ordinary ones match ordinary texts: %s', (source, text) => {
  expect(foreignPattern(source, 'u').test(text)).toBe(true)
})
