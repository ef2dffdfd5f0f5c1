// Agents that are real processes, and misbehave.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findMarked } from '@parley/agents/testing'
import { expect, test } from 'vitest'
import { Fixture } from '../testing/fixture.ts'

/** A team of one shell script, and of a second one that only works. */
const team = (script: string, more = '') => `
version: 1
name: rough
limits: { attempts: 1 }
agents:
  rough: { command: [sh, -c, ${JSON.stringify(script)}]${more} }
  good: { command: [sh, -c, 'echo good > good.txt; echo done'] }
plan:
  - { id: rough, agent: rough, prompt: Work. }
  - { id: good, agent: good, prompt: Work. }
`

const states = (tasks: readonly { readonly id: string; readonly state: string }[]) =>
  Object.fromEntries(tasks.map(({ id, state }) => [id, state]))

async function endedAtLimit(script: string, limit: string, said: string) {
  const fixture = await Fixture.open()
  const view = await fixture.finished(team(script, limit))
  expect(states(view.tasks)).toEqual({ rough: 'failed', good: 'done' })
  expect(view.tasks[0]!.note).toContain(said)
  expect(fixture.result(view, 'good.txt')).toBe('good\n')
  expect(await findMarked(`${view.run}/`)).toEqual([])
}

test('an agent that hangs is ended at its time limit, and the others are not touched', () =>
  endedAtLimit('sleep 1000', ', timeout: 500ms', '500'))

test('an agent that floods its output is ended at its limit', () =>
  endedAtLimit('yes flood', ', max_output: 64KiB', '64 KiB'))

test('what an agent leaves running in the background ends with its turn', async () => {
  const fixture = await Fixture.open()
  const run = await fixture.solve(team('(setsid sleep 1000 >/dev/null 2>&1 &) ; sleep 1000 & echo x > x.txt'))
  const view = await fixture.over(run)
  expect(states(view.tasks)).toEqual({ rough: 'done', good: 'done' })
  expect(await findMarked(`${run}/`)).toEqual([])
})

test('an exit code tells, and the end of what it printed', async () => {
  const fixture = await Fixture.open()
  const view = await fixture.finished(team('echo half; echo "no such table" >&2; exit 3'))
  expect(view.state).toBe('failed')
  expect(view.tasks[0]).toMatchObject({ state: 'failed', attempt: 1 })
  expect(view.tasks[0]!.note).toContain('no such table')
  expect(view.tasks[0]!.note).toContain('3')
})

test('garbage in the output breaks nothing', async () => {
  const fixture = await Fixture.open()
  const script = 'head -c 20000 /dev/urandom; printf "\\377\\376{broken\\n[1,"; echo y > y.txt'
  const run = await fixture.solve(team(script, ', output: json-lines'))
  const view = await fixture.over(run)
  expect(states(view.tasks)).toEqual({ rough: 'done', good: 'done' })
  expect(fixture.result(view, 'y.txt')).toBe('y\n')
  expect((await fixture.trail.run(run).verify()).findings).toEqual([])
})

test("an agent that breaks its folder's git, or moves its branches, does not reach the user's", async () => {
  const fixture = await Fixture.open()
  const before = fixture.git('rev-parse', 'HEAD').trim()
  const own = 'git init -q .; git add -A; git -c user.name=a -c user.email=a@b commit -qm mine'
  const view = await fixture.finished(team(`rm -f .git; echo z > z.txt; { ${own}; } 2>/dev/null; true`))
  expect(states(view.tasks)).toEqual({ rough: 'done', good: 'done' })
  expect(fixture.result(view, 'z.txt')).toBe('z\n')
  expect(fixture.git('rev-parse', 'HEAD').trim()).toBe(before)
  expect(fixture.git('status', '--porcelain').trim()).toBe('')
})

test('git works in the folder of a workspace, also of a project that is a part of its repository, and finds no other repository', async () => {
  const fixture = await Fixture.open()
  fixture.write('part/a.txt', 'a\n')
  fixture.commit('a part')
  // The profile lies in somebody's repository, as it does where a home folder is one.
  execFileSync('git', ['init', '--quiet', fixture.folder])
  const script =
    'git log -1 --format=%s > log.txt; rm -f ../.git; git rev-parse --git-dir > found.txt 2>/dev/null || echo none > found.txt'
  const view = await fixture.finished(team(script), { project: join(fixture.project, 'part') })
  expect(fixture.result(view, 'part/log.txt')).toBe('a part\n')
  expect(fixture.result(view, 'part/found.txt')).toBe('none\n')
})

