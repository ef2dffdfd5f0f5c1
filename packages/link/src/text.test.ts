import { expect, test } from 'vitest'
import { vectors } from './testing/vectors.ts'
import { isSpace, trim, trimLeft, trimRight } from './text.ts'

test('whitespace is the 29 code points of the sheet and no other', () => {
  const listed = new Set(vectors.whitespace_set.map(name => Number.parseInt(name.slice(2), 16)))
  expect(listed.size).toBe(29)
  for (let code = 0; code <= 0xffff; code++)
    expect(isSpace(String.fromCharCode(code)), code.toString(16)).toBe(listed.has(code))
})

test('trimming takes whitespace from the ends alone, and leaves a byte order mark', () => {
  expect(trim('\u0085 \u001c a b\u3000\n')).toBe('a b')
  expect(trimLeft(' a ')).toBe('a ')
  expect(trimRight(' a ')).toBe(' a')
  expect(trim('\ufeffa\ufeff')).toBe('\ufeffa\ufeff')
  expect(trim(' '.repeat(100_000))).toBe('')
})
