// `diff`, `apply`, `undo` against a node that answers from a list.
import { execFileSync } from 'node:child_process'
import { CallError } from '@parley/call'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import type { AppliedView, CleanedView, LogItem, WorkView } from '../../node/views.ts'
import { drawing } from '../../output.ts'
import type { Paint } from '../../render/paint.ts'
import { patchLines, workLines } from '../../render/work.ts'
import { fakeNode } from '../../testing/fake-node.ts'
import { parley } from '../../testing/parley.ts'
import { FakeTerminal } from '../../testing/terminal.ts'
import { gateView, NO_USAGE, runView, stepView, taskView } from '../../testing/views.ts'

const run = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const base = 'a'.repeat(40)
const commit = 'b'.repeat(40)
const patch = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\t\u001b[2Jx\n'
const judgement = stepView({ kind: 'review', agent: 'critic#1', outcome: 'accepted', text: 'Fine.\nReally.\nACCEPT' })

const work: WorkView = {
  run,
  task: 'docs',
  title: 'Write the docs',
  state: 'gated',
  workspace: 'ws_1',
  checkpoint: 'cp_1',
  final: true,
  base,
  commit,
  files: [
    { path: 'docs/a-long-folder-name/with-a-long-file-name.md', kind: 'added', added: 120, removed: 0 },
    { path: 'logo.png', kind: 'changed' },
    { path: 'new.md', kind: 'renamed', from: 'old.md', added: 1, removed: 2 },
  ],
  more_files: 4,
  added: 121,
  removed: 2,
  patch,
  parts: [
    {
      task: 'docs',
      title: 'Write the docs',
      agent: 'writer',
      state: 'gated',
      said: Array.from({ length: 9 }, (_, index) => `Line ${index + 1} of what was done.`).join('\n'),
      judgements: [
        stepView({ kind: 'check', agent: 'check:docs', command: 'npm test', outcome: 'accepted' }),
        judgement,
      ],
      usage: { ...NO_USAGE, turns: 3, usd: 0.12 },
    },
  ],
  usage: { ...NO_USAGE, turns: 3, usd: 0.12 },
}

test.each([44, 80, 120])('the work under judgement at %i columns', columns => {
  const terminal = new FakeTerminal({ columns })
  const lines = workLines(work, drawing({ terminal, clock: new ManualClock() }))
  expect(`${lines.join('\n')}\n`).toMatchSnapshot()
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
})

const merge = gateView(run, 'docs', { type: 'integration', question: 'May it be merged?', workspace: 'ws_1' })

test.each([44, 80, 120])('whoever lists what waits sees the work to be judged, at %i columns', async columns => {
  const files = Array.from({ length: 14 }, (_, index) => ({ path: `f${index}`, kind: 'added' as const, added: 1 }))
  const node = fakeNode({
    '/gates/list': { gates: [merge, gateView(run, 'plan')] },
    '/runs/show': runView({ run, gates: [merge] }),
    '/results/show': { ...work, files, more_files: 1 },
  })
  const printed = async (...args: string[]) => {
    const { out } = await parley(args, { node, terminal: new FakeTerminal({ columns }) })
    return out
  }
  const listed = await printed('gates')
  expect(listed.split('\n').filter(line => line.length > columns)).toEqual([])
  expect(listed).toMatchSnapshot()
  expect(await printed('inbox')).toBe(listed)
  expect(await printed('show')).toContain(listed.slice(listed.indexOf('  by writer'), listed.indexOf('gate_aaplan')))
  expect(node.asked('/results/show')).toEqual(Array(3).fill({ run, task: 'ws_1', patch: false }))
})

test('programs get the work with the gate; one whose work is gone is listed all the same', async () => {
  const listing = { '/gates/list': { gates: [merge] }, '/runs/show': runView({ run, gates: [merge] }) }
  for (const command of ['gates', 'inbox', 'show']) {
    const { out } = await parley([command, '--json'], { node: fakeNode({ ...listing, '/results/show': work }) })
    expect(JSON.stringify(JSON.parse(out))).toContain(JSON.stringify({ ...merge, work }))
  }
  const gone = fakeNode({ ...listing, '/results/show': new CallError('work_gone', 'It is gone.') })
  expect((await parley(['gates'], { node: gone })).out).toContain('parley diff run_aaaaaa docs shows it')
})

test('a patch on a terminal is coloured and cannot move the cursor; its lines stay whole', () => {
  const marked: Paint = (tone, text) => `<${tone}>${text}`
  expect(patchLines(patch, marked)).toEqual([
    '<strong>diff --git a/x b/x',
    '<strong>--- a/x',
    '<strong>+++ b/x',
    '<active>@@ -1 +1 @@',
    '<bad>-old',
    expect.stringMatching(/^<good>\+new {2}[ -~�]*x$/),
    '',
  ])
})

test('diff pages on a terminal with the pager of the user’s git, and prints the patch as it is elsewhere', async () => {
  const node = fakeNode({ '/results/show': work })
  const terminal = new FakeTerminal({ live: true })
  const env = { PATH: process.env.PATH, GIT_PAGER: 'less -S' }
  const seen = await parley(['diff', 'last', 'docs'], { node, terminal, env, cwd: '/' })
  expect(terminal.paged).toEqual(['less -S'])
  expect(seen.out).toContain('Write the docs\n')
  expect(seen.out).toContain('-old\n')
  expect(seen.out).not.toContain('\u001b')
  const plain = new FakeTerminal({ live: true })
  await parley(['diff'], { node, terminal: plain, env: { ...env, GIT_PAGER: 'cat' }, cwd: '/' })
  expect(plain.paged).toEqual([])
  const { out } = await parley(['diff'], { node })
  expect(out.endsWith(patch)).toBe(true)
  expect(JSON.parse((await parley(['diff', '--json'], { node })).out)).toEqual(work)
  const asked = node.asked('/results/show')
  expect(asked[0]).toEqual({ run: 'last', task: 'docs', patch: true })
  // What goes to a program is for `git apply`.
  expect(asked[2]).toEqual({ run: 'last', patch: true, binary: true })
  const { patch: _, ...unpatched } = work
  const stat = await parley(['diff', '--stat', '--full'], { node: fakeNode({ '/results/show': unpatched }) })
  expect(stat.out).not.toContain('@@')
  expect(stat.out).toContain('Line 9')
})

test('what diff prints can be applied by git, whatever the author said', async () => {
  const said = {
    ...work,
    parts: [{ ...work.parts[0]!, said: 'diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+y' }],
  }
  const good = {
    ...said,
    patch: 'diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n',
  }
  const { out } = await parley(['diff'], { node: fakeNode({ '/results/show': good }) })
  expect(execFileSync('git', ['apply', '--numstat'], { input: out, encoding: 'utf8' })).toBe('1\t0\tx\n')
})

const seen: AppliedView = {
  run,
  how: 'squash',
  folder: '/projects/house',
  branch: 'main',
  from: base,
  already: false,
  files: ['a', 'package.json'],
  notable: [],
}
const notable: AppliedView['notable'] = [{ kind: 'script', path: 'package.json', scripts: ['test'] }]

const applying = (view: AppliedView) =>
  fakeNode({ '/results/apply': async ({ check }) => (check || view.already ? view : { ...view, to: commit }) })

test('apply asks nobody where nothing runs by itself, and says how it is taken back', async () => {
  const node = applying(seen)
  const { code, out } = await parley(['apply'], { node, cwd: '/projects/house' })
  expect(code).toBe(0)
  expect(out).toBe(
    `Applied run_aaaaaa on main: 2 files, commit bbbbbbbbbb.\nlook    git show bbbbbbbbbb\nback    parley undo run_aaaaaa\n`,
  )
  expect(node.asked('/results/apply')).toEqual([
    { run: 'last', folder: '/projects/house', how: 'squash', check: true },
    { run, folder: '/projects/house', how: 'squash', accept: true },
  ])
  const linked = { kind: 'hook', path: 'h/pre-push', as: '.husky/pre-push' } as const
  const dry = applying({ ...seen, notable: [...notable, linked] })
  const shown = await parley(['apply', '--dry-run', '--patch'], { node: dry })
  expect(shown.out).toContain('Other programs run it: package scripts: package.json (test)\n')
  expect(shown.out).toContain('Other programs run it: git hook: h/pre-push (as .husky/pre-push)\n')
  expect(dry.asked('/results/apply')).toHaveLength(1)
  expect((await parley(['apply'], { node: applying({ ...seen, already: true }) })).out).toContain('already')
  expect((await parley(['apply', '--merge', '--patch'], { node })).code).toBe(2)
})

test('apply names what other programs run, and asks; without a terminal it needs --yes', async () => {
  const view = { ...seen, notable }
  const refused = await parley(['apply'], { node: applying(view) })
  expect(refused.code).toBe(5)
  expect(refused.err).toContain('package scripts: package.json (test)')
  expect(refused.err).toContain('--yes')
  const no = applying(view)
  const terminal = new FakeTerminal({ interactive: true, keys: ['n'] })
  const turned = await parley(['apply'], { node: no, terminal })
  expect([turned.code, no.asked('/results/apply').length]).toEqual([5, 1])
  expect(turned.out).toContain('package scripts: package.json (test)')
  for (const around of [{ args: ['--yes'] }, { terminal: new FakeTerminal({ interactive: true, keys: ['y'] }) }]) {
    const yes = applying(view)
    const done = await parley(['apply', ...('args' in around ? around.args : [])], { node: yes, ...around })
    expect([done.code, yes.asked('/results/apply')[1]?.accept]).toEqual([0, true])
  }
})

test('apply says which tasks a result has work of and which not, and asks; without a terminal it needs --yes', async () => {
  const lacks = [
    { task: 'lint', state: 'failed' as const },
    { task: 'docs', state: 'cancelled' as const },
  ]
  const view = { ...seen, partial: { state: 'aborted' as const, has: ['scan', 'tidy'], lacks } }
  const line =
    'The run run_aaaaaa was aborted: its result has the work of scan, tidy, and not that of lint (failed), docs (cancelled).\n'
  const refused = await parley(['apply'], { node: applying(view) })
  expect([refused.code, refused.err.includes(line), refused.err.includes('--yes')]).toEqual([5, true, true])
  expect((await parley(['apply', '--dry-run'], { node: applying(view) })).out).toContain(line)
  for (const [key, code, calls] of [
    ['n', 5, 1],
    ['y', 0, 2],
  ] as const) {
    const node = applying(view)
    const terminal = new FakeTerminal({ interactive: true, keys: [key], columns: 200 })
    const asked = await parley(['apply'], { node, terminal })
    expect([asked.code, asked.out.includes(line), node.asked('/results/apply').length]).toEqual([code, true, calls])
  }
  const yes = applying({ ...view, partial: { state: 'failed', has: [], lacks: [] } })
  expect((await parley(['apply', '--yes'], { node: yes })).code).toBe(0)
  expect(yes.asked('/results/apply')[1]?.accept).toBe(true)
})

test('undo by a new commit names what other programs run, and asks like apply', async () => {
  const view = { run, how: 'commit', folder: '/p', branch: 'main', from: base, to: commit, already: false } as const
  const undoing = () => fakeNode({ '/results/undo': { ...view, files: ['package.json'], notable } })
  const refused = await parley(['undo'], { node: undoing() })
  expect([refused.code, refused.err.includes('package scripts: package.json (test)')]).toEqual([5, true])
  const node = undoing()
  expect((await parley(['undo', '--yes'], { node, cwd: '/p' })).code).toBe(0)
  expect(node.asked('/results/undo')).toEqual([
    { folder: '/p', check: true },
    { run, folder: '/p', accept: true },
  ])
})

test('undo of lines that were changed since points to git revert, not to a merge of the run', async () => {
  const details = { files: ['a'], commit }
  const node = fakeNode({ '/results/undo': new CallError('merge_conflict', 'a was changed since.', { details }) })
  const { code, err } = await parley(['undo'], { node })
  expect(code).toBe(5)
  expect(err).toContain('next: `git revert bbbbbbbbbb` lets you settle it by hand;')
  expect(err).not.toContain('git merge')
})

test.each([
  ['dirty_overlap', 'git stash --include-untracked'],
  ['ignored_overlap', 'git stash push --all -- FILE'],
  ['hidden_overlap', 'git update-index --no-skip-worktree FILE'],
])('files in the way are listed with what to do: %s', async (error, advice) => {
  const node = fakeNode({
    '/results/apply': new CallError(error, 'a in /p has changes.', { details: { files: ['a'] } }),
  })
  const { code, err } = await parley(['apply'], { node })
  expect(code).toBe(5)
  expect(err).toContain('  a\n')
  expect(err).toContain(advice)
})

test.each([
  ['back', 'Took back run_aaaaaa: main is at bbbbbbbbbb again, 1 file.'],
  ['commit', 'Took back run_aaaaaa by a new commit on main, bbbbbbbbbb: 1 file.'],
  ['files', 'Unstaged the changes of run_aaaaaa: 1 file.'],
] as const)('undo says what it did: %s', async (how, line) => {
  const view = {
    run,
    how,
    folder: '/p',
    branch: 'main',
    from: base,
    to: commit,
    already: false,
    files: ['a'],
    notable: [],
  }
  const { out } = await parley(['undo'], { node: fakeNode({ '/results/undo': view }), cwd: '/p' })
  expect(out).toBe(`${line}\n`)
  const again = await parley(['undo'], { node: fakeNode({ '/results/undo': { ...view, already: true } }) })
  expect(again.out).toContain('taken back already')
})

const done = stepView({ text: 'All green.', usage: { ...NO_USAGE, turns: 1, usd: 0.02 } })

test('log shows the steps of one task, and with -f what its agent does, in whole lines', async () => {
  const shown = runView({ run, tasks: [taskView('docs', { steps: [done] }), taskView('other')] })
  const at = { task: 'docs', workspace: 'ws_1' }
  const items: readonly LogItem[] = [
    { type: 'tool', ...at, name: 'Bash', state: 'started', summary: 'npm test' },
    { type: 'text', ...at, text: 'One li', part: true },
    { type: 'text', ...at, text: 'ne.\nAnd', part: true },
    { type: 'text', ...at, text: ' more.' },
    { type: 'step', task: 'docs', step: done },
  ]
  const node = fakeNode({ '/runs/show': shown, '/tasks/follow': items })
  const { out } = await parley(['log', 'docs'], { node })
  expect(out).toBe('+1.0s work 1 by writer#1 complete 12s · $0.02\n  All green.\n')
  expect((await parley(['log', 'docs', '-f'], { node })).out).toBe(
    `  › Bash npm test\n  One line.\n  And more.\n${out}`,
  )
  expect(node.asked('/tasks/follow')).toEqual([{ run, task: 'docs' }])
  const { ended: _, ...atWork } = done
  const working = runView({ run, tasks: [taskView('docs', { steps: [atWork] })] })
  const now = fakeNode({ '/runs/show': working, '/tasks/follow': items })
  expect((await parley(['log', 'docs'], { node: now })).out).toContain('Bash npm test')
  expect(now.asked('/tasks/follow')).toEqual([{ run, task: 'docs', now: true }])
  const json = await parley(['log', 'docs', '-f', '--json'], { node })
  expect(
    json.out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as unknown),
  ).toEqual(items)
  const missing = await parley(['log', 'x'], { node })
  expect([missing.code, missing.err.includes('docs, other')]).toEqual([3, true])
  const several = await parley(['log'], { node })
  expect([several.code, several.err.includes('docs, other')]).toEqual([2, true])
  const only = runView({ run, tasks: [taskView('solve', { title: 'Write the docs', steps: [done] })] })
  for (const named of [[], ['Write the docs'], ['solve']])
    expect((await parley(['log', ...named], { node: fakeNode({ '/runs/show': only }) })).out).toBe(out)
})

