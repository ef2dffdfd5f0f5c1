// Breaks rules of the kernel, the trail, the call protocol and links one at a time and sees whether anything notices:
// `npm run mutate [-- ID …]`. Who is asked about a rule of WACP: the scenarios of the conformance kit that name it, the
// tests of the mutant's folder, the whole kit, the simulator. About others: the tests of the folder. All tests of the
// package come last. Each mutant is made in a copy of the sources, so that nothing here changes. Ends with a failure
// when fewer are caught than docs/reliability.md promises.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { MUTANTS, type Mutant } from './mutants/index.ts'

/** The part that may go unnoticed. */
const ALLOWED = 0.05

const root = join(import.meta.dirname, '..')
const wanted = process.argv.slice(2)
const simulator = ['sim/no-human.test.ts', 'sim/simulation.test.ts']
const mutants = wanted.length === 0 ? MUTANTS : MUTANTS.filter(({ id }) => wanted.includes(id))
const strange = wanted.filter(id => !mutants.some(mutant => mutant.id === id))
if (strange.length > 0) throw new Error(`There are no mutants ${strange.join(', ')}`)

/**
 * The sources without what is built or installed; packages of ours are linked inside the copy, all others to what is
 * installed.
 */
function copySources(): string {
  const copy = mkdtempSync(join(tmpdir(), 'parley-mutants-'))
  for (const name of ['package.json', 'tsconfig.base.json', 'vitest.config.ts', 'packages', 'sim', 'scripts', 'docs'])
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: path => !/\/(dist|node_modules)(\/|$)/.test(path),
    })
  const modules = join(copy, 'node_modules')
  mkdirSync(join(modules, '@parley'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@parley') symlinkSync(join(root, 'node_modules', name), join(modules, name))
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join('..', '..', 'packages', name), join(modules, '@parley', name))
  return copy
}

function mutate(source: string, { id, find, replace }: Mutant): string {
  const parts = source.split(find)
  if (parts.length !== 2)
    throw new Error(`${id}: expected exactly one place to break, found ${parts.length - 1}: ${find}`)
  return parts.join(replace)
}

interface Watcher {
  readonly name: string
  /** Who noticed something, by the name of a test, or nothing. */
  readonly look: (copy: string) => string | undefined
}

/** Who may notice a mutant, the quickest first. */
function watchers(mutant: Mutant): readonly Watcher[] {
  const { file, tests = dirname(file) } = mutant
  const named = join(sourcesOf(mutant), tests)
  const folder = tested([named.endsWith('.ts') ? named : `${named}/`])
  const all = tested([`${sourcesOf(mutant)}/`])
  if (!OF_WACP.has(packageOf(mutant))) return [folder, all]
  return [played(ruleOf(mutant)), folder, played(), tested(simulator), all]
}

/** What the kit and the simulator drive. */
const OF_WACP: ReadonlySet<string> = new Set(['kernel', 'trail', 'core'])

/** The row or the rule that a mutant is named after. */
function ruleOf({ id }: Mutant): string {
  return /^W(?:[PMX]-\d{3}|(?:-[A-Z]+)+-\d\d)/.exec(id)?.[0] ?? id
}

/** The kit, or what it has about a rule, as a program: without a test runner it is several times as fast. */
function played(rule?: string): Watcher {
  const look = (copy: string) => {
    const only = rule === undefined ? [] : ['--only', rule]
    const result = spawnSync(
      process.execPath,
      [
        '--conditions=parley-source',
        '--disable-warning=ExperimentalWarning',
        join(copy, 'packages/conformance/src/parley-conformance.ts'),
        '--json',
        '--bail',
        ...only,
      ],
      { cwd: copy, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024, timeout: 10 * 60_000 },
    )
    // 2: the kit has nothing about the rule.
    if (result.status === 0 || (result.status === 2 && rule !== undefined)) return undefined
    if (result.status !== 1 || !result.stdout.startsWith('{')) return 'the kit, which did not come to its end'
    const { results } = JSON.parse(result.stdout) as KitReport
    return results.find(({ status }) => status !== 'passed')?.title ?? 'the kit'
  }
  return { name: `the kit ${rule ?? ''}`, look }
}

interface KitReport {
  readonly results: readonly { readonly status: string; readonly title: string }[]
}

function tested(tests: readonly string[]): Watcher {
  return { name: tests.join(), look: copy => firstFailure(copy, tests) }
}

function packageOf({ package: name = 'kernel' }: Mutant): string {
  return name
}

function sourcesOf(mutant: Mutant): string {
  return join('packages', packageOf(mutant), 'src')
}

/** Who was seen to notice nothing where nothing is broken. */
const sound = new Set<string>()

/** Who notices the mutant. What fails by itself says nothing about it. */
function caughtBy(copy: string, mutant: Mutant): string | undefined {
  const file = join(copy, sourcesOf(mutant), mutant.file)
  const source = readFileSync(file, 'utf8')
  const mutated = mutate(source, mutant)
  for (const watcher of watchers(mutant)) {
    writeFileSync(file, mutated)
    const failure = watcher.look(copy)
    writeFileSync(file, source)
    if (failure === undefined) continue
    const broken = sound.has(watcher.name) ? undefined : watcher.look(copy)
    if (broken !== undefined) throw new Error(`This fails without any mutant: ${broken}`)
    sound.add(watcher.name)
    return failure
  }
  return undefined
}

/** The first test that fails, or undefined when none does. */
function firstFailure(copy: string, tests: readonly string[]): string | undefined {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const result = spawnSync(
    process.execPath,
    [
      join(copy, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      ...tests,
      '--bail',
      '1',
      '--reporter',
      'json',
      '--outputFile',
      report,
    ],
    { cwd: copy, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024, timeout: 10 * 60_000 },
  )
  if (result.status === 0) return undefined
  if (!existsSync(report)) throw new Error(`The tests did not run: ${result.stderr.slice(-2000)}`)
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as VitestReport
  for (const { assertionResults } of testResults)
    for (const { status, fullName } of assertionResults) if (status === 'failed') return fullName.trim()
  return 'a file of tests'
}

interface VitestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const copy = copySources()
let missed = 0
try {
  for (const mutant of mutants) {
    const failure = caughtBy(copy, mutant)
    if (failure === undefined) missed++
    console.log(
      `${failure === undefined ? 'MISSED' : 'caught'}  ${mutant.id}  ${mutant.rule}${failure ? `  (${failure})` : ''}`,
    )
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${mutants.length - missed} of ${mutants.length} caught`)
process.exitCode = missed > mutants.length * ALLOWED ? 1 : 0
