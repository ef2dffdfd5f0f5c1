import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { ManualClock, ParleyError, parseTimestamp } from '@parley/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SolveInput } from '../node-api.ts'
import type { Paint } from '../render/paint.ts'
import { runsTable } from '../render/runs.ts'
import { fakeNode, following } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { at, entryView, gateView, NO_USAGE, runView, stepView, taskView } from '../testing/views.ts'
import type { EntryView, RunSummaryView, RunView } from '../views.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** More lines than people are shown. */
const LONG = Array.from({ length: 9 }, (_, index) => `Room ${index + 1} is clean.`).join('\n')

const tasks = [
  taskView('scan', {
    title: 'Scan the house',
    state: 'done',
    attempt: 1,
    started: at(1),
    ended: at(13),
    usage: { ...NO_USAGE, turns: 1, usd: 0.02 },
    steps: [stepView({ text: 'Two rooms are dusty.', usage: { ...NO_USAGE, turns: 1, usd: 0.02 } })],
  }),
  taskView('clean', {
    title: 'Clean it',
    agent: 'cleaner',
    needs: ['scan'],
    state: 'done',
    attempt: 2,
    started: at(14),
    ended: at(40),
    files: ['a', 'b'],
    usage: { ...NO_USAGE, turns: 2 },
    steps: [
      stepView({ agent: 'cleaner#1', outcome: 'failed', started: at(14), ended: at(20), text: 'no broom' }),
      stepView({
        agent: 'cleaner#1',
        attempt: 2,
        started: at(20),
        ended: at(38),
        text: LONG,
        usage: { ...NO_USAGE, turns: 2 },
      }),
      stepView({
        kind: 'review',
        agent: 'critic#1',
        attempt: 2,
        outcome: 'accepted',
        started: at(38),
        ended: at(40),
        text: 'Clean.',
      }),
    ],
  }),
]
const view: RunView = runView({
  state: 'done',
  ended: at(42),
  tasks,
  usage: { turns: 3, wall_ms: 38_000, output_bytes: 4000, tokens_in: 1200, tokens_out: 300, usd: 0.02 },
  result: { commit: 'c'.repeat(40), base: 'b'.repeat(40), folder: '/projects/result', files: ['a', 'b'] },
  warnings: ['3 uncommitted changes are not part of it.'],
})

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'

test('runs: a table for people, all of it for programs, with limit and states passed on', async () => {
  const asked: unknown[] = []
  const node = fakeNode({
    runs: async filter => {
      asked.push(filter)
      return [view]
    },
  })
  const people = await parley(['runs'], { node })
  expect(people).toEqual({
    code: 0,
    err: '',
    out: 'RUN             STATE  INTENT          TASKS   STARTED  TOOK  SPENT\nrun_01m7aaaaaa  done   Tidy the house    2/2  just now   42s  $0.02\n',
  })
  const program = await parley(['runs', '--json', '--state', 'done', '--limit', '5'], { node })
  expect(JSON.parse(program.out)).toMatchObject({ runs: [{ run: view.run }] })
  expect(asked).toEqual([{ limit: 21 }, { limit: 6, states: ['done'] }])
  expect((await parley(['runs'], { node: fakeNode({ runs: async () => [] }) })).out).toContain('parley solve')
})