test('clean says what goes, what stays and why', async () => {
  const runs: CleanedView[] = [
    {
      run,
      intent: 'x',
      refs: [
        { ref: 'refs/heads/parley/tidy', commit },
        { ref: 'refs/heads/parley/own', commit, stays: 'moved' },
        { ref: `refs/parley/${run}/kept/ws_1`, commit, stays: 'unreached' },
      ],
      folder: false,
    },
  ]
  const node = fakeNode({ '/results/clean': async ({ check }) => ({ runs: check ? runs : [] }) })
  const { out } = await parley(['clean', '--dry-run', '--older-than', '7d'], { node })
  expect(out.split('\n')).toEqual([
    'run_aaaaaa  branch parley/tidy would be removed',
    '  stays   branch parley/own, commit bbbbbbbbbb: somebody has worked on it',
    '  stays   kept work, commit bbbbbbbbbb: nothing else has its commits',
    '',
  ])
  expect(node.asked('/results/clean')).toEqual([
    { folder: '/nowhere', older_than: 7 * 24 * 60 * 60_000, force: false, check: true },
  ])
  expect((await parley(['clean', '--all'], { node })).out).toContain('ended less than 14d ago are kept')
  expect(node.asked('/results/clean')[1]?.folder).toBeUndefined()
  expect((await parley(['clean', '--older-than', 'soon'], { node })).code).toBe(2)
})

