// The main job with real processes: the command, a node, git, and agents that are small scripts.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GateView, RunSummaryView, RunView, VerifyView } from '../node/views.ts'
import { HOUSEWORK, teamFile } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

function team(agents: Readonly<Record<string, string>>, plan: readonly string[]): void {
  world.team(teamFile(agents, plan))
}

const two = () => team(...HOUSEWORK)

test('solve does the work, and show, runs, tasks and trail tell of it', async () => {
  two()
  const node = await world.up()
  const solved = await world.parley('solve', 'Tidy up', '--yes')
  expect(solved).toMatchObject({ code: 0, err: '' })
  expect(solved.out).toContain('[2/2] ✓ Wipe the table (wipe) done')
  expect(solved.out).toMatch(/^Done\. 2 of 2 tasks/m)
  const look = /^look {4}parley (diff \S+)$/m.exec(solved.out)![1]!
  const shown = await world.ok(...look.split(' '))
  expect(shown).toContain('2 files, +3 -0\n')
  expect(shown).toContain('+swept\n+wiped\n')
  expect(existsSync(join(world.project, 'floor.txt'))).toBe(false)

  const { runs } = await world.json<{ runs: RunSummaryView[] }>('runs')
  expect(runs).toMatchObject([{ intent: 'Tidy up', state: 'done', tasks_done: 2, tasks_total: 2 }])
  const view = await world.json<RunView>('show', runs[0]!.run.slice(0, 14))
  expect(view.result).toMatchObject({ files: ['floor.txt', 'table.txt'] })
  expect((await world.parley('tree')).out).toContain('└─ ✓ Sweep the floor')
  expect((await world.parley('tasks')).out).toContain('table  ✓ done')

  const verified = await world.json<VerifyView>('trail', 'verify', 'last')
  expect(verified).toMatchObject({ sound: true, runs: [{ run: view.run }] })
  const exported = (await world.parley('trail', 'export', '--format', 'jsonl')).out.trim().split('\n')
  const header = JSON.parse(exported[0]!) as { head: { hash: string }; count: number }
  expect(exported.length).toBe(header.count + 1)
  expect(createHash('sha256').update(exported.at(-1)!).digest('hex')).toBe(header.head.hash)
  expect((await world.parley('trail', 'follow', '--json')).out.trim().split('\n').length).toBe(header.count)

  expect((await world.parley('doctor')).out).toContain('ok       record')
  expect((await world.parley('up')).code).toBe(5)
  node.child.kill('SIGINT')
  expect(await node.ended).toMatchObject({ code: 0 })
})

test('without a terminal a plan waits: approved from another process it is done, rejected it is not', async () => {
  two()
  await world.up()
  const asked = await world.parley('run', 'parley.yaml')
  expect(asked.code).toBe(5)
  expect(asked.err).toContain('parley approve')
  const { gates } = await world.json<{ gates: GateView[] }>('gates')
  expect(gates).toMatchObject([{ type: 'task_approval' }, { type: 'task_approval' }])
  expect((await world.parley('approve')).code).toBe(0)
  expect((await world.parley('show', '--follow')).code).toBe(0)
  expect((await world.parley('approve')).code).toBe(3)

  const detached = await world.parley('run', 'parley.yaml', '--detach')
  const [run = ''] = detached.out.split('\n')
  await world.stop()
  expect(await world.ok()).toContain('No node is running. 1 run will continue with the next one')
  const follower = world.start(['show', run, '--follow'])
  await follower.printed('Started the node, which continues 1 run that had been interrupted.')
  await follower.printed('parley approve')
  expect((await world.parley('reject', run, '--reason', 'not today')).code).toBe(0)
  expect((await follower.ended).code).toBe(1)
  expect(await world.json<RunView>('show', run)).toMatchObject({ state: 'rejected', tasks_done: 0 })
  expect((await world.parley('abort', run)).code).toBe(5)
})

test('an agent uses its workspace, asks, gets a reply, and cannot approve anything', async () => {
  const script = [
    'if [ ! -e asked ]; then',
    'parley ws status --json > status.json; parley approve 2> refused.txt; echo $? >> refused.txt',
    'touch asked; parley ws checkpoint "half done"; parley ws block "Which floor?"; exit 0; fi',
    'cat > mail.txt',
  ].join('\n')
  team({ ask: script }, ['{ id: floor, agent: ask, prompt: x, attempts: 1 }'])
  await world.up()
  const solved = await world.parley('solve', 'Tidy up', '--yes')
  expect(solved.code).toBe(5)
  expect(solved.err).toContain('Which floor?')
  expect((await world.parley('inbox')).out).toContain('Which floor?')
  expect((await world.parley('approve', 'last')).code).toBe(5)
  expect((await world.parley('reply', 'last', 'The upper one')).code).toBe(0)
  expect((await world.parley('show', '--follow')).code).toBe(0)
  const { result } = await world.json<RunView>('show')
  const file = (name: string) => world.git('show', `${result!.branch}:${name}`)
  expect(JSON.parse(file('status.json'))).toMatchObject({ task: 'floor', may_change: 'everything' })
  expect(file('refused.txt')).toMatch(/PARLEY_TOKEN_FILE[\s\S]*\n5$/)
  expect(file('mail.txt')).toContain('The upper one')
})

test('a node that is killed while somebody watches: the watcher starts another, and the run is done', async () => {
  team({ slow: 'sleep 2; echo swept > floor.txt' }, ['{ id: floor, agent: slow, prompt: x, attempts: 1 }'])
  const node = await world.up()
  const watcher = world.start(['solve', 'Tidy up', '--yes'])
  await watcher.printed('working')
  node.child.kill('SIGKILL')
  const { code, out, err } = await watcher.ended
  expect(err).toContain('The node is gone.')
  expect(out).toMatch(/^Done\. 1 of 1 task/m)
  expect(code).toBe(0)
  expect((await world.parley('trail', 'verify')).code).toBe(0)
})

test('Ctrl-C leaves the run running, and it can be followed again', async () => {
  team({ slow: 'sleep 2; echo swept > floor.txt' }, ['{ id: floor, agent: slow, prompt: x }'])
  await world.up()
  const watcher = world.start(['solve', 'Tidy up', '--yes'])
  await watcher.printed('working')
  watcher.child.kill('SIGINT')
  const left = await watcher.ended
  expect(left.code).toBe(130)
  expect(left.err).toContain('parley show run_')
  expect((await world.parley('show', '--follow')).code).toBe(0)
})

test('a failing agent, a team file with a mistake, a run that is not there: each has its exit code', async () => {
  team({ bad: 'echo broken >&2; exit 3' }, ['{ id: floor, agent: bad, prompt: x, attempts: 1 }'])
  await world.up()
  const failed = await world.parley('solve', 'Tidy up', '--yes')
  expect(failed.code).toBe(1)
  expect(failed.out).toMatch(/^Failed\./m)
  world.write('wrong.yaml', 'version: 1\nname: house\nagnts: {}\n')
  const wrong = await world.parley('solve', 'x', '--team', 'wrong.yaml')
  expect(wrong.code).toBe(6)
  expect(wrong.err).toMatch(/3:1: .*agents/)
  expect((await world.parley('show', 'run_none')).code).toBe(3)
  expect((await world.parley('solve', 'x', '--agent', 'nobody')).code).toBe(5)
  expect((await world.parley('solve')).code).toBe(2)
})
