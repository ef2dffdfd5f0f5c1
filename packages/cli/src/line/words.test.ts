import { expect, test } from 'vitest'
import { suggest } from './words.ts'

test('a slip of the fingers is recognised, another word is not', () => {
  const known = ['solve', 'show', 'runs', 'run', 'approve']
  expect(suggest('sovle', known)).toBe('solve')
  expect(suggest('appr', known)).toBe('approve')
  expect(suggest('shwo', known)).toBe('show')
  expect(suggest('banana', known)).toBeUndefined()
  expect(suggest('x', known)).toBeUndefined()
})
