import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { fakeNode } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'
import { run, starting } from '../../testing/solving.ts'
import { FakeTerminal } from '../../testing/terminal.ts'

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

const teamText = (name: string) => `version: 1\nname: ${name}\nagents: { a: { command: [sh] } }\n`

test('solve uses the team file that is named, else parley.yaml of the project, else the agent', async () => {
  const node = starting({ '/solve/start': { run, warnings: ['unused agent'] } })
  writeFileSync(join(folder, 'parley.yaml'), teamText('own'))
  writeFileSync(join(folder, 'other.yaml'), teamText('other'))
  const solve = (...args: string[]) => parley(['solve', 'x', ...args], { node, cwd: folder })
  expect((await solve()).err).toContain('warning: unused agent\n')
  await solve('--team', 'other.yaml')
  await solve('--agent', 'claude')
  await solve('--agent', 'a')
  expect(node.asked('/solve/start').map(({ team, agent }) => [team?.text, team?.file, agent])).toEqual([
    [teamText('own'), join(folder, 'parley.yaml'), undefined],
    [teamText('other'), join(folder, 'other.yaml'), undefined],
    [undefined, undefined, 'claude'],
    // One of the team's own.
    [teamText('own'), join(folder, 'parley.yaml'), 'a'],
  ])
  expect((await solve('--team', 'none.yaml')).code).toBe(3)
  expect((await solve('--team', 'a', '--agent', 'b')).code).toBe(2)
  expect((await parley(['solve', '  '], { node, cwd: folder })).code).toBe(2)
})

test('solve finds the team file at the top of the repository, and takes all of it as the project', async () => {
  const node = starting()
  const below = join(folder, 'src', 'deep')
  mkdirSync(below, { recursive: true })
  writeFileSync(join(folder, 'parley.yaml'), teamText('own'))
  await parley(['solve', 'x', '--agent', 'a'], { node, cwd: below })
  await parley(['solve', 'x'], { node, cwd: below })
  mkdirSync(join(folder, '.git'))
  const found = await parley(['solve', 'x'], { node, cwd: below })
  expect(found.err).toContain(join(folder, 'parley.yaml'))
  await parley(['solve', 'x', '--project', '.'], { node, cwd: below })
  expect(node.asked('/solve/start').map(({ project, team }) => [project, team?.file])).toEqual([
    [below, undefined],
    [below, undefined],
    [folder, join(folder, 'parley.yaml')],
    [below, undefined],
  ])
})

test('solve - reads the intent from standard input', async () => {
  const node = starting()
  const terminal = new FakeTerminal({ input: 'Tidy\nthe house\n' })
  await parley(['solve', '-', '--agent', 'a'], { node, terminal })
  expect(node.asked('/solve/start')).toMatchObject([{ intent: 'Tidy\nthe house' }])
})

test('a team file with a mistake: its place, its line and a mark, each once, before a node is asked', async () => {
  writeFileSync(join(folder, 'bad.yaml'), 'version: 1\nname: x\nagents:\n  one: { preset: cluade }\n')
  const ran = await parley(['solve', 'x', '--team', 'bad.yaml'], { cwd: folder })
  expect(ran.code).toBe(6)
  expect(ran.err).toMatch(
    /^parley: bad\.yaml cannot be used\.\n {2}bad\.yaml:4:18: .*\n {4}4 \| {3}one: \{ preset: cluade \}\n {6}\| {18}\^\n {2}next: Fix this\./,
  )
  expect(ran.err.match(/cluade'/g)?.length).toBe(1)
  const json = await parley(['run', 'bad.yaml', '--json'], { cwd: folder })
  expect(JSON.parse(json.err)).toMatchObject({
    error: { code: 'invalid_team', details: { problems: [{ line: 4, column: 18 }] } },
  })
})

test('a team file that is a folder, or not there: what it is, and nothing that the command does not have', async () => {
  mkdirSync(join(folder, 'dir.yaml'))
  const isFolder = await parley(['solve', 'x', '--team', 'dir.yaml'], { cwd: folder })
  expect(isFolder.err).toContain('It is a folder.')
  expect(isFolder.err).not.toContain('permissions')
  const missing = await parley(['run', 'nope.yaml'], { cwd: folder })
  expect(missing.code).toBe(3)
  expect(missing.err).not.toContain('--team')
})

test('run without a file takes the one that solve would find, and says where it looked for it', async () => {
  const folder = tempFolder()
  const none = await parley(['run', '--yes'], { node: fakeNode(), cwd: folder })
  expect(none.code).toBe(3)
  expect(none.err).toContain(`There is no parley.yaml in ${folder}.`)
  mkdirSync(join(folder, '.git'))
  mkdirSync(join(folder, 'deep'))
  writeFileSync(
    join(folder, 'parley.yaml'),
    'version: 1\nname: t\ndescription: Tidy\nagents: { a: { command: [x] } }\n',
  )
  const node = starting()
  expect((await parley(['run', '--yes'], { node, cwd: join(folder, 'deep') })).code).toBe(0)
  expect(node.asked('/solve/start')).toMatchObject([{ intent: 'Tidy', project: folder }])
})

test('run takes the description of the file as the intent', async () => {
  const node = starting()
  writeFileSync(
    join(folder, 'team.yaml'),
    'version: 1\nname: x\ndescription: Check it all\nagents: { a: { command: [sh] } }\n',
  )
  expect((await parley(['run', 'team.yaml', '--yes'], { node, cwd: folder })).code).toBe(0)
  expect(node.asked('/solve/start')).toMatchObject([
    { intent: 'Check it all', approved: true, project: folder, team: { file: join(folder, 'team.yaml') } },
  ])
  writeFileSync(join(folder, 'none.yaml'), 'version: 1\nname: x\nagents: { a: { command: [sh] } }\n')
  expect((await parley(['run', 'none.yaml'], { node, cwd: folder })).code).toBe(6)
})

test('with a named team file the project is the folder that holds it and the caller, inside one repository', async () => {
  const node = starting()
  const [src, teams] = [join(folder, 'src'), join(folder, 'teams')]
  for (const each of [src, teams]) mkdirSync(each)
  writeFileSync(join(teams, 't.yaml'), `${teamText('t')}description: Do it\n`)
  const started = async (cwd: string, ...args: string[]) => {
    const { err } = await parley(args, { node, cwd })
    return [node.asked('/solve/start').at(-1)?.project, err.includes('The project is')]
  }
  expect(await started(src, 'run', '../teams/t.yaml')).toEqual([src, true])
  mkdirSync(join(folder, '.git'))
  expect(await started(src, 'run', '../teams/t.yaml')).toEqual([folder, true])
  expect(await started(src, 'solve', 'x', '--team', '../teams/t.yaml')).toEqual([folder, true])
  expect(await started(folder, 'run', 'teams/t.yaml')).toEqual([folder, false])
  expect(await started(src, 'run', '../teams/t.yaml', '--project', '.')).toEqual([src, false])
})
