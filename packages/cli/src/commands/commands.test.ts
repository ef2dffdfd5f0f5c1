import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { ManualClock, ParleyError, parseTimestamp } from '@parley/core'
import { expect, test } from 'vitest'
import type { EntryView, RunSummaryView, RunView } from '../node/views.ts'
import type { Paint } from '../render/paint.ts'
import { runsTable } from '../render/runs.ts'
import { fakeNode, following } from '../testing/fake-node.ts'
import { tempFolder } from '../testing/folder.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { at, entryView, gateView, NO_USAGE, runView, stepView, taskView } from '../testing/views.ts'

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
  const node = fakeNode({
    // A heading of a part says nothing of what is wanted.
    '/runs/list': { runs: [{ ...view, intent: '## Do this\n\nTidy the house\n' }] },
  })
  const people = await parley(['runs'], { node })
  expect(people).toEqual({
    code: 0,
    err: '',
    out: 'RUN         STATE  INTENT          TASKS   STARTED  TOOK  SPENT\nrun_aaaaaa  done   Tidy the house    2/2  just now   42s  $0.02\n',
  })
  const program = await parley(['runs', '--json', '--state', 'done', '--limit', '5'], { node })
  expect(JSON.parse(program.out)).toMatchObject({ runs: [{ run: view.run }] })
  expect(node.asked('/runs/list')).toEqual([{ limit: 21 }, { limit: 6, states: ['done'] }])
  expect((await parley(['runs'], { node: fakeNode({ '/runs/list': { runs: [] } }) })).out).toContain('parley solve')
})

test('runs: one that waits for a person says so, and for what', async () => {
  const waits = { things: 2, question: 'Which floor?', alone: true }
  const list = [
    runView({ waits }),
    runView({ run: `${one.slice(0, -1)}b`, waits: { ...waits, things: 1, alone: false } }),
  ]
  const { out } = await parley(['runs'], { node: fakeNode({ '/runs/list': { runs: list } }) })
  const [, first, asked, second, also] = out.split('\n')
  expect(first).toMatch(/^run_aaaaaa +waiting for you +Tidy the house/)
  expect(asked).toBe('  Which floor? (and 1 more)')
  expect(second).toMatch(/^run_aaaaab +working /)
  expect(also).toBe('  waiting for you: Which floor?')
})

test('parley alone: what waits, what is at work, what to do next; and right without a node, a team file, a repository', async () => {
  const away = () => {
    throw new ParleyError('node_not_running', 'No node is running.')
  }
  const PARLEY_HOME = tempFolder()
  const nothing = await parley([], { node: away, env: { PARLEY_HOME } })
  expect(nothing).toMatchObject({ code: 0, err: '' })
  expect(nothing.out).toBe(`Nothing is at work: no node is running.

Next
  parley init
      prepares this folder, which is no git repository
  parley help
      every command
`)
  mkdirSync(join(PARLEY_HOME, 'default', 'runs', one), { recursive: true })
  writeFileSync(join(PARLEY_HOME, 'default', 'runs', one, 'open'), '')
  const interrupted = await parley([], { node: away, env: { PARLEY_HOME } })
  expect(interrupted.out).toContain('No node is running. 1 run will continue with the next one: run_aaaaaa.\n')
  expect(interrupted.out).toContain('  parley show run_aaaaaa --follow\n      starts the node')
  const broken = await parley([], {
    node: () => {
      throw new ParleyError('node_unreachable', 'It hangs.')
    },
  })
  expect(broken.out).toContain('The node cannot be reached: It hangs.\n\nNext\n  parley doctor\n')
  const busy = fakeNode({
    '/gates/list': { gates: [gateView(one, 'plan', { deadline: at(90), fallback: 'approve' })] },
    '/runs/list': { runs: [runView({ waits: { things: 1, question: 'plan?', alone: true } })] },
  })
  const terminal = new FakeTerminal({ columns: 44 })
  expect((await parley([], { node: busy, terminal })).out).toBe(`Waiting for you
  plan?
    gate_aaplan · starts by itself in 1 min…

At work
RUN         STATE    INTENT          STARTED
run_aaaaaa  working  Tidy the hou…  just now

Next
  parley inbox
      answer what waits
  parley show run_aaaaaa --follow
      watch the newest run
  parley init
      prepares this folder, which is no git…
  parley help
      every command
`)
  expect(JSON.parse((await parley(['--json'], { node: busy })).out)).toMatchObject({ node: 'running', at_work: [{}] })
  expect((await parley([], { env: { PARLEY_TOKEN_FILE: '/token' } })).out).toContain('parley ws status')
})

