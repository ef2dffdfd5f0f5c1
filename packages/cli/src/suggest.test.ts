import { expect, test } from 'vitest'
import { editDistance, suggest } from './suggest.ts'

test('a slip of the fingers is recognised, another word is not', () => {
  const known = ['solve', 'show', 'runs', 'run', 'approve']
  expect(suggest('sovle', known)).toBe('solve')
  expect(suggest('appr', known)).toBe('approve')
  expect(suggest('shwo', known)).toBe('show')
  expect(suggest('banana', known)).toBeUndefined()
  expect(suggest('x', known)).toBeUndefined()
})

test('swapped neighbours are one step', () => {
  expect(editDistance('ab', 'ba')).toBe(1)
  expect(editDistance('kitten', 'sitting')).toBe(3)
})
