import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

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