test('runs: a damaged one is among them, and what is damaged is told by verify', async () => {
  const { tasks: _, gates: _g, warnings: _w, cursor: _c, ...known } = runView()
  const damaged: RunSummaryView = {
    ...known,
    run: 'run_01m7bbbbbbbbbbbbbbbbbbbbbb',
    intent: '',
    state: 'damaged',
  }
  const asked: unknown[] = []
  const list = [view, damaged]
  const node = fakeNode({
    runs: async filter => {
      asked.push(filter)
      return list
    },
  })
  const { out, err, code } = await parley(['runs'], { node })
  expect(code).toBe(0)
  expect(out.split('\n').map(line => line.trimEnd())).toEqual([
    'RUN             STATE    INTENT          TASKS   STARTED  TOOK  SPENT',
    'run_01m7aaaaaa  done     Tidy the house    2/2  just now   42s  $0.02',
    'run_01m7bbbbbb  damaged                         just now',
    '',
  ])
  expect(err).toContain('`parley trail verify run_01m7bbbbbb` tells what')
  const paint: Paint = (tone, text) => `<${tone}>${text}`
  expect(runsTable(list, { width: 80, now: parseTimestamp(at(42))!, paint }).join('\n')).toContain(
    '<bad>damaged',
  )
  const program = await parley(['runs', '--json', '--state', 'damaged'], { node })
  expect(program.err).toBe('')
  expect(JSON.parse(program.out)).toMatchObject({ runs: [{}, { state: 'damaged' }] })
  expect(asked.at(-1)).toMatchObject({ states: ['damaged'] })
  list.push({ ...damaged, run: 'run_01m7cccccccccccccccccccccc' })
  expect((await parley(['runs'], { node })).err).toContain('2 runs are damaged: `parley trail verify RUN`')
  list.length = 0
  expect((await parley(['runs', '--state', 'damaged'], { node })).out).toContain('No such runs')
})

test('show last of a damaged run is refused with its name and what to do', async () => {
  const message = `Entry 5 of run ${one} does not match its hash (segment 1, byte 9); verify the run.`
  const node = fakeNode({
    show: async () => {
      throw new ParleyError('trail_damaged', message)
    },
  })
  const { code, err, out } = await parley(['show', 'last'], { node })
  expect([code, out]).toEqual([5, ''])
  expect(err).toContain(one)
  expect(err).toContain('parley trail verify')
})

test('show: facts, tree, every step with outcome, time, spend and what was said, result, warnings', async () => {
  const node = fakeNode({ show: async () => view })
  const { out } = await parley(['show'], { node })
  expect(out).toBe(`Tidy the house
run      run_01m7aaaaaaaaaaaaaaaaaaaaaa
team     house for owner
project  /projects/house
started  2026-01-01 00:00:00 UTC, took 42s
usage    3 turns, 38s of agents' time, 3.9 KiB of output
spent    1.2k tokens in, 300 out · $0.02

└─ ✓ Scan the house  writer   1/2  12s  $0.02
   └─ ✓ Clean it     cleaner  2/2  26s
done · 2/2 done · 42s · $0.02 · 1.2k tokens in, 300 out

Steps
+1.0s  work 1  Scan the house  writer#1   complete   12s    $0.02
    Two rooms are dusty.
 +14s  work 1  Clean it        cleaner#1  failed    6.0s
    no broom
 +20s  work 2  Clean it        cleaner#1  complete   18s  2 turns
    Room 1 is clean.
    Room 2 is clean.
    Room 3 is clean.
    Room 4 is clean.
    Room 5 is clean.
    Room 6 is clean.
    … 3 more lines
 +38s  review  Clean it        critic#1   accepted  2.0s
    Clean.
All that was said: parley show run_01m7aaaaaa --full

Result
files   2 changed
  a
  b
result  folder /projects/result

Warnings
warning: 3 uncommitted changes are not part of it.

Its record: parley trail query run_01m7aaaaaa, parley trail verify run_01m7aaaaaa
`)
  expect(JSON.parse((await parley(['show', '--json'], { node })).out)).toEqual(view)
  const full = (await parley(['show', '--full'], { node })).out
  expect(full).toContain('    Room 9 is clean.\n')
  expect(full).not.toContain('--full')
})

test('a run is last unless it is named', async () => {
  const asked: string[] = []
  const node = fakeNode({
    show: async run => {
      asked.push(run)
      return view
    },
    tasks: async run => {
      asked.push(run)
      return tasks
    },
  })
  await parley(['show'], { node })
  await parley(['tree', 'run_01'], { node })
  await parley(['tasks'], { node })
  expect(asked).toEqual(['last', 'run_01', 'last'])
})