test('parley alone: a plan that nobody has approved is one line of what waits, and not at work', async () => {
  const other = 'run_01m8bbbbbbbbbbbbbbbbbbbbbb'
  const gates = ['a', 'b', 'c'].map(task => gateView(view.run, task, { intent: 'Tidy the house' }))
  const waits = { things: 3, question: 'a?', alone: true }
  const summary = { ...view, state: 'waiting', waits } as unknown as RunSummaryView
  const node = fakeNode({
    '/gates/list': { gates: [...gates, gateView(other, 'a', { intent: 'Tidy the house' })] },
    '/runs/list': { runs: [summary, { ...summary, run: other }] },
  })
  const { out } = await parley([], { node, cwd: tempFolder() })
  expect(out).toContain(
    'Waiting for you\n  May these 3 tasks start? Tidy the house\n    run_aaaaaa\n  a?\n    gate_bbbbbba · run_bbbbbb\n'.replace(
      'gate_bbbbbba',
      out.match(/gate_\w+/)![0],
    ),
  )
  expect(out).not.toContain('At work')
  expect(out).toContain('parley inbox')
})

test('show -f follows as log -f does', async () => {
  const node = fakeNode({ '/runs/show': view, '/runs/follow': following([view]) })
  expect((await parley(['show', '-f'], { node })).code).toBe(0)
  expect(node.asked('/runs/follow')).toEqual([{ run: view.run }])
})

test('show and log have what people said: why work was sent back, and replies to questions', async () => {
  const people = [
    { by: 'mira', did: 'replied', question: 'Which colour?', text: 'Blue.' },
    { by: 'mira', did: 'sent_back', text: 'Keep the old name.' },
  ] as const
  const steps = [stepView({ outcome: 'revise', text: 'Done so far.', people: [...people] })]
  const told = runView({ tasks: [taskView('scan', { state: 'done', attempt: 2, steps })] })
  const node = fakeNode({ '/runs/show': told })
  for (const command of ['show', 'log']) {
    const { out } = await parley([command], { node })
    expect(out).toContain(' mira replied to "Which colour?": Blue.\n')
    expect(out).toContain(' mira sent it back: Keep the old name.\n')
  }
})

test('ids in messages are as short as in lists, but for what was typed', async () => {
  const run = view.run
  const node = fakeNode({ '/runs/show': new CallError('not_found', `There is no ${run}, and '${run}' was typed.`) })
  expect((await parley(['show', 'x'], { node })).err).toContain(`There is no run_aaaaaa, and '${run}' was typed.`)
  const json = await parley(['show', 'x', '--json'], { node })
  expect(json.err).toContain(`There is no ${run},`)
  const details = { gates: ['gate_01m7aaaaaaaaaaaaaaaaaaaaab'], questions: [`May it start? (${run}: Tidy)`] }
  const several = fakeNode({ '/gates/find': new CallError('ambiguous', 'Two things wait.', { details }) })
  expect((await parley(['approve'], { node: several })).err).toContain(
    '  gate_aaaaab  May it start? (run_aaaaaa: Tidy)\n',
  )
})

