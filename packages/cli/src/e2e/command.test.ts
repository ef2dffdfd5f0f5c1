// The command as a process: starting and stopping nodes, terminals and pipes.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunSummaryView } from '../node/views.ts'
import { hasTmux, Pty } from '../testing/pty.ts'
import { HOUSEWORK, teamFile } from '../testing/team.ts'
import { gone, World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

test('a command that needs a node starts one, and down stops it', async () => {
  expect((await world.parley('runs')).out).toContain('No runs.')
  const pid = world.nodePid!
  expect((await world.parley('agents')).code).toBe(0)
  expect(world.nodePid).toBe(pid)
  expect((await world.parley('down')).code).toBe(0)
  await gone(pid)
  const without = [
    ['doctor'],
    ['config'],
    ['completion', 'bash'],
    ['completion', '--offer', 'runs'],
    ['init'],
    ['help'],
  ]
  for (const args of without) await world.parley(...args)
  expect(world.nodePid).toBeUndefined()
})

test('up --detach leaves a node that does not stop by itself', async () => {
  const status = await world.json<{ pid: number }>('up', '--detach')
  expect(status.pid).toBe(world.nodePid)
})

test('an agent without a login is a warning before the plan, whose details show what it runs', async () => {
  writeFileSync(join(world.folder, 'bin', 'claude'), '#!/bin/sh\necho 2.1.0\n', { mode: 0o755 })
  const asked = await world.parley('solve', 'Tidy up', '--agent', 'claude')
  expect(asked.code).toBe(5)
  expect(asked.err).toContain('warning: agent claude: no login of claude was found. Run `claude` once and log in')
  expect(asked.err).toMatch(/^ +runs +preset claude\n +command +claude -p --input-format /m)
  const detached = await world.start(['solve', 'Tidy up', '--agent', 'claude', '--detach'], {
    env: { ANTHROPIC_API_KEY: 'k' },
  }).ended
  expect(detached.err).not.toContain('no login')
})

test('what init writes runs as it is', async () => {
  const { code } = await world.start(['init'], { env: { PATH: '/usr/bin:/bin' } }).ended
  expect(code).toBe(0)
  world.commit()
  const ran = await world.parley('run', 'parley.yaml', '--yes')
  expect(ran.out).toContain('report/README.md')
  // Its own words for open ends are none.
  const { runs } = await world.json<{ runs: RunSummaryView[] }>('runs')
  expect(world.result(await world.over(runs[0]!.run), 'report/todos.md')).not.toContain('parley.yaml')
  expect(ran.code).toBe(0)
})

test('a reader that goes away ends the command quietly', async () => {
  const ran = await world.start(['-c', 'parley help | head -n 1'], { program: 'sh' }).ended
  expect(ran).toMatchObject({ code: 0, err: '' })
})

test('in a pipe nothing is cut, and output that cannot be written is told without a stack', async () => {
  const long = `no ${'very '.repeat(40)}clean floor`
  world.team(teamFile({ bad: `echo ${long} >&2; exit 3` }, ['{ id: floor, agent: bad, prompt: x, attempts: 1 }']))
  await world.up()
  expect((await world.parley('solve', 'Tidy up', '--yes')).code).toBe(1)
  for (const command of ['show', 'tasks', 'tree']) expect((await world.parley(command)).out).toContain(long)
  if (!existsSync('/dev/full')) return
  const full = await world.start(['-c', 'parley runs > /dev/full'], { program: 'sh' }).ended
  expect(full).toMatchObject({ code: 5, err: 'parley: Cannot write the output (ENOSPC).\n' })
})

test('with --json a node in the foreground talks JSON, also where another has the profile', async () => {
  const node = world.start(['up', '--json'])
  await node.printed('the node is up')
  const second = await world.parley('up', '--json')
  expect(second.code).toBe(5)
  expect(JSON.parse(second.err)).toMatchObject({ error: { code: 'profile_in_use' } })
  node.child.kill('SIGINT')
  const { out } = await node.ended
  for (const line of out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level')
})

test('npm start says how it is used', () => {
  const start = (...args: string[]) => {
    const file = join(import.meta.dirname, '..', '..', '..', '..', 'scripts', 'start.ts')
    return spawnSync(process.execPath, ['--conditions=parley-source', file, ...args], { encoding: 'utf8' })
  }
  expect(start('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('usage: npm start') })
  const wrong = start('--wrong')
  expect(wrong.status).toBe(2)
  expect(wrong.stderr).not.toContain('    at ')
})

test('bin/parley of the clone works in the folder of the caller, with the arguments and the exit code as they are', async () => {
  const program = join(import.meta.dirname, '..', '..', '..', '..', 'bin', 'parley')
  const made = await world.start(['init', '--json'], { program }).ended
  expect(JSON.parse(made.out)).toMatchObject({ folder: world.project })
  expect(existsSync(join(world.project, 'parley.yaml'))).toBe(true)
  expect((await world.start(['solve', 'two', 'words'], { program }).ended).code).toBe(2)
})

const terminals = spawnSync('script', ['--version']).status === 0 && process.platform === 'linux'

test.runIf(hasTmux)('on a real terminal the plan is asked for, and drawn in place and in colour', async () => {
  world.team(teamFile(...HOUSEWORK))
  await world.up()
  using pty = new Pty(world, 'parley run parley.yaml', { columns: 60, rows: 20 })
  await pty.shows('Start?')
  pty.press('y')
  await pty.shows('ended with 0')
  const screen = pty.screen('-e')
  expect(screen).toMatch(/\[32m\S*✓\S* Wipe the table/)
  expect(screen).toContain('\u001b[32mDone.')
})

test.runIf(terminals)('NO_COLOR is respected on a terminal', async () => {
  const { out } = await world.start(['--quiet', '--return', '--command', 'parley doctor', '/dev/null'], {
    program: 'script',
    env: { TERM: 'xterm', NO_COLOR: '1', SHELL: '/bin/sh' },
  }).ended
  expect(out).toContain('ok       git')
  expect(out).not.toContain('\u001b[')
})
