// bin/parley of a clone: runs the bundle that is there, and makes it where a source is newer.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let root: string
const at = (...parts: string[]) => join(root, ...parts)

function write(file: string, text: string, ageSeconds = 0): void {
  mkdirSync(join(at(file), '..'), { recursive: true })
  writeFileSync(at(file), text)
  const then = Date.now() / 1000 - ageSeconds
  utimesSync(at(file), then, then)
  utimesSync(join(at(file), '..'), then, then)
}

/** A clone in small, whose set-up says that it was called and makes a bundle that says its arguments. */
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-launcher-')))
  mkdirSync(at('bin'))
  cpSync(join(import.meta.dirname, '..', 'bin', 'parley'), at('bin', 'parley'))
  write('packages/one/src/index.ts', '', 100)
  write('packages/one/package.json', '{}', 100)
  write('package-lock.json', '{}', 100)
  write(
    'scripts/with-node.mjs',
    `import { mkdirSync, writeFileSync } from 'node:fs'
console.log('making', process.argv[2])
const bundle = ${JSON.stringify(at('.cache', 'current'))}
mkdirSync(bundle + '/dist', { recursive: true })
writeFileSync(bundle + '/made', '')
writeFileSync(bundle + '/exec-path', process.execPath + '\\n')
writeFileSync(bundle + '/dist/parley.js', 'console.log(JSON.stringify([process.cwd(), ...process.argv.slice(2)]))')
`,
  )
})
afterEach(() => rmSync(root, { recursive: true }))

function run(program = at('bin', 'parley'), ...args: string[]) {
  const output = execFileSync(program, args, { cwd: tmpdir(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return JSON.parse(output) as string[]
}

/** Whether the bundle was made for this call. */
function makes(): boolean {
  const before = Date.now() / 1000 - 50
  utimesSync(at('.cache', 'current', 'made'), before, before)
  const changed = at('packages', 'one', 'src')
  const said = execFileSync('sh', ['-c', `"${at('bin', 'parley')}" 2>&1`], { encoding: 'utf8' })
  utimesSync(changed, before - 50, before - 50)
  return said.includes('making scripts/bundle.ts')
}

test('the first call makes the bundle; the arguments, the folder and standard output are those of the command', () => {
  expect(run(undefined, 'a b', '--c', '*')).toEqual([realpathSync(tmpdir()), 'a b', '--c', '*'])
})

test('a bundle that is newer than every source is run as it is, also through links', () => {
  run()
  expect(makes()).toBe(false)
  symlinkSync(at('bin', 'parley'), at('link'))
  symlinkSync('link', at('second'))
  expect(run(at('second'), 'x')).toEqual([realpathSync(tmpdir()), 'x'])
})

test('a source that changed, a new one, one that is gone, the lock file and a missing Node have it made anew', () => {
  run()
  write('packages/one/src/index.ts', 'changed')
  utimesSync(at('packages', 'one', 'src'), 1, 1)
  expect(makes()).toBe(true)
  write('packages/one/src/index.ts', '', 100)
  expect(makes()).toBe(false)
  rmSync(at('packages', 'one', 'src', 'index.ts'))
  expect(makes()).toBe(true)
  write('package-lock.json', '{ }')
  expect(makes()).toBe(true)
  write('package-lock.json', '{}', 100)
  expect(makes()).toBe(false)
  write('.cache/current/exec-path', '/nowhere/node\n')
  expect(makes()).toBe(true)
})