test('show and runs tell work from waiting, up to now', async () => {
  const times = { working: 190_000, person: 80_000, slot: 30_000, other: 0, doing: 'person', since: at(0) } as const
  const view = runView({ times })
  const clock = new ManualClock(parseTimestamp(at(10))!)
  const node = fakeNode({ '/runs/show': view, '/runs/list': { runs: [view] } })
  const shown = (await parley(['show'], { node, clock })).out
  expect(shown).toContain('time     3m10s at work, 1m30s waiting for you, 30s waiting for a free slot\n')
  expect((await parley(['runs'], { node, clock })).out).toMatch(/WAITED\n.* 1m30s\n/)
  const over = fakeNode({ '/runs/show': { ...view, ended: at(1) } })
  expect((await parley(['show'], { node: over, clock })).out).toContain('1m20s waiting for you')
})

test('runs: a damaged one is among them, and what is damaged is told by verify', async () => {
  const { tasks: _, gates: _g, warnings: _w, cursor: _c, ...known } = runView()
  const damaged: RunSummaryView = {
    ...known,
    run: 'run_01m7bbbbbbbbbbbbbbbbbbbbbb',
    intent: '',
    state: 'damaged',
  }
  const list = [view, damaged]
  const node = fakeNode({
    '/runs/list': { runs: list },
  })
  const { out, err, code } = await parley(['runs'], { node })
  expect(code).toBe(0)
  expect(out.split('\n').map(line => line.trimEnd())).toEqual([
    'RUN         STATE    INTENT          TASKS   STARTED  TOOK  SPENT',
    'run_aaaaaa  done     Tidy the house    2/2  just now   42s  $0.02',
    'run_bbbbbb  damaged                         just now',
    '',
  ])
  expect(err).toContain('`parley trail verify run_bbbbbb` shows the damage')
  const paint: Paint = (tone, text) => `<${tone}>${text}`
  expect(runsTable(list, { width: 80, now: parseTimestamp(at(42))!, paint }).join('\n')).toContain('<bad>damaged')
  const program = await parley(['runs', '--json', '--state', 'damaged'], { node })
  expect(program.err).toBe('')
  expect(JSON.parse(program.out)).toMatchObject({ runs: [{}, { state: 'damaged' }] })
  expect(node.asked('/runs/list').at(-1)).toMatchObject({ states: ['damaged'] })
  list.push({ ...damaged, run: 'run_01m7cccccccccccccccccccccc' })
  expect((await parley(['runs'], { node })).err).toContain('2 runs are damaged: `parley trail verify RUN`')
  list.length = 0
  expect((await parley(['runs', '--state', 'damaged'], { node })).out).toContain('No such runs')
})

test('show last of a damaged run is refused with its name and what to do', async () => {
  const message = `Entry 5 of run ${one} does not match its hash (segment 1, byte 9); verify the run.`
  const node = fakeNode({
    '/runs/show': new ParleyError('trail_damaged', message),
  })
  const { code, err, out } = await parley(['show', 'last'], { node })
  expect([code, out]).toEqual([5, ''])
  expect(err).toContain('run run_aaaaaa does not match')
  expect(err).toContain('parley trail verify')
})

test('show: facts, tree, every step with outcome, time, spend and what was said, result, warnings', async () => {
  const node = fakeNode({ '/runs/show': view })
  const { out } = await parley(['show'], { node })
  expect(out).toBe(`Tidy the house
run      run_01m7aaaaaaaaaaaaaaaaaaaaaa
team     house for owner
project  /projects/house
started  2026-01-01 00:00:00 UTC, took 42s
usage    3 turns, 38s of agents' time, 3.9 KiB of output
spent    1.2k tokens in, 300 out · $0.02

└─ ✓ Scan the house  writer            12s  $0.02
   └─ ✓ Clean it     cleaner  try 2/2  26s
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
Full text: parley show run_aaaaaa --full

Result
files   2 changed
  a
  b
result  folder /projects/result
look    parley diff run_aaaaaa
take    parley apply run_aaaaaa

Warnings
warning: 3 uncommitted changes are not part of it.

Its record: parley trail query run_aaaaaa, parley trail verify run_aaaaaa
`)
  expect(JSON.parse((await parley(['show', '--json'], { node })).out)).toEqual(view)
})

