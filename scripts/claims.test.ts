// Every claim about safety leads to tests that are there, and stands where the table says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { claimProblems, claimsOf, DOCUMENTS, TABLE_FILE, TABLE_HEADING } from './claims.ts'
import { titlesOf } from './test-titles.ts'

const ROOT = join(import.meta.dirname, '..')

describe('the table of claims', () => {
  const claims = claimsOf(readFileSync(join(ROOT, TABLE_FILE), 'utf8'))

  test('has claims of every document, each in its own words, with tests that exist', () => {
    expect(claimProblems(claims, ROOT)).toEqual([])
    expect([...new Set(claims.map(({ document }) => document))]).toEqual(Object.keys(DOCUMENTS))
  })

  test('has each claim once', () => {
    const words = claims.map(claim => `${claim.document}: ${claim.words}`)
    expect(words.filter((each, at) => words.indexOf(each) !== at)).toEqual([])
  })
})

describe('what is wrong with a table is told', () => {
  const OWN = 'scripts/claims.test.ts'
  const problems = (words: string, test: string, document = 'README.md') =>
    claimProblems(claimsOf(`${TABLE_HEADING}\n\n### ${document}\n\n| ${words} | \`${OWN}\`: ${test} |\n`), ROOT)

  test('nothing where both are there, whatever is emphasised, linked or left out', () => {
    expect(problems('# Parley … verified identity', 'has each claim once')).toEqual([])
    expect(problems('Parley', 'the table of claims › has each claim once')).toEqual([])
  })

  test('a test that is not there, or only begins like that', () => {
    expect(problems('Parley', 'has each claim')).toEqual([expect.stringContaining('has no test')])
    expect(problems('Parley', 'another group › has each claim once')).toHaveLength(1)
  })

  test('words that the document does not have, and a document that is none', () => {
    expect(problems('Parley … mends everything', 'has each claim once')).toEqual([
      expect.stringContaining('“mends everything”'),
    ])
    expect(problems('Parley', 'has each claim once', 'NOWHERE.md')).toHaveLength(1)
  })

  test('words that stand only in the table itself', () => {
    expect(problems('it needs root on Linux', 'has each claim once', TABLE_FILE)).toHaveLength(1)
  })

  test.each(['| a claim | |', '| a claim | `x.test.ts` without a title |', '| a | `x.test.ts`: b | c |'])(
    'a row that is none: %s',
    row => {
      expect(() => claimsOf(`${TABLE_HEADING}\n${row}\n`)).toThrow(row)
    },
  )

  test('a file that is not there', () => {
    const claims = claimsOf(`${TABLE_HEADING}\n### README.md\n| Parley | \`no.test.ts\`: x |\n`)
    expect(claimProblems(claims, ROOT)).toEqual([expect.stringContaining('There is no no.test.ts')])
  })
})

test('titles stand behind those of their groups, and what never runs has none', () => {
  const source = `
    describe('a', () => { test('b', () => {}); describe.each([1])('c %s', () => { it('d', () => {}) }) })
    test.skipIf(true)(\`e \${n} f\`, () => {})
    test.skip('g', () => {}); describe.skip('h', () => { test('i', () => {}) }); test.fails('j', () => {})`
  expect(titlesOf(source, 'a.test.ts')).toEqual(['a', 'a › b', 'a › c %s', 'a › c %s › d', 'e … f'])
})
