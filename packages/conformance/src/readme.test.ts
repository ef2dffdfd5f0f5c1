// The README names every operation and every fault, and no others.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FAULT_NAMES } from './faults.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')
const readme = read('../README.md')
const part = (from: string, to: string) => readme.slice(readme.indexOf(from), readme.indexOf(to))

test('operations', () => {
  const [, declared = ''] = /interface Operations \{([\s\S]*?)\n\}\n/.exec(read('operations.ts')) ?? []
  const operations = [...declared.matchAll(/^ {2}(\w+): \[/gm)].map(([, name]) => name)
  expect(operations.length).toBeGreaterThan(80)
  const listed = [...part('### Operations', '### Faults').matchAll(/`([a-z_]+)`/g)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(operations.toSorted())
})

test('faults', () => {
  const listed = [...part('### Faults', '## Writing a scenario').matchAll(/^\| `(\w+)/gm)].map(([, name]) => name)
  expect([...new Set(listed)]).toEqual([...FAULT_NAMES])
})
