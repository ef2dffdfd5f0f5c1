// A guide as its tests look at it: its blocks, its tables, and its programs in a folder where they run.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const ROOT = join(import.meta.dirname, '..')

/** With these a program finds the sources of our packages. */
export const FLAGS = ['--conditions=parley-source', '--disable-warning=ExperimentalWarning']

export class GuidePage {
  readonly #text: string

  constructor(name: string) {
    this.#text = readFileSync(join(ROOT, 'docs', 'guide', `${name}.md`), 'utf8')
  }

  /** The fenced blocks of one language, in order. */
  blocks(language: string): string[] {
    const fenced = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms')
    return [...this.#text.matchAll(fenced)].map(([, text]) => text!)
  }

  /** The text below a heading, to the next of any level. */
  section(heading: string): string {
    const [, text] = this.#text.split(`\n${heading}\n`)
    if (text === undefined) throw new Error(`The guide has no section '${heading}'.`)
    return text.split(/^#/m)[0]!
  }

  /** The cells of the tables in a section, without heads and marks for code. */
  rows(heading: string): string[][] {
    const tables = this.section(heading).split(/\n\n+/)
    const lines = tables.flatMap(table =>
      table
        .split('\n')
        .filter(line => line.startsWith('| '))
        .slice(1),
    )
    const cells = lines.map(line => line.split('|').slice(1, -1))
    return cells.map(row => row.map(cell => cell.trim().replaceAll('`', '')))
  }
}

/** A folder with these programs, as in a clone: packages are found through its node_modules. */
export function folderWith(programs: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-guide-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, program] of Object.entries(programs)) writeFileSync(join(folder, name), program)
  return folder
}