test('clean --force names what exists nowhere else, and asks; without a terminal it needs --yes', async () => {
  const lost: CleanedView = {
    run,
    intent: 'Tidy',
    refs: [{ ref: 'refs/heads/parley/tidy', commit, stays: 'unreached' }],
    folder: false,
    result: '/results/of',
  }
  const forced = async (flags: readonly string[], terminal = new FakeTerminal()) => {
    const node = fakeNode({ '/results/clean': { runs: [lost] } })
    const ran = await parley(['clean', '--force', ...flags], { node, terminal })
    return { ...ran, did: node.asked('/results/clean').filter(({ check }) => !check).length }
  }
  const refused = await forced([])
  expect(refused).toMatchObject({ code: 5, did: 0 })
  expect(refused.err).toContain('2 pieces of work would be lost')
  const at = (key: string) => new FakeTerminal({ interactive: true, keys: [key] })
  const kept = await forced([], at('n'))
  expect(kept.did).toBe(0)
  expect(kept.out).toContain('run_aaaaaa  branch parley/tidy, commit bbbbbbbbbb, of "Tidy"\n')
  expect(kept.out).toContain('run_aaaaaa  /results/of: the only copy of its result, of "Tidy"\n')
  expect((await forced([], at('y'))).did).toBe(1)
  expect((await forced(['--yes'])).did).toBe(1)
})
