// Names as bytes and as text.
import { expect, test } from 'vitest'
import { type FileName, foldersOf, joinNames, nameText, parseName, splitNames, textName } from './file-name.ts'

const latin = Buffer.from([0x61, 0x2f, 0xe9, 0x0a, 0x22, 0x5c]).toString('latin1') as FileName

test('text is text, all else is quoted, and both lead back to the same bytes', () => {
  for (const text of ['a/b', 'ü 漢字 🎉', 'line\nbreak', ' ', 'a"b"', '\uFFFD']) {
    expect(nameText(textName(text))).toBe(text)
    expect(parseName(text)).toBe(textName(text))
  }
  expect(nameText(latin)).toBe('"a/\\351\\012\\"\\\\"')
  for (const name of [latin, textName('"quoted"'), textName('"'), textName('"ü\\351"')]) {
    expect(parseName(nameText(name))).toBe(name)
  }
  expect(nameText(textName('"quoted"'))).toBe('"\\"quoted\\""')
  expect(() => parseName('a\0b')).toThrow('NUL')
})

test('lists end every name with a NUL', () => {
  expect(splitNames(joinNames([latin, textName('b')]))).toEqual([latin, 'b'])
  expect(splitNames(Buffer.alloc(0))).toEqual([])
})

test('the folders of a path, the outermost first', () => {
  expect(foldersOf('a/b/c')).toEqual(['a', 'a/b'])
  expect(foldersOf('a')).toEqual([])
})