test('an abort ends a whole tree of processes', async () => {
  const fixture = await Fixture.open()
  const run = await fixture.solve(team('trap "" TERM; sh -c "sleep 1000 & sleep 1000" & echo started; sleep 1000'))
  await fixture.until(run, view => view.tasks[0]?.activity === 'started')
  expect((await findMarked(`${run}/`)).length).toBeGreaterThan(1)
  await fixture.abort(run, { reason: 'enough' })
  expect((await fixture.over(run)).state).toBe('aborted')
  expect(await findMarked(`${run}/`)).toEqual([])
})

test('an agent knows where it is, and gets no secret of the node', async () => {
  process.env.PARLEY_TEST_SECRET = 'do not tell'
  const fixture = await Fixture.open()
  const view = await fixture.finished(team('env | sort > env.txt'))
  delete process.env.PARLEY_TEST_SECRET
  const env = fixture.result(view, 'env.txt')!
  for (const name of ['RUN', 'WORKSPACE', 'TASK', 'AGENT', 'PROJECT', 'TOKEN_FILE'])
    expect(env).toContain(`PARLEY_${name}=`)
  expect(env).not.toContain('do not tell')
  expect(env).not.toContain('pws.')
})

test('a project that is no git repository is copied, and the result is a folder', async () => {
  const fixture = await Fixture.open()
  rmSync(join(fixture.project, '.git'), { recursive: true })
  const view = await fixture.finished(team('echo w >> README.md'))
  expect(view.state).toBe('done')
  expect(view.result?.branch).toBeUndefined()
  expect(readFileSync(join(view.result!.folder!, 'README.md'), 'utf8')).toBe('A project.\nw\n')
  expect(readFileSync(join(fixture.project, 'README.md'), 'utf8')).toBe('A project.\n')
  expect(existsSync(join(fixture.project, 'good.txt'))).toBe(false)
})

test('links that lead out of the project and pipes are left out, on record and shown', async () => {
  const fixture = await Fixture.open()
  const view = await fixture.finished(team('ln -s /etc/hosts out; ln -s README.md in; mkfifo pipe; echo done'))
  expect(view.tasks[0]).toMatchObject({ state: 'done', files: ['in'], refused_links: ['out'], dropped: ['pipe'] })
  expect(view.tasks[0]).not.toHaveProperty('outside_links')
  expect(fixture.git('ls-tree', '--name-only', view.result!.branch!)).toBe('README.md\ngood.txt\nin\n')
  expect(await fixture.entries(view.run, 'capability_denied')).toMatchObject([
    { body: { action: 'link_outside', target: 'out' } },
    { body: { action: 'special_file', target: 'pipe' } },
  ])
})

test('many files that are not allowed hide no link and no pipe, and are counted', async () => {
  const fixture = await Fixture.open()
  const script = 'for i in $(seq 103); do echo x > "a$i"; done; ln -s /etc/hosts out; mkfifo pipe; echo x > mine'
  const yaml = team(script).replace('id: rough,', 'id: rough, paths: [mine, out],')
  const view = await fixture.over(await fixture.solve(yaml))
  const { refused, ...task } = view.tasks[0]!
  expect(task).toMatchObject({ state: 'done', files: ['mine'], refused_links: ['out'], dropped: ['pipe'] })
  expect(refused).toHaveLength(101)
  expect(refused.at(-1)).toBe('… and 3 more')
})

test.each([
  ['for its task', '', ', symlinks: outside'],
  ['for all of the file', 'symlinks: outside\n', ''],
])('where the team file says so, %s, links out of the project are taken over and shown', async (_, all, own) => {
  const fixture = await Fixture.open()
  const yaml = team('ln -s /etc/hosts out').replace('id: rough,', `id: rough${own},`)
  const view = await fixture.over(await fixture.solve(`${yaml}${all}`))
  expect(view.tasks[0]).toMatchObject({ state: 'done', symlinks: 'outside', outside_links: ['out'] })
  expect(view.tasks[0]).not.toHaveProperty('refused_links')
  expect(fixture.result(view, 'out')).toBe('/etc/hosts')
})

test('a title with control characters adds nothing to a commit but its words', async () => {
  const fixture = await Fixture.open()
  const title = 'Fix\n\nParley-Agent: boss\u001b[2J\u202e\u0000!'
  const yaml = team('echo x > x.txt').replace('id: rough,', `id: rough, title: ${JSON.stringify(title)},`)
  const view = await fixture.over(await fixture.solve(yaml))
  const log = fixture.git('log', '--format=%B%x00', `main..${view.result!.branch}`)
  const messages = log.split('\0').map(text => text.trim())
  expect(messages.filter(text => text.startsWith('Fix'))).toEqual([
    'Fix Parley-Agent: boss !\n\nParley-Task: rough',
    'Fix Parley-Agent: boss !\n\nParley-Task: rough\nParley-Agent: rough#1',
  ])
})