test('tree and tasks', async () => {
  const node = fakeNode({ show: async () => view, tasks: async () => tasks })
  expect((await parley(['tree'], { node })).out).toContain('└─ ✓ Clean it')
  expect((await parley(['tasks'], { node })).out).toBe(
    'TASK   STATE   TITLE           AGENT    TRY  TOOK  SPENT  FILES\n' +
      'scan   ✓ done  Scan the house  writer   1/2   12s  $0.02\n' +
      'clean  ✓ done  Clean it        cleaner  2/2   26s             2\n',
  )
})

test('tasks tells of links that lead out of the project, and of what cannot be part of a commit', async () => {
  const tasks = [
    taskView('scan', { state: 'done', refused_links: ['out'], dropped: ['pipe', 'pipe'] }),
    taskView('clean', { state: 'done', symlinks: 'outside', outside_links: ['hosts', 'evil\u001b[2J'] }),
    taskView('later', { state: 'waiting', symlinks: 'outside' }),
  ]
  const { out } = await parley(['tasks'], { node: fakeNode({ tasks: async () => tasks }) })
  const notes = out.split('\n').filter(line => line.startsWith('  '))
  expect(notes).toEqual([
    '  links that lead out of the project, and put back: out',
    '  pipes, sockets or devices, and left out: pipe',
    '  links that lead out of the project: hosts, evil',
    '  its links may lead out of the project',
  ])
})

test('tasks tells why, in full: on a narrow terminal it goes on in the next line', async () => {
  const note =
    'The agent writer ended with exit code 3, since the broom of the attic was nowhere to be found: buy a broom'
  const failed = [taskView('scan', { state: 'failed', note, attempt: 2, refused: ['x', 'x'] })]
  const { out } = await parley(['tasks'], {
    node: fakeNode({ tasks: async () => failed }),
    terminal: new FakeTerminal({ columns: 40 }),
  })
  expect(out.replaceAll(/\s+/g, ' ')).toContain(note)
  expect(out).toContain('  not allowed, and put back: x\n')
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(40)
})

test('runs says that there are more', async () => {
  const many = Array.from({ length: 30 }, () => view)
  const node = fakeNode({ runs: async ({ limit }) => many.slice(0, limit) })
  const people = await parley(['runs'], { node })
  expect(people.out.trim().split('\n').length).toBe(21)
  expect(people.err).toBe('There are more: --limit 100\n')
  expect(JSON.parse((await parley(['runs', '--json'], { node })).out)).toMatchObject({ more: true })
  expect((await parley(['runs', '--limit', '30'], { node })).err).toBe('')
})

test('a limit of nothing is refused', async () => {
  expect((await parley(['runs', '--limit', '0'], { node: fakeNode() })).code).toBe(2)
  expect((await parley(['trail', 'query', '--limit', '0'], { node: fakeNode() })).code).toBe(2)
})

test('an id that fits several runs is not found, and they are named', async () => {
  const node = fakeNode({
    show: async () => {
      throw new CallError('ambiguous', '2 runs begin with run_.', { details: { runs: [one, 'run_2'] } })
    },
  })
  const ran = await parley(['show', 'run_'], { node })
  expect(ran.code).toBe(3)
  expect(ran.err).toContain(`\n  ${one}\n  run_2\n  next: `)
})

test('what is not found ends with 3, an unreachable node with 4', async () => {
  const gone = fakeNode({
    show: async () => {
      throw new CallError('not_found', "There is no run 'x'.")
    },
  })
  const missing = await parley(['show', 'x'], { node: gone })
  expect(missing.code).toBe(3)
  expect(missing.err).toContain('next: `parley runs`')
  const unreachable = await parley(['runs', '--json'], {
    node: () => {
      throw new CallError('UNAVAILABLE', 'cannot be reached')
    },
  })
  expect(unreachable.code).toBe(4)
  expect(JSON.parse(unreachable.err)).toMatchObject({ error: { code: 'UNAVAILABLE' } })
})

