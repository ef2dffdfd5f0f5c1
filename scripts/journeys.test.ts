// The four journeys of docs/architecture.md: every file that a list names is there, and no list grows beyond its bound.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')

test.each([
  ['solve', 30],
  ['ask', 14],
  ['invoke', 16],
  ['append', 16],
])('the journey of %s names files that are there, at most %s, and as many as it says', (name, most) => {
  const [, rest = ''] = page.split(`\n**${name}**: `)
  const [told = '', list = ''] = rest.split('\n\n', 2)
  const files = [...list.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file!)
  expect(files.filter(file => !existsSync(join(root, 'packages', file)))).toEqual([])
  expect(new Set(files).size).toBe(files.length)
  expect(told).toContain(`${files.length} files`)
  expect(files.length).toBeLessThanOrEqual(most)
  const asked = rest.slice(0, rest.indexOf('\n**')).matchAll(/`(\w+\/src\/[^`]+\.ts)`/g)
  for (const [, file] of asked) expect(existsSync(join(root, 'packages', file!)), file).toBe(true)
})
