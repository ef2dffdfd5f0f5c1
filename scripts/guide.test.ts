// What docs/guide/wacp.md says is so: its example prints what it claims to print, its tables and pictures are the
// kernel's own.
import { execFileSync } from 'node:child_process'
import { kernelLimits } from '@parley/kernel'
import { expect, test } from 'vitest'
import { TRANSITIONS } from '../packages/kernel/src/lifecycle/states.ts'
import { REFUSAL_CODES } from '../packages/kernel/src/refusal.ts'
import { TASK_TRANSITIONS } from '../packages/kernel/src/task/task.ts'
import { FLAGS, folderWith, GuidePage } from './guide-page.ts'

const guide = new GuidePage('wacp')

/** The arrows of the state diagram in a section, without beginning and end. */
function arrows(heading: string): string[] {
  return [...guide.section(heading).matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} ${to}`)
}

function pairs(table: { readonly [from: string]: readonly string[] | object }): string[] {
  return Object.entries(table).flatMap(([from, to]) =>
    (Array.isArray(to) ? to : Object.keys(to)).map(each => `${from} ${each}`),
  )
}

test('the example of the WACP guide runs as it stands and prints what the guide says', () => {
  const [example, ...others] = guide.blocks('ts')
  expect(others).toEqual([])
  const cwd = folderWith({ 'example.ts': example! })
  const printed = execFileSync(process.execPath, [...FLAGS, 'example.ts'], { cwd, encoding: 'utf8' })
  expect(printed).toBe(guide.blocks('text')[0])
})

test('the pictures of states in the WACP guide show exactly the transitions that exist', () => {
  expect(arrows('### The states of a workspace').toSorted()).toEqual(pairs(TRANSITIONS).toSorted())
  expect(arrows('### Tasks').toSorted()).toEqual(pairs(TASK_TRANSITIONS).toSorted())
})

test('the WACP guide lists every code of a refusal, and limits with the numbers that hold', () => {
  const codes = guide.rows('## Refusals').map(([code]) => code)
  expect(codes.toSorted()).toEqual(REFUSAL_CODES.toSorted())
  const limits: Readonly<Record<string, number>> = kernelLimits
  for (const [name, bound] of guide.rows('## Limits'))
    expect([name, bound]).toEqual([name, limits[name!]?.toLocaleString('en-GB')])
})
