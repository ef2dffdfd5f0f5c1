import { describe, expect, test } from 'vitest'
import { limits } from './limits.ts'
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
