import { expect, test } from 'vitest'
import { limits } from './limits.ts'
import { pathText, shorten } from './path.ts'

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
