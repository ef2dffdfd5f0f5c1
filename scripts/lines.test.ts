import { expect, test } from 'vitest'
import { longLines } from './lines.ts'

const LONG = 'word '.repeat(30).trim()

test('a comment over 120 columns is named, code and texts in quotes are not', () => {
  const source = ['// short', `  // ${LONG}`, `const text = '${LONG}'`, `  /** ${LONG} */`, `   * ${LONG}`]
  expect(longLines('a.ts', source.join('\n'))).toEqual([
    'a.ts:2: 154 columns',
    'a.ts:4: 158 columns',
    'a.ts:5: 154 columns',
  ])
})

test('columns are characters, not bytes', () => {
  expect(longLines('a.ts', `// ${'ä '.repeat(58)}`)).toEqual([])
})

test('prose of Markdown is looked at; tables, code, headings, pictures and what cannot be broken are not', () => {
  const page = [`# ${LONG}`, LONG, `- ${LONG}`, `| ${LONG} |`, '```', LONG, '```', `![${LONG}](a.png)`, 'x'.repeat(200)]
  expect(longLines('a.md', page.join('\n'))).toEqual(['a.md:2: 149 columns', 'a.md:3: 151 columns'])
})