test('show says how long the setup of each folder took', async () => {
  const [first, ...others] = view.tasks
  const setup = { command: ['npm', 'ci', '\u001b[2J'], wall_ms: 75_000 }
  const set = { ...view, tasks: [{ ...first!, steps: first!.steps.map(step => ({ ...step, setup })) }, ...others] }
  const { out } = await parley(['show'], { node: fakeNode({ '/runs/show': set }) })
  expect(out).toMatch(/\n {4}setup took 1m15s: npm ci *\n {4}Two rooms are dusty\./)
})

test('show --full has all that was said and the beginning of what each turn was told; as JSON, all of that too', async () => {
  const { workspace } = view.tasks[0]!.steps[0]!
  const text = Array.from({ length: 30 }, (_, index) => `Step ${index}\u001b[2J`).join('\n')
  const prompt = { task: 'scan', workspace, agent: 'writer#1', turn: 1, text }
  const shown = async (prompts: readonly (typeof prompt)[], left_out = 0, ...args: string[]) => {
    const node = fakeNode({ '/runs/show': view, '/runs/prompts': { prompts: [...prompts], left_out } })
    const { out } = await parley(['show', '--full', ...args], { node })
    expect(node.asked('/runs/prompts')).toEqual([{ run: view.run }])
    return out
  }
  const out = await shown([prompt], 2)
  expect(out).toContain('    turn 1: writer#1 was told\n        Step 0')
  expect(out).toMatch(/ {8}Step 11.*\n {8}… 18 more lines\n {4}Two rooms are dusty\.\n/)
  expect(out).toContain('    Room 9 is clean.\n')
  expect(out).not.toContain('\u001b')
  expect(out).toContain(
    'Whole prompts: parley show run_aaaaaa --full --json. The oldest 2 prompts could not be shown.\n',
  )
  expect(await shown([{ ...prompt, text: 'Scan.' }])).not.toContain('--full')
  expect(JSON.parse(await shown([prompt], 0, '--json'))).toEqual({ ...view, prompts: [prompt], left_out: 0 })
})

test('a run is last unless it is named', async () => {
  const node = fakeNode({ '/runs/show': view, '/tasks/list': { tasks } })
  await parley(['show'], { node })
  await parley(['tree', 'run_01'], { node })
  await parley(['tasks'], { node })
  expect(node.asked('/runs/show')).toEqual([{ run: 'last' }, { run: 'run_01' }])
  expect(node.asked('/tasks/list')).toEqual([{ run: 'last' }])
})

test('tree and tasks', async () => {
  const node = fakeNode({ '/runs/show': view, '/tasks/list': { tasks } })
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
  const { out } = await parley(['tasks'], { node: fakeNode({ '/tasks/list': { tasks } }) })
  const notes = out.split('\n').filter(line => line.startsWith('  '))
  expect(notes).toEqual([
    '  links that lead out of the project, reverted: out',
    '  pipes, sockets or devices, left out: pipe',
    '  links that lead out of the project: hosts, evil',
    '  its links may lead out of the project',
  ])
})

test('tasks tells why, in full: on a narrow terminal it goes on in the next line', async () => {
  const note =
    'The agent writer ended with exit code 3, since the broom of the attic was nowhere to be found: buy a broom'
  const failed = [taskView('scan', { state: 'failed', note, attempt: 2, refused: ['x', 'x'] })]
  const { out } = await parley(['tasks'], {
    node: fakeNode({ '/tasks/list': { tasks: failed } }),
    terminal: new FakeTerminal({ columns: 40 }),
  })
  expect(out.replaceAll(/\s+/g, ' ')).toContain(note)
  expect(out).toContain('  not allowed, reverted: x\n')
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(40)
})

