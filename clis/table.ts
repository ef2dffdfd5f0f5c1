// The table "tested with" of the guide, between its markers: a row for each check, a column for each program. A run of
// a part replaces only its own cells.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Check } from './checks/check.ts'
import { checks } from './checks/index.ts'
import { clisLimits } from './limits.ts'
import { type Program, programs } from './programs.ts'
import type { Outcome } from './run.ts'

const GUIDE = join(import.meta.dirname, '..', 'docs', 'guide', 'agents.md')
const BEGIN = '<!-- npm run clis -- --write -->'
const END = '<!-- end of what npm run clis wrote -->'

export function writeTable(outcomes: readonly Outcome[], date: Date): void {
  const text = readFileSync(GUIDE, 'utf8')
  writeFileSync(GUIDE, withTable(text, outcomes, date.toISOString().slice(0, 10)))
}

export function withTable(guide: string, outcomes: readonly Outcome[], day: string): string {
  const [before, old, after] = parts(guide)
  const cells = cellsOf(old)
  // What an older version could do says nothing of this one.
  for (const { program, version } of outcomes) {
    if (cells.get(`tested|${program}`)?.startsWith(`${version},`)) continue
    for (const key of cells.keys()) if (key.endsWith(`|${program}`)) cells.delete(key)
    cells.set(`tested|${program}`, `${version}, ${day}`)
  }
  for (const { program, version, check, failure, measured } of outcomes) {
    cells.set(`tested|${program}`, `${version}, ${day}`)
    cells.set(`${titleOf(check)}|${program}`, shown(failure, measured))
  }
  const row = (name: string, of: (program: Program) => string) => `| ${[name, ...programs.map(of)].join(' | ')} |`
  const table = [
    row('', ({ name }) => `\`${name}\``),
    `|${'---|'.repeat(programs.length + 1)}`,
    row('version, tested on', ({ name }) => cells.get(`tested|${name}`) ?? '–'),
    ...checks.map(({ title }) => row(title, ({ name }) => cells.get(`${title}|${name}`) ?? '–')),
  ]
  return `${before}${BEGIN}\n\n${table.join('\n')}\n\n${END}${after}`
}

function parts(guide: string): [before: string, table: string, after: string] {
  const [from, to] = [guide.indexOf(BEGIN), guide.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`${GUIDE} has no markers for the table: ${BEGIN} … ${END}`)
  return [guide.slice(0, from), guide.slice(from + BEGIN.length, to), guide.slice(to + END.length)]
}

/** What an earlier run wrote. */
function cellsOf(table: string): Map<string, string> {
  const cells = new Map<string, string>()
  const rows = table.split('\n').filter(line => line.startsWith('| '))
  const columns = cellsIn(rows[0] ?? '').map(name => name.replaceAll('`', ''))
  for (const row of rows.slice(1)) {
    const [title, ...values] = cellsIn(row)
    for (const [index, value] of values.entries())
      cells.set(`${title === 'version, tested on' ? 'tested' : title}|${columns[index + 1]}`, value)
  }
  return cells
}

function cellsIn(row: string): readonly string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map(cell => cell.trim())
}

function titleOf(name: Check['name']): string {
  return checks.find(check => check.name === name)!.title
}

function shown(failure: string | undefined, measured: string | undefined): string {
  if (failure === undefined) return measured === undefined ? 'yes' : `yes, ${measured}`
  // Whole paths are of one machine, and tags would be taken for HTML.
  const words = failure.replaceAll(/\/\S*\/|<[^>]*>|[|\n]/g, ' ').replaceAll(/ +/g, ' ')
  return `**no**: ${words.length > clisLimits.cellLength ? `${words.slice(0, clisLimits.cellLength)}…` : words}`
}
