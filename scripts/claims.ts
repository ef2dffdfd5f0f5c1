// Reads the table in docs/guide/threat-model.md that leads from each claim about safety to the tests that would fail if
// it were false.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { titlesOf } from './test-titles.ts'

export const TABLE_FILE = 'docs/guide/threat-model.md'
export const TABLE_HEADING = '## Claims and their tests'

/** Where claims stand, by the heading of their part of the table. Doctor's are the texts in its sources. */
export const DOCUMENTS: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['README.md'],
  'docs/reliability.md': ['docs/reliability.md'],
  'docs/guide/threat-model.md': [TABLE_FILE],
  'docs/guide/security.md': ['docs/guide/security.md'],
  'docs/guide/http.md': ['docs/guide/http.md'],
  'docs/guide/alx.md': ['docs/guide/alx.md'],
  'docs/guide/gates.md': ['docs/guide/gates.md'],
  'docs/guide/verbs.md': ['docs/guide/verbs.md'],
  'parley doctor': ['packages/cli/src/doctor/*.ts'],
}

export interface Claim {
  readonly document: string
  /** Words of the document, with ` … ` where some are left out. */
  readonly words: string
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

/** The rows of the table; throws for a line in it that is none. */
export function claimsOf(page: string): Claim[] {
  const claims: Claim[] = []
  let document = ''
  for (const line of page.slice(page.indexOf(TABLE_HEADING)).split('\n')) {
    if (line.startsWith('### ')) document = line.slice(4).replaceAll('`', '')
    if (!line.startsWith('| ') || /^\| *(?:claim *\||-)/.test(line)) continue
    const [words, tests, ...more] = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('\\|', '|'))
    if (!words || !tests || more.length > 0) throw new Error(`This row has not just a claim and its tests: ${line}`)
    claims.push({ document, words, tests: tests.split('<br>').map(test => namedTest(test, line)) })
  }
  return claims
}

function namedTest(text: string, line: string): Claim['tests'][number] {
  const [, file, title] = /^`([^`]+\.(?:test|spec)\.ts)`: (.+)$/.exec(text.trim()) ?? []
  if (!file || !title) throw new Error(`“${text}” is not \`file.test.ts\` or \`file.spec.ts\`: title, in: ${line}`)
  return { file, title }
}

/** What is wrong with the table, one line for each; `root` is the folder of the repository. */
export function claimProblems(claims: readonly Claim[], root: string): string[] {
  const titles = new Map<string, readonly string[] | undefined>()
  const titlesIn = (file: string) => {
    if (!titles.has(file)) {
      const path = join(root, file)
      titles.set(file, existsSync(path) ? titlesOf(readFileSync(path, 'utf8'), file) : undefined)
    }
    return titles.get(file)
  }
  const texts = new Map(
    Object.entries(DOCUMENTS).map(([name, patterns]) => [name, documentText(patterns, root)] as const),
  )
  return claims.flatMap(({ document, words, tests }) => {
    const text = texts.get(document)
    if (text === undefined) return [`There is no document “${document}” for the claim “${words}”.`]
    const missing = plain(words)
      .split(' … ')
      .filter(part => !text.includes(part))
      .map(part => `${document} does not say “${part}”: the claim was changed or taken back.`)
    const untested = tests.flatMap(({ file, title }) => {
      const found = titlesIn(file)
      if (!found) return [`There is no ${file}, which the claim “${words}” names.`]
      const isThere = found.some(each => each === title || each.endsWith(` › ${title}`))
      return isThere ? [] : [`${file} has no test “${title}”, which the claim “${words}” names.`]
    })
    return [...missing, ...untested]
  })
}

/** The table itself is no place where a claim stands. */
function documentText(patterns: readonly string[], root: string): string {
  const files = patterns.flatMap(pattern => globSync(pattern, { cwd: root }).sort())
  const parts = files
    .filter(file => !file.endsWith('.test.ts'))
    .map(file => readFileSync(join(root, file), 'utf8').split(TABLE_HEADING)[0]!)
  return plain(parts.join('\n'))
}

/** Without emphasis, links and line breaks, which mean nothing for what is claimed. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
