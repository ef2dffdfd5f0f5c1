import { expect, test } from 'vitest'
import { errorIn } from './failed-turn.ts'

test.each([
  ['[error] it broke', 'it broke'],
  ['Half of it.\n\n[error] it broke', 'it broke'],
  ['Half of it.\n\n\n[error] ', ''],
  ['[error] it broke\n\nand went on', undefined],
  ['one line\n[error] of a log', undefined],
  ['[errors] none', undefined],
  ['', undefined],
])('ALP-ASK-04 %j ends with the error %j', (text, error) => {
  expect(errorIn(text)).toBe(error)
})
