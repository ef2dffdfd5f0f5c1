import { expect, test } from 'vitest'
import { grid } from './grid.ts'
import { widthOf } from './text.ts'

const columns = [
  { header: 'NAME' },
  { header: 'TITLE', flexible: true },
  { header: 'TOOK', align: 'right', optional: 1 },
  { header: 'SPENT', align: 'right', optional: 2 },
] as const
const rows = [
  ['one', 'A rather long title for a task', '12s', '$0.02'],
  ['second', '台所の掃除をする', '1m05s', ''],
]

test('columns are as wide as their content', () => {
  expect(grid(columns, rows, 80)).toEqual([
    'NAME    TITLE                            TOOK  SPENT',
    'one     A rather long title for a task    12s  $0.02',
    'second  台所の掃除をする                1m05s',
  ])
})

test('where there is no room the flexible column is cut, then the least important goes', () => {
  expect(grid(columns, rows, 40)).toEqual([
    'NAME    TITLE                TOOK  SPENT',
    'one     A rather long tit…    12s  $0.02',
    'second  台所の掃除をする    1m05s',
  ])
  expect(grid(columns, rows, 24)).toEqual([
    'NAME    TITLE       TOOK',
    'one     A rather…    12s',
    'second  台所の掃…  1m05s',
  ])
})

test('no line is ever wider than the terminal, or ends in spaces', () => {
  for (let width = 20; width < 90; width++) {
    for (const line of grid(columns, rows, width)) {
      expect(widthOf(line)).toBeLessThanOrEqual(width)
      expect(line).toBe(line.trimEnd())
    }
  }
})

test('a column that is empty in every row is not shown', () => {
  expect(grid([{ header: 'A' }, { header: 'B' }], [['x', '']], 80)).toEqual(['A', 'x'])
})