const teamText = (name: string) => `version: 1\nname: ${name}\nagents: { a: { command: [sh] } }\n`

test('solve uses the team file that is named, else parley.yaml of the project, else the agent', async () => {
  const asked: SolveInput[] = []
  const node = fakeNode({
    solve: async input => {
      asked.push(input)
      return { run: one, warnings: ['unused agent'] }
    },
    follow: following([view]),
  })
  writeFileSync(join(folder, 'parley.yaml'), teamText('own'))
  writeFileSync(join(folder, 'other.yaml'), teamText('other'))
  const solve = (...args: string[]) => parley(['solve', 'x', ...args], { node, cwd: folder })
  expect((await solve()).err).toContain('warning: unused agent\n')
  await solve('--team', 'other.yaml')
  await solve('--agent', 'claude')
  expect(asked.map(({ team, agent }) => [team?.text, team?.file, agent])).toEqual([
    [teamText('own'), join(folder, 'parley.yaml'), undefined],
    [teamText('other'), join(folder, 'other.yaml'), undefined],
    [undefined, undefined, 'claude'],
  ])
  expect((await solve('--team', 'none.yaml')).code).toBe(3)
  expect((await solve('--team', 'a', '--agent', 'b')).code).toBe(2)
  expect((await parley(['solve', '  '], { node, cwd: folder })).code).toBe(2)
})

test('solve finds the team file at the top of the repository, and takes all of it as the project', async () => {
  const asked: SolveInput[] = []
  const node = fakeNode({
    solve: async input => {
      asked.push(input)
      return { run: one, warnings: [] }
    },
    follow: following([view]),
  })
  const below = join(folder, 'src', 'deep')
  mkdirSync(below, { recursive: true })
  writeFileSync(join(folder, 'parley.yaml'), teamText('own'))
  await parley(['solve', 'x', '--agent', 'a'], { node, cwd: below })
  await parley(['solve', 'x'], { node, cwd: below })
  mkdirSync(join(folder, '.git'))
  const found = await parley(['solve', 'x'], { node, cwd: below })
  expect(found.err).toContain(join(folder, 'parley.yaml'))
  await parley(['solve', 'x', '--project', '.'], { node, cwd: below })
  expect(asked.map(({ project, team }) => [project, team?.file])).toEqual([
    [below, undefined],
    [below, undefined],
    [folder, join(folder, 'parley.yaml')],
    [below, undefined],
  ])
})

