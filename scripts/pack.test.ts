// What npm would publish works in an empty project: every package with its licence and README, every entry on plain
// Node.js, both commands.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const manifest = (folder: string): Manifest => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

let home: string

function run(cwd: string, program: string, ...args: readonly string[]): string {
  const env = { PATH: process.env.PATH, HOME: home }
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
  expect({ program, args, status, stderr: status === 0 ? '' : stderr }).toMatchObject({ status: 0 })
  return stdout
}

interface Foreign {
  readonly found: Map<string, string>
  /** Of a package that has one of its own, since another version is needed elsewhere. */
  readonly own: Record<string, Record<string, string>>
}

/** The packages that ours need from elsewhere, with what those need; an installation without a network takes these. */
function foreign(names: readonly string[], into: Foreign = { found: new Map(), own: {} }, of = ''): Foreign {
  for (const name of names) {
    if (/^@(?:parley|alx)\//.test(name)) continue
    const nested = join('node_modules', of, 'node_modules', name)
    const inside = of !== '' && existsSync(join(root, nested))
    const place = inside ? nested : join('node_modules', name)
    if (inside) {
      into.own[of] ??= {}
      into.own[of][name] = `file:${join(root, place)}`
    } else if (into.found.has(name)) continue
    else into.found.set(name, `file:${join(root, place)}`)
    foreign(Object.keys(manifest(place).dependencies ?? {}), into, inside ? '' : name)
  }
  return into
}

test('each package can be installed from its archive into an empty project, and works there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pack-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  home = join(folder, 'home')
  run(root, process.execPath, ...process.execArgv, 'scripts/pack.ts', join(folder, 'archives'))
  const packages = globSync('packages/*', { cwd: root }).map(manifest)
  const archives = globSync(join(folder, 'archives', '*.tgz'))
  expect(archives).toHaveLength(packages.length)

  const project = join(folder, 'project')
  mkdirSync(project)
  const ours = archives.map(file => [
    basename(file).replace(/^(parley|alx)-(.+)-[\d.]+\.tgz$/, '@$1/$2'),
    `file:${file}`,
  ])
  const theirs = foreign(packages.flatMap(each => Object.keys(each.dependencies ?? {})))
  const dependencies = Object.fromEntries([...ours, ...theirs.found])
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ type: 'module', private: true, dependencies, overrides: theirs.own }),
  )
  const quiet = ['--offline', '--install-links', '--ignore-scripts', '--omit=peer', '--no-audit', '--no-fund']
  run(project, 'npm', 'install', ...quiet, '--loglevel=error')

  for (const { name } of packages) {
    const files = globSync('**', { cwd: join(project, 'node_modules', name) })
    expect(files, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
    expect(files.filter(file => /\.test\.|tsbuildinfo/.test(file))).toEqual([])
  }
  const entries = packages
    .flatMap(({ name, exports = {} }) => Object.keys(exports).map(entry => name + entry.slice(1)))
    // For tests of other implementations, under vitest.
    .filter(entry => !entry.endsWith('/compliance'))
  writeFileSync(join(project, 'all.js'), entries.map(entry => `await import('${entry}')\n`).join(''))
  run(project, process.execPath, 'all.js')
  const types = entries.map((entry, index) => `export * as all${index} from '${entry}'\n`)
  writeFileSync(join(project, 'all.ts'), types.join(''))
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024']
  run(project, process.execPath, join(root, 'node_modules/typescript/bin/tsc'), ...options, '--ignoreConfig', 'all.ts')

  const command = (name: string) => join(project, 'node_modules', '.bin', name)
  expect(run(project, command('parley'), '--version')).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(run(project, command('parley'), 'help')).toContain('parley solve')
  const fresh = join(folder, 'fresh')
  mkdirSync(fresh)
  for (const name of run(fresh, command('parley'), 'init', '--list').match(/^[a-z-]+/gm)!)
    expect(run(fresh, command('parley'), 'init', '--example', name)).toContain(`written, from the example ${name}\n`)
  expect(globSync('*.yaml', { cwd: fresh })).toHaveLength(5)
  expect(run(project, command('parley-conformance'), '--only', 'WP-001')).toContain('ok    WP-001')
}, 180_000)
