import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MUTANTS } from './index.ts'

const sourcesOf = (name: string) => join(import.meta.dirname, '..', '..', 'packages', name, 'src')

// A rule that was written anew is broken by nobody until its mutant follows.
test('every mutant finds the one place that it breaks', () => {
  const lost = MUTANTS.filter(({ package: name = 'kernel', file, find }) => {
    const source = readFileSync(join(sourcesOf(name), file), 'utf8')
    return source.split(find).length !== 2
  })
  expect(lost.map(({ id }) => id)).toEqual([])
  expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length)
})

test('the tests that a mutant names are there', () => {
  const lost = MUTANTS.filter(
    ({ package: name = 'kernel', tests }) => tests !== undefined && !existsSync(join(sourcesOf(name), tests)),
  )
  expect(lost.map(({ id }) => id)).toEqual([])
})
