// `npm run check`: everything that can be said about the tree without running the tests. All steps run, each with its
// time; the failed ones are named at the end.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { redeclared } from './alx-names.ts'
import { arrowProblems, ours } from './arrows.ts'
import { findLeaks } from './leaks.ts'
import { longLines } from './lines.ts'
import { type Lock, lockProblems, type Manifest } from './lock-file.ts'

const root = join(import.meta.dirname, '..')
/** The sheets are as they were given; the page of conformance and ALX's specification are made by programs. */
const WRAPPED = /^(?!docs\/specs\/|docs\/conformance\.md$|docs\/protocol\/|.*\bfixtures\/).*\.(?:ts|mjs|md)$/

/** Says what is wrong, one line each; nothing when all is well. */
type Step = () => readonly string[]

const steps: Readonly<Record<string, Step>> = {
  'format and lint': () => run('node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'),
  types: () => run('node_modules/typescript/bin/tsc', '-b'),
  'arrows between packages': arrows,
  'ALX names in @alx/protocol only': () => committed(redeclared),
  'docs/conformance.md': () => run('scripts/conformance.ts', '--check'),
  'docs/protocol/PROTOCOL-SPEC.md': () => run('scripts/alx-spec.ts', '--check'),
  'lock file': lockFile,
  'nothing of this machine': () =>
    committed((file, content) => findLeaks(content).map(({ line, what, text }) => `${file}:${line}: ${what}: ${text}`)),
  'comments and Markdown at 120 columns': () =>
    committed((file, content) => (WRAPPED.test(file) ? longLines(file, content) : [])),
}

function run(script: string, ...args: readonly string[]): readonly string[] {
  const { status, signal, error } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status === 0) return []
  return [`${script} ${args.join(' ')} ended with ${error?.message ?? signal ?? `code ${status}`}`]
}

function arrows(): readonly string[] {
  const facts = globSync('packages/*', { cwd: root }).map(folder => {
    const json = (file: string) => JSON.parse(readFileSync(join(root, folder, file), 'utf8'))
    const { dependencies, devDependencies, peerDependencies, optionalDependencies } = json('package.json')
    const listed = { ...dependencies, ...devDependencies, ...peerDependencies, ...optionalDependencies }
    const references: { path: string }[] = json('tsconfig.json').references ?? []
    const files = globSync(`${folder}/src/**/*.{ts,tsx}`, { cwd: root })
    return {
      name: basename(folder),
      dependencies: ours(Object.keys(listed)),
      development: ours(Object.keys(devDependencies ?? {})),
      references: references.map(({ path }) => basename(path)),
      sources: new Map(files.map(file => [file, readFileSync(join(root, file), 'utf8')])),
    }
  })
  return arrowProblems(facts)
}

function lockFile(): readonly string[] {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const lock: Lock = read('package-lock.json')
  const folders = [
    '',
    ...globSync('packages/*/package.json', { cwd: root }).map(file => dirname(file).replaceAll('\\', '/')),
  ]
  const manifests = folders.map((folder): [string, Manifest] => [folder, read(join(folder, 'package.json'))])
  return lockProblems(lock, new Map(manifests)).map(problem => `package-lock.json: ${problem}`)
}

function committed(look: (file: string, content: string) => readonly string[]): readonly string[] {
  // Also what is about to be committed: untracked and not ignored. The owner of the folder may be another user in CI.
  const git = spawnSync('git', ['-c', 'safe.directory=*', 'ls-files', '-coz', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (git.status !== 0) return [`git ls-files failed, so nothing was looked at: ${git.stderr || git.error?.message}`]
  return [...new Set(git.stdout.split('\0'))].filter(Boolean).flatMap(file => {
    const content = textOf(file)
    return content === undefined ? [] : look(file, content)
  })
}

/** Undefined for a file that is deleted but not yet committed as such, and for a binary one. */
function textOf(file: string): string | undefined {
  try {
    const content = readFileSync(join(root, file), 'utf8')
    return content.includes('\0') ? undefined : content
  } catch {
    return undefined
  }
}

const failed: string[] = []
for (const [name, step] of Object.entries(steps)) {
  console.log(`── ${name}`)
  const began = performance.now()
  const problems = step()
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) failed.push(name)
  console.log(`   ${problems.length > 0 ? 'FAILED' : 'ok'}, ${((performance.now() - began) / 1000).toFixed(1)} s`)
}
console.log(
  failed.length > 0
    ? `\nChecks that failed: ${failed.join(', ')}`
    : `\nAll ${Object.keys(steps).length} checks passed.`,
)
process.exitCode = failed.length > 0 ? 1 : 0
