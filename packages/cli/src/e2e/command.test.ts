// The command as a process: starting and stopping nodes, terminals and pipes.
import { spawnSync } from 'node:child_process'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { HOUSEWORK, teamFile } from './team.ts'
import { forgetCompiled, gone, World } from './world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())
afterAll(forgetCompiled)

test('a command that needs a node starts one, and down stops it', async () => {
  expect((await world.parley('runs')).out).toContain('No runs.')
  const pid = world.nodePid!
  expect((await world.parley('agents')).code).toBe(0)
  expect(world.nodePid).toBe(pid)
  expect((await world.parley('down')).code).toBe(0)
  await gone(pid)
  for (const args of [['doctor'], ['config'], ['completion', 'bash'], ['init'], ['help']])
    await world.parley(...args)
  expect(world.nodePid).toBeUndefined()
})

test('up --detach leaves a node that does not stop by itself', async () => {
  const status = await world.json<{ pid: number }>('up', '--detach')
  expect(status.pid).toBe(world.nodePid)
})

test('what init writes runs as it is', async () => {
  const { code } = await world.start(['init'], { env: { PATH: '/usr/bin:/bin' } }).ended
  expect(code).toBe(0)
  world.commit()
  const ran = await world.parley('run', 'parley.yaml', '--yes')
  expect(ran.out).toContain('report/README.md')
  expect(ran.code).toBe(0)
})

test('a reader that goes away ends the command quietly', async () => {
  const ran = await world.start(['-c', 'parley help | head -n 1'], { program: 'sh' }).ended
  expect(ran).toMatchObject({ code: 0, err: '' })
})

const terminals = spawnSync('script', ['--version']).status === 0 && process.platform === 'linux'

test.runIf(terminals)('on a real terminal the plan is asked for, and drawn in place', async () => {
  world.write('parley.yaml', teamFile(...HOUSEWORK))
  world.commit()
  await world.up()
  const { out, code } = await world.start(
    ['--quiet', '--return', '--command', 'stty cols 60 rows 20; parley run parley.yaml', '/dev/null'],
    {
      program: 'script',
      input: 'd\ny\n',
      env: { TERM: 'xterm-256color', SHELL: '/bin/sh' },
    },
  ).ended
  expect(code).toBe(0)
  expect(out).toContain('Start? [y]es, [n]o, [d]etails:')
  expect(out).toContain('\u001b[32m✓\u001b[39m Wipe the table')
  expect(out).toContain('\u001b[32mDone.\u001b[39m')
})

test.runIf(terminals)('NO_COLOR is respected on a terminal', async () => {
  const { out } = await world.start(['--quiet', '--return', '--command', 'parley doctor', '/dev/null'], {
    program: 'script',
    env: { TERM: 'xterm', NO_COLOR: '1', SHELL: '/bin/sh' },
  }).ended
  expect(out).toContain('ok       git')
  expect(out).not.toContain('\u001b[')
})
