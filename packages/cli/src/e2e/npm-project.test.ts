// A real npm project with dependencies, from `parley init` to `parley apply`: real npm, no network, no registry.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunView } from '../node/views.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`

function npm(folder: string, ...args: readonly string[]): string {
  return execFileSync('npm', args, { cwd: folder, env: world.env, stdio: 'pipe', encoding: 'utf8' })
}

/** A dependency in a tarball, which npm unpacks into `node_modules` as it does with one of a registry. */
function project(): void {
  world.write('.npmrc', 'offline=true\naudit=false\nfund=false\nupdate-notifier=false\n')
  world.write('.gitignore', 'node_modules/\n.env*\n')
  mkdirSync(join(world.project, 'vendor/greet'), { recursive: true })
  world.write('vendor/greet/package.json', json({ name: 'greet', version: '1.0.0', main: 'index.js' }))
  world.write('vendor/greet/index.js', "module.exports = name => 'Hello, ' + name\n")
  npm(join(world.project, 'vendor'), 'pack', './greet', '--silent')
  rmSync(join(world.project, 'vendor/greet'), { recursive: true })
  const dependencies = { greet: 'file:vendor/greet-1.0.0.tgz' }
  world.write('package.json', json({ name: 'app', version: '1.0.0', dependencies, scripts: { test: 'node test.js' } }))
  mkdirSync(join(world.project, 'src'))
  world.write('test.js', "if (require('./src/app.js')() !== 'Hello, app') throw new Error('no')\n")
  world.write('src/app.js', "module.exports = () => ''\n")
  npm(world.project, 'install', '--package-lock-only')
  world.write('.env.test', 'GREETED=app\n')
}

test('its tests pass in every folder with the setup that init has found, and what is applied is the work alone', async () => {
  project()
  // An agent that needs a file that is not committed, and the dependency to test its work.
  const claude = join(world.folder, 'bin/claude')
  writeFileSync(
    claude,
    `#!/bin/sh\n. ./.env.test\necho "module.exports = () => require('greet')('$GREETED')" > src/app.js\nnode test.js || exit 1
echo '{"type":"result","subtype":"success","is_error":false,"result":"Greeted."}'\n`,
  )
  chmodSync(claude, 0o755)
  expect((await world.parley('init')).out).toContain('parley.yaml: written, with claude, and `setup: [npm, ci]`')
  // As a person would: what is there as a comment is switched on.
  const offered = readFileSync(join(world.project, 'parley.yaml'), 'utf8')
  world.write('parley.yaml', offered.replace('# carry', 'carry').replace(/^# (plan:| {2}.*)$/gm, '$1'))
  world.commit()
  const asked = await world.parley('solve', 'Greet the app')
  expect(asked.err).toContain('setup npm ci and copies of .env.test in every folder')
  const solved = await world.parley('solve', 'Greet the app', '--yes')
  expect(solved.code, solved.out + solved.err).toBe(0)
  const view = await world.json<RunView>('show')
  expect(view).toMatchObject({
    state: 'done',
    folders: [{ agents: ['claude'], setup: ['npm', 'ci'], carry: ['.env.test'] }],
    result: { files: ['src/app.js'] },
    tasks: [{ attempt: 1, refused: [], steps: [{ kind: 'work' }, { kind: 'check', outcome: 'accepted' }] }],
  })
  expect(world.git('show', `${view.result!.branch}:src/app.js`)).toContain("require('greet')('app')")
  expect(existsSync(join(world.project, 'node_modules'))).toBe(false)
  const logs = join(world.home, 'default/logs/setup', view.run)
  expect(readdirSync(logs)).toHaveLength(2)
  expect(readFileSync(join(logs, readdirSync(logs)[0]!), 'utf8')).toContain('added 1 package')

  expect((await world.parley('apply')).code).toBe(0)
  expect(world.git('show', '--format=', '--name-only', 'HEAD')).toBe('src/app.js')
  npm(world.project, 'ci')
  expect(npm(world.project, 'test')).toContain('node test.js')
})

test('a dependency outside the project is named at the start, and works once it is packed as that says', async () => {
  world.write('.npmrc', 'offline=true\naudit=false\nfund=false\nupdate-notifier=false\n')
  world.write('.gitignore', 'node_modules/\n')
  const money = join(world.project, '../money')
  mkdirSync(money)
  writeFileSync(join(money, 'package.json'), json({ name: 'money', version: '1.0.0', main: 'index.js' }))
  writeFileSync(join(money, 'index.js'), 'module.exports = () => 1\n')
  const test = "if (require('money')() !== 1) throw new Error('no money')\n"
  const dependencies = { money: 'file:../money' }
  world.write('package.json', json({ name: 'app', version: '1.0.0', dependencies, scripts: { test: 'node test.js' } }))
  world.write('test.js', test)
  npm(world.project, 'install')
  npm(world.project, 'test')
  world.write(
    'parley.yaml',
    `version: 1
name: app
setup: [npm, ci]
agents: { one: { command: [sh, -c, 'echo x > made'] } }
plan: [{ id: a, agent: one, prompt: x, attempts: 1, check: [npm, test] }]
`,
  )
  world.commit()
  const failed = await world.parley('solve', 'Count', '--yes')
  const [, advice = ''] =
    /Pack it into the project: (mkdir .+?), then npm install/.exec(failed.err.replace(/\s+/g, ' ')) ?? []
  expect([failed.code, advice]).toEqual([1, 'mkdir -p vendor && npm pack ../money --pack-destination vendor'])
  expect(failed.out).toContain("Cannot find module 'money'")
  execFileSync('sh', ['-c', advice], { cwd: world.project, env: world.env, stdio: 'pipe' })
  npm(world.project, 'install', './vendor/money-1.0.0.tgz')
  world.commit()
  const solved = await world.parley('solve', 'Count', '--yes')
  expect([solved.code, solved.err], solved.out).toEqual([0, expect.not.stringContaining('outside the project')])
})
