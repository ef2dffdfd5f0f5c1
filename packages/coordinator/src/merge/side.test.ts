import { expect, test } from 'vitest'
import { SIDES, sideOf, sideText } from './side.ts'

test('a side is the whole first line of a resolution, and no word of a sentence', () => {
  for (const side of SIDES) {
    expect(sideOf(side)).toBe(side)
    expect(sideOf(sideText(side, 'a:\n<<<<<<< x'))).toBe(side)
  }
  for (const text of [
    '',
    'existing tests are kept',
    'Existing',
    ' existing',
    'both',
    'clean three-way merge of existing',
  ])
    expect(sideOf(text), text).toBeUndefined()
})