test('solve - reads the intent from standard input', async () => {
  const asked: SolveInput[] = []
  const node = fakeNode({
    solve: async input => {
      asked.push(input)
      return { run: one, warnings: [] }
    },
    follow: following([view]),
  })
  const terminal = new FakeTerminal({ input: 'Tidy\nthe house\n' })
  await parley(['solve', '-', '--agent', 'a'], { node, terminal })
  expect(asked).toMatchObject([{ intent: 'Tidy\nthe house' }])
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

test('run takes the description of the file as the intent', async () => {
  const asked: SolveInput[] = []
  const node = fakeNode({
    solve: async input => {
      asked.push(input)
      return { run: one, warnings: [] }
    },
    follow: following([view]),
  })
  writeFileSync(
    join(folder, 'team.yaml'),
    'version: 1\nname: x\ndescription: Check it all\nagents: { a: { command: [sh] } }\n',
  )
  expect((await parley(['run', 'team.yaml', '--yes'], { node, cwd: folder })).code).toBe(0)
  expect(asked).toMatchObject([
    { intent: 'Check it all', approved: true, project: folder, team: { file: join(folder, 'team.yaml') } },
  ])
  writeFileSync(join(folder, 'none.yaml'), 'version: 1\nname: x\nagents: { a: { command: [sh] } }\n')
  expect((await parley(['run', 'none.yaml'], { node, cwd: folder })).code).toBe(6)
})

test('the inside of a workspace', async () => {
  const kept: string[] = []
  const node = fakeNode({
    workspaceStatus: async () => ({
      run: one,
      workspace: 'ws_1',
      task: 'scan',
      title: 'Scan',
      agent: 'writer#1',
      state: 'active',
      epoch: 1,
      unread: 2,
      checkpoints: 1,
      may_change: ['report/**'],
    }),
    workspaceInbox: async () => [
      { id: 'm', from: 'owner', type: 'reply', priority: 'urgent', text: 'The upper\nfloor' },
    ],
    checkpoint: async intent => {
      kept.push(intent)
      return { checkpoint: 'cp_1', files: ['a'] }
    },
    block: async reason => void kept.push(reason),
  })
  expect((await parley(['ws', 'status'], { node })).out).toContain(
    'may change  report/**\nunread      2 (parley ws inbox)',
  )
  expect((await parley(['ws', 'inbox'], { node })).out).toBe(
    'from owner: reply (urgent)\n  The upper\n  floor\n',
  )
  expect((await parley(['ws', 'checkpoint', 'half done'], { node })).out).toBe('Kept cp_1: 1 file changed.\n')
  expect((await parley(['ws', 'block', 'Which floor?'], { node })).code).toBe(0)
  expect((await parley(['ws', 'block'], { node })).code).toBe(2)
  expect(kept).toEqual(['half done', 'Which floor?'])
})

test('agents shows what is there and what each needs', async () => {
  const needs = { hosts: ['api.example.org'], variables: ['EXAMPLE_KEY'], files: [], help: '' }
  const node = fakeNode({
    agents: async () => [
      {
        name: 'claude',
        source: 'preset',
        program: 'claude',
        found: true,
        version: '2.1.0',
        default: true,
        needs,
      },
    ],
  })
  expect((await parley(['agents'], { node })).out).toBe(
    'AGENT   SOURCE           FOUND  VERSION  NEEDS\nclaude  preset, default  yes    2.1.0    api.example.org; EXAMPLE_KEY\n',
  )
})

test('config shows each value and where it came from, and needs no node', async () => {
  const env = { HOME: folder, PARLEY_HOME: folder, PARLEY_TURNS: '3' }
  const people = await parley(['config', '--profile', 'work'], { env })
  expect(people.code).toBe(0)
  expect(people.out).toContain(`profile work in ${join(folder, 'work')}`)
  expect(people.out).toMatch(/turns +3 +environment PARLEY_TURNS/)
  const values = JSON.parse((await parley(['config', '--json'], { env })).out)
  expect(values).toMatchObject({
    profile: 'default',
    values: expect.arrayContaining([{ key: 'turns', value: 3, from: 'environment PARLEY_TURNS' }]),
  })
  const wrong = await parley(['config'], { env: { ...env, PARLEY_TURNS: 'many' } })
  expect(wrong.code).toBe(6)
  // It cannot show what it cannot read, so it does not send anybody to itself.
  expect(wrong.err).not.toContain('`parley config` shows')
  expect(wrong.err.match(/environment PARLEY_TURNS: /g)?.length).toBe(1)
  expect((await parley(['config', '--profile', '../x'], { env })).code).toBe(2)
})

/** More than any system gives to a process. */
const NOBODY = 2 ** 30

test('down says so where the process of the node does not end, asked now or before', async () => {
  const clock = new ManualClock()
  const status = { pid: process.pid, profile: 'default', runs: { working: 0, waiting: 0 } } as never
  const asked = [
    () => fakeNode({ status: async () => status, stop: async () => undefined }),
    () => {
      throw new ParleyError('node_not_running', 'none', { details: { pid: process.pid } })
    },
  ]
  for (const node of asked) {
    let over = false
    const down = parley(['down'], { node, clock }).finally(() => {
      over = true
    })
    while (!over) {
      clock.advance(1_000)
      await new Promise(setImmediate)
    }
    const ran = await down
    expect(ran).toMatchObject({ code: 4, out: '' })
    expect(ran.err).toContain(`process ${process.pid} has not ended`)
  }
})

test('down stops a node of any version, and does nothing where none runs', async () => {
  const stopped: string[] = []
  const status = { pid: NOBODY, profile: 'default', clients: 1, runs: { working: 1, waiting: 0 } } as never
  const choices: unknown[] = []
  const node = fakeNode({ status: async () => status, stop: async reason => void stopped.push(reason) })
  const ran = await parley(['down'], {
    node: choice => {
      choices.push(choice)
      return node
    },
  })
  expect(ran.out).toContain('1 run will go on with the next node.')
  expect(choices).toEqual([{ start: false, anyVersion: true }])
  expect(stopped.length).toBe(1)
  expect(ran.out).not.toContain('connected')
  const watched = { ...(status as object), clients: 2 } as never
  const warned = await parley(['down'], {
    node: () => fakeNode({ status: async () => watched, stop: async () => undefined }),
  })
  expect(warned.out).toContain('1 other command is connected: one that watches a run starts another node.')
  const none = await parley(['down'], {
    node: () => {
      throw new CallError('node_not_running', 'none')
    },
  })
  expect(none).toEqual({ code: 0, out: 'No node is running.\n', err: '' })
})

test('what a task is called cannot steer the terminal, in any view', async () => {
  const evil = 'x\u001b]0;owned\u0007\u001b[2J\u009b31m\r'
  const bad = runView({
    intent: evil,
    team: evil,
    project: evil,
    principal: evil,
    reason: evil,
    warnings: [evil],
    state: 'failed',
    tasks: [
      taskView(evil, {
        title: evil,
        agent: evil,
        state: 'failed',
        note: evil,
        refused: [evil],
        attempt: 1,
        started: at(1),
      }),
    ],
    gates: [{ ...gateView(one, 'plan'), question: evil }],
    result: { commit: 'c', base: 'b', branch: evil, folder: evil, files: [evil] },
  })
  const node = fakeNode({
    show: async () => bad,
    tasks: async () => bad.tasks,
    runs: async () => [bad],
    gates: async () => bad.gates,
    follow: following([bad]),
    solve: async () => ({ run: one, warnings: [evil] }),
    queryTrail: async () => ({
      run: one,
      entries: [
        { ...entryView(1), actor: evil, event_type: evil, body: { a: evil } } as unknown as EntryView,
      ],
      cursor: 1,
      more: false,
    }),
    workspaceInbox: async () => [{ id: 'm', from: evil, type: evil, priority: evil, text: evil }],
  })
  for (const args of [
    ['show'],
    ['tree'],
    ['tasks'],
    ['runs'],
    ['gates'],
    ['solve', 'x', '--agent', 'a'],
    ['trail', 'query'],
    ['ws', 'inbox'],
  ]) {
    const { out, err } = await parley(args, { node })
    expect((out + err).replaceAll('\n', ''), args.join(' ')).not.toMatch(/\p{Control}/u)
  }
})

test('with --json every command prints JSON only', async () => {
  const node = fakeNode({
    show: async () => view,
    tasks: async () => tasks,
    runs: async () => [view],
    gates: async () => [],
    agents: async () => [],
  })
  for (const args of [['show'], ['tree'], ['tasks'], ['runs'], ['gates'], ['agents']]) {
    const { out, err } = await parley([...args, '--json'], { node })
    expect(err).toBe('')
    expect(() => JSON.parse(out)).not.toThrow()
    expect(out.indexOf('\n')).toBe(out.length - 1)
  }
})