test('runs says that there are more', async () => {
  const many = Array.from({ length: 30 }, () => view)
  const node = fakeNode({ '/runs/list': async ({ limit }) => ({ runs: many.slice(0, limit) }) })
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
    '/runs/show': new CallError('ambiguous', '2 runs begin with run_.', { details: { runs: [one, 'run_2'] } }),
  })
  const ran = await parley(['show', 'run_'], { node })
  expect(ran.code).toBe(3)
  expect(ran.err).toContain('\n  run_aaaaaa\n  run_2\n  next: ')
})

test('what is not found ends with 3, an unreachable node with 4', async () => {
  const gone = fakeNode({
    '/runs/show': new CallError('not_found', "There is no run 'x'."),
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

test('the inside of a workspace', async () => {
  const node = fakeNode({
    '/workspaces/status': {
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
      verbs: ['status', 'inbox'],
    },
    '/workspaces/inbox': {
      mail: [{ id: 'm', from: 'owner', type: 'reply', priority: 'urgent', text: 'The upper\nfloor' }],
    },
    '/workspaces/checkpoint': { checkpoint: 'cp_1', files: ['a'] },
    '/workspaces/block': {},
    '/workspaces/ask': { answered: false, mail: [] },
    '/workspaces/verdict': { verdict: 'revise' },
  })
  expect((await parley(['ws', 'status'], { node })).out).toContain(
    'may change  report/**\nmay call    status, inbox\nunread      2 (parley ws inbox)',
  )
  expect((await parley(['ws', 'inbox'], { node })).out).toBe('from owner: reply (urgent)\n  The upper\n  floor\n')
  expect((await parley(['ws', 'checkpoint', 'half done'], { node })).out).toBe(
    'Saved checkpoint cp_1: 1 file changed.\n',
  )
  expect((await parley(['ws', 'block', 'Which floor?'], { node })).code).toBe(0)
  expect((await parley(['ws', 'block'], { node })).code).toBe(2)
  expect(node.asked('/workspaces/checkpoint')).toEqual([{ intent: 'half done' }])
  expect(node.asked('/workspaces/block')).toEqual([{ reason: 'Which floor?' }])
  expect((await parley(['ws', 'ask', 'Which floor?', '--wait', '9'], { node })).out).toContain(
    'or call parley ws block',
  )
  expect(node.asked('/workspaces/ask')).toEqual([{ question: 'Which floor?', wait_s: 9 }])
  expect((await parley(['ws', 'verdict', 'revise', 'No rhyme', 'No end'], { node })).code).toBe(0)
  expect(node.asked('/workspaces/verdict')).toEqual([{ verdict: 'revise', findings: ['No rhyme', 'No end'] }])
  expect((await parley(['ws', 'verdict', 'maybe'], { node })).code).toBe(2)
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
    '/runs/show': bad,
    '/tasks/list': { tasks: bad.tasks },
    '/runs/list': { runs: [bad] },
    '/gates/list': { gates: bad.gates },
    '/runs/follow': following([bad]),
    '/solve/start': { run: one, warnings: [evil] },
    '/trail/query': {
      run: one,
      entries: [{ ...entryView(1), actor: evil, event_type: evil, body: { a: evil } } as unknown as EntryView],
      cursor: 1,
      more: false,
    },
    '/workspaces/inbox': { mail: [{ id: 'm', from: evil, type: evil, priority: evil, text: evil }] },
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
    '/runs/show': view,
    '/tasks/list': { tasks },
    '/runs/list': { runs: [view] },
    '/gates/list': { gates: [] },
    '/agents/list': { agents: [] },
  })
  for (const args of [['show'], ['tree'], ['tasks'], ['runs'], ['gates'], ['agents']]) {
    const { out, err } = await parley([...args, '--json'], { node })
    expect(err).toBe('')
    expect(() => JSON.parse(out)).not.toThrow()
    expect(out.indexOf('\n')).toBe(out.length - 1)
  }
})
