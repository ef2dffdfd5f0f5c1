// What docs/guide/wacp.md says is so: its example prints what it claims to print, its tables and pictures are the
// kernel's own.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLimits } from '@parley/kernel'
import { expect, onTestFinished, test } from 'vitest'
import { TRANSITIONS } from '../packages/kernel/src/lifecycle/states.ts'
import { REFUSAL_CODES } from '../packages/kernel/src/refusal.ts'
import { TASK_TRANSITIONS } from '../packages/kernel/src/task/task.ts'

const root = join(import.meta.dirname, '..')
const guide = readFileSync(join(root, 'docs', 'guide', 'wacp.md'), 'utf8')

/** The fenced blocks of one language, in order. */
function blocks(language: string): string[] {
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text!)
}

/** The section below a heading. */
function section(heading: string): string {
  const [, text] = guide.split(`\n${heading}\n`)
  if (text === undefined) throw new Error(`The guide has no section '${heading}'.`)
  return text.split(/^#/m)[0]!
}

/** The cells of the tables in a section, without heads. */
function rows(heading: string): string[][] {
  const lines = section(heading)
    .split('\n')
    .filter(line => /^\| `/.test(line))
  return lines.map(line =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('`', '')),
  )
}

/** The arrows of the state diagram in a section, without beginning and end. */
function arrows(heading: string): string[] {
  return [...section(heading).matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} ${to}`)
}

function pairs(table: { readonly [from: string]: readonly string[] | object }): string[] {
  return Object.entries(table).flatMap(([from, to]) =>
    (Array.isArray(to) ? to : Object.keys(to)).map(each => `${from} ${each}`),
  )
}

test('the example of the WACP guide runs as it stands and prints what the guide says', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-guide-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  // As in the folder of a clone: packages are found through its node_modules.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const [example, ...others] = blocks('ts')
  expect(others).toEqual([])
  writeFileSync(join(folder, 'example.ts'), example!)
  const flags = ['--conditions=parley-source', '--disable-warning=ExperimentalWarning']
  const printed = execFileSync(process.execPath, [...flags, 'example.ts'], { cwd: folder, encoding: 'utf8' })
  expect(printed).toBe(blocks('text')[0])
})

test('the pictures of states in the WACP guide show exactly the transitions that exist', () => {
  expect(arrows('### The states of a workspace').toSorted()).toEqual(pairs(TRANSITIONS).toSorted())
  expect(arrows('### Tasks').toSorted()).toEqual(pairs(TASK_TRANSITIONS).toSorted())
})

test('the WACP guide lists every code of a refusal, and limits with the numbers that hold', () => {
  expect(
    rows('## Refusals')
      .map(([code]) => code)
      .toSorted(),
  ).toEqual(REFUSAL_CODES.toSorted())
  const limits: Readonly<Record<string, number>> = kernelLimits
  for (const [name, bound] of rows('## Limits')) expect([name, bound]).toEqual([name, count(limits[name!])])
})

function count(bound: number | undefined): string | undefined {
  return bound?.toLocaleString('en-GB')
}
