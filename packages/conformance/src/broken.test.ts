// Kernels that are broken on purpose (fixtures/): the kit, run as its command is, notices each of them and blames
// nothing else.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Claim } from './claim.ts'
import type { ScenarioResult } from './runner.ts'
import type { Break } from './testing/break.ts'

const fixtures = globSync(join(import.meta.dirname, '..', 'fixtures', '*.json')).map(path => ({
  name: basename(path, '.json'),
  path,
}))

/** What the first process compiled serves the others: all but one file of each is the same. */
const compiled = mkdtempSync(join(tmpdir(), 'parley-compiled-'))
afterAll(() => rmSync(compiled, { recursive: true, force: true }))

interface Report {
  readonly claim: Claim
  readonly results: readonly ScenarioResult[]
}

function kit(broken: string | undefined, rows: readonly string[]) {
  const loader = broken === undefined ? [] : ['--import', join(import.meta.dirname, 'testing', 'breaking.ts')]
  const args = ['--conditions=parley-source', '--disable-warning=ExperimentalWarning', ...loader]
  const command = join(import.meta.dirname, 'parley-conformance.ts')
  // The long form runs everything: nothing else may notice the break either.
  const only = process.env.PARLEY_SOAK && broken !== undefined ? [] : ['--only', rows.join()]
  const run = spawnSync(process.execPath, [...args, command, '--json', ...only], {
    encoding: 'utf8',
    env: { ...process.env, PARLEY_BROKEN: broken, NODE_OPTIONS: '', NODE_COMPILE_CACHE: compiled },
    maxBuffer: 64 * 1024 * 1024,
  })
  return { ...run, report: run.stdout.startsWith('{') ? (JSON.parse(run.stdout) as Report) : undefined }
}

test('what the broken kernels are to fail passes without the break', () => {
  expect(fixtures.length).toBeGreaterThanOrEqual(3)
  const rows = fixtures.flatMap(({ path }) => {
    const { fails, passes } = JSON.parse(readFileSync(path, 'utf8')) as Break
    return [...fails, ...passes]
  })
  const { status, stderr } = kit(undefined, [...new Set(rows)])
  expect(status, stderr).toBe(0)
})

test.each(fixtures)('a kernel that is broken as $name says is noticed', ({ path }) => {
  const { rule, fails, passes } = JSON.parse(readFileSync(path, 'utf8')) as Break
  const { status, stderr, report } = kit(path, [...fails, ...passes])
  expect(report, stderr).toBeDefined()
  expect(report?.claim.deviations.map(({ id }) => id).toSorted(), rule).toEqual(fails.toSorted())
  expect(status).toBe(1)
})

test('a break whose place is gone fails loudly', () => {
  const missing = join(import.meta.dirname, '..', 'fixtures', 'gone', 'missing.json')
  const { status, stderr } = kit(missing, ['WP-001'])
  expect(status).not.toBe(0)
  expect(stderr).toContain('expected exactly one place to break, found 0')
})
