// How a project is tested: which command, and what must be there before it can run. Nothing is started here.
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { project } from './installed.mjs'
import { lineOf, readJson, readText } from './manifest.mjs'

const NO_TEST = /no test specified/

/**
 * The commands that test this project: [{ name, command, file, line, missing? }]. `missing` says why one cannot run
 * here. A Makefile counts only where nothing else is found, since its target mostly calls the others.
 */
export function testCommands(files) {
  const found = [node(files), cargo(), go(), python(files)].filter(Boolean)
  return found.length > 0 ? found : [make()].filter(Boolean)
}

function node(files) {
  const text = readText('package.json')
  const manifest = readJson('package.json')
  const script = manifest?.scripts?.test
  const inPackages =
    !script &&
    manifest?.workspaces &&
    files.some(({ path }) => /\/package\.json$/.test(path) && readJson(path)?.scripts?.test)
  if ((!script || NO_TEST.test(script)) && !inPackages) return undefined
  const manager = managerOf(manifest)
  const command = inPackages ? [manager, 'test', '--workspaces', '--if-present'] : [manager, 'test']
  const about = { name: command.join(' '), command, file: 'package.json', line: lineOf(text, /"test"\s*:/) }
  if (!onPath(manager)) return { ...about, missing: `${manager} is not installed here` }
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
  if (needed.length > 0 && !modulesNear())
    return {
      ...about,
      missing: `its dependencies are not installed; run \`${manager} install\` in the project first`,
    }
  return about
}

function managerOf(manifest) {
  const named = /^(npm|pnpm|yarn|bun)@/.exec(manifest.packageManager ?? '')?.[1]
  const locks = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun', 'bun.lockb': 'bun' }
  return named ?? Object.entries(locks).find(([file]) => existsSync(file))?.[1] ?? 'npm'
}

/** Where Node would find modules: here, above, or in the project that this is a worktree of. */
function modulesNear() {
  if (existsSync(join(project, 'node_modules')) || existsSync('.pnp.cjs')) return true
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) return true
    if (folder === dirname(folder)) return false
  }
}

function cargo() {
  if (!existsSync('Cargo.toml')) return undefined
  const about = { name: 'cargo test', command: ['cargo', 'test', '--offline'], file: 'Cargo.toml', line: 1 }
  return onPath('cargo') ? about : { ...about, missing: 'cargo is not installed here' }
}

function go() {
  if (!existsSync('go.mod')) return undefined
  const about = { name: 'go test', command: ['go', 'test', './...'], file: 'go.mod', line: 1 }
  return onPath('go') ? about : { ...about, missing: 'go is not installed here' }
}

function python(files) {
  const tests = files.map(({ path }) => path).filter(path => /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/.test(path))
  if (tests.length === 0) return undefined
  const file = ['pyproject.toml', 'pytest.ini', 'setup.cfg', 'tox.ini'].find(name => existsSync(name)) ?? tests[0]
  const own = ['.venv', 'venv', 'env'].map(name => join(project, name, 'bin', 'python')).find(path => existsSync(path))
  const python = own ?? ['python3', 'python'].find(onPath)
  const about = {
    name: 'pytest',
    command: [python, '-m', 'pytest', '-q', '-p', 'no:cacheprovider'],
    file,
    line: 1,
  }
  return python ? about : { ...about, missing: 'Python is not installed here' }
}

function make() {
  const file = ['Makefile', 'makefile', 'GNUmakefile'].find(name => existsSync(name))
  const line = file && lineOf(readText(file), /^(?:test|check)\s*:(?!=)/)
  if (!line) return undefined
  const target = /^(\w+)/.exec(readText(file).split('\n')[line - 1])[1]
  const about = { name: `make ${target}`, command: ['make', target], file, line }
  return onPath('make') ? about : { ...about, missing: 'make is not installed here' }
}

function onPath(program) {
  const names = process.platform === 'win32' ? [`${program}.cmd`, `${program}.exe`] : [program]
  return (process.env.PATH ?? '').split(delimiter).some(folder =>
    names.some(name => {
      try {
        accessSync(join(folder, name), constants.X_OK)
        return true
      } catch {
        return false
      }
    }),
  )
}
