import { expect, test } from 'vitest'
import { readVerdict } from './verdict.ts'

test.each([
  ['ACCEPT', 'accept', ''],
  ['All is well.\n\nACCEPT\n', 'accept', 'All is well.'],
  ['REVISE: the test is missing', 'revise', 'the test is missing'],
  ['Two things.\nREVISE: first\nand second', 'revise', 'Two things.\n\nfirst\nand second'],
  ['**REJECT: it deletes data**', 'reject', 'it deletes data'],
  ['> Accepted.', 'accept', ''],
  ['REVISE: a\nthen I looked again\nACCEPT', 'accept', 'REVISE: a\nthen I looked again'],
  ['I would not accept this.\nREJECT - unsafe', 'reject', 'I would not accept this.\n\nunsafe'],
] as const)('%j is %s', (text, verdict, feedback) => {
  expect(readVerdict(text)).toEqual({ verdict, feedback })
})

test.each(['', 'Looks fine to me.', 'This is acceptable.', 'The revision is good'])(
  '%j is no verdict',
  text => {
    expect(readVerdict(text)).toBeUndefined()
  },
)
