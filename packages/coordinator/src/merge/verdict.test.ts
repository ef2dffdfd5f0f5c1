import { expect, test } from 'vitest'
import { readConflicts, readUnusable, readVerdict } from './verdict.ts'

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

test.each(['', 'Looks fine to me.', 'This is acceptable.', 'The revision is good'])('%j is no verdict', text => {
  expect(readVerdict(text)).toBeUndefined()
})

// A hundred thousand of them took half a minute and more for one text.
test.each([
  ['marks', `REVISE: a${'*'.repeat(100_000)}b`],
  ['empty lines', '\n'.repeat(100_000)],
  ['lines of spaces', ' \n'.repeat(50_000)],
  ['spaces behind a type', `CONFLICT a${' '.repeat(100_000)}`],
  ['spaces behind a verdict', `ACCEPT${' '.repeat(100_000)}\u2028x`],
  ['beginnings of a conflict', 'CONFLICT a:\n'.repeat(8_000)],
])('a text that is made of %s is read in a moment', (_, text) => {
  const started = performance.now()
  readVerdict(text)
  expect(readConflicts(text)).toEqual([])
  expect(readUnusable(text)).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(5_000)
})

test('conflicts and what makes work unusable are read line by line', () => {
  const text =
    'I looked.\r\n**CONFLICT content_overlap: both changed a**\r\n> conflict odd : second\nCONFLICT none:\n- UNUSABLE: it is empty\r\n'
  expect(readConflicts(text)).toMatchObject([
    { type: 'content_overlap', description: 'both changed a**' },
    { type: 'semantic_contradiction', description: 'second' },
  ])
  expect(readUnusable(text)).toBe('it is empty')
  expect(readUnusable('All of it can be used.')).toBeUndefined()
})
