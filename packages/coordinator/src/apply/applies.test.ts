// Results in the user's own checkout, on real repositories: what is written, what is refused, what is taken back.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, planned, put, refusal, type Scripts, solo, writes } from '../testing/fixture.ts'

const TEAM = planned('{ id: a, title: The first, agent: one, prompt: x }')

async function solved(
  scripts: Scripts = { one: writes('made', 'one') },
  prepare: (fixture: Fixture) => void = () => {},
) {
  const fixture = await Fixture.open(scripts)
  fixture.git('config', 'user.name', 'Mira')
  fixture.git('config', 'user.email', 'mira@example.org')
  prepare(fixture)
  const view = await fixture.finished(TEAM, { intent: 'Make it.\nAnd more.' })
  const run = view.run as RunId
  const by = { principal: alice, folder: fixture.project }
  return {
    fixture,
    run,
    view,
    apply: (more: object = {}) => fixture.coordinator.applies.apply(run, { ...by, ...more }),
    undo: (more: object = {}) => fixture.coordinator.applies.undo(run, { ...by, ...more }),
    head: () => fixture.git('rev-parse', 'HEAD').trim(),
    status: () => fixture.git('status', '--porcelain'),
    read: (path: string) => readFileSync(join(fixture.project, path), 'utf8'),
    acts: async () =>
      (await fixture.coordinator.applies.list(run)).map(each => [each.how, each.by, each.undone !== undefined]),
  }
}

test('a result becomes one commit in the name of the user, once, and is on record', async () => {
  const { fixture, run, apply, head, status, read, acts } = await solved()
  const before = head()
  // A hook of the user's would stop it, or run what agents wrote.
  for (const hook of ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction'])
    writeFileSync(join(fixture.project, '.git/hooks', hook), '#!/bin/sh\ntouch ../hooked\nexit 1\n', { mode: 0o755 })
  const done = unwrap(await apply())
  // The user's own git runs them again.
  expect(existsSync(join(fixture.folder, 'hooked'))).toBe(false)
  rmSync(join(fixture.project, '.git/hooks'), { recursive: true })
  expect(done).toMatchObject({
    run,
    how: 'squash',
    branch: 'main',
    from: before,
    already: false,
    files: ['made'],
    notable: [],
  })
  expect(head()).toBe(done.to)
  expect(fixture.git('log', '-1', '--format=%P|%an <%ae>|%B').trim()).toBe(
    `${before}|Mira <mira@example.org>|Make it.\n\n- The first (one)\n\nParley-Run: ${run}`,
  )
  expect([read('made'), status()]).toEqual(['one\n', ''])
  for (const _ of [1, 2]) {
    expect(unwrap(await apply())).toMatchObject({ already: true, to: done.to })
    await fixture.restart()
  }
  expect(await acts()).toEqual([['squash', 'alice', false]])
  expect(fixture.git('log', '-1', '--format=%gs', '-g', 'main').trim()).toBe(`parley apply: ${run}`)
})

test('undo moves the branch back while nobody has built on it, once', async () => {
  const { fixture, apply, undo, head, status, acts } = await solved()
  const before = head()
  expect(await undo()).toMatchObject(refusal('not_applied'))
  const { to } = unwrap(await apply())
  await fixture.restart()
  expect(unwrap(await undo())).toMatchObject({ how: 'back', from: to, to: before, already: false, files: ['made'] })
  expect([head(), status(), fixture.has('made')]).toEqual([before, '', false])
  expect(unwrap(await undo())).toMatchObject({ how: 'back', already: true })
  expect(await acts()).toEqual([['squash', 'alice', true]])
  unwrap(await apply())
  expect(fixture.has('made')).toBe(true)
})

test('what nothing else has is taken back only by who agrees to lose it', async () => {
  const { fixture, view, apply, undo } = await solved()
  unwrap(await apply())
  expect(unwrap(await undo({ check: true }))).not.toHaveProperty('lost')
  fixture.git('branch', '--delete', '--force', view.result!.branch!)
  expect(unwrap(await undo({ check: true }))).toMatchObject({ how: 'back', lost: true })
  expect(await undo()).toMatchObject(refusal('unconfirmed'))
  expect(fixture.has('made')).toBe(true)
  unwrap(await undo({ accept: true }))
  expect(fixture.has('made')).toBe(false)
})

test.each(['built on', 'pushed', 'amended', 'reworded'])('undo is a new commit once the branch was %s', async how => {
  const { fixture, run, apply, undo, head, status, read } = await solved()
  const { to } = unwrap(await apply())
  fixture.write('later', 'x\n')
  if (how === 'built on') fixture.commit('later')
  else if (how === 'pushed') fixture.git('update-ref', 'refs/remotes/origin/main', to!)
  else {
    if (how === 'amended') fixture.git('add', 'later')
    fixture.git('commit', '--quiet', '--amend', ...(how === 'amended' ? ['--no-edit'] : ['-m', 'Another text']))
    expect(unwrap(await apply())).toMatchObject({ already: true })
  }
  const before = head()
  const undone = unwrap(await undo())
  expect(undone).toMatchObject({ how: 'commit', from: before, files: ['made'] })
  expect(fixture.git('log', '-1', '--format=%P|%an|%s').trim()).toBe(`${before}|Mira|Take back: Make it.`)
  expect(fixture.git('log', '-1', '--format=%B')).toContain(`Parley-Run: ${run}`)
  const untracked = how === 'pushed' || how === 'reworded'
  expect([fixture.has('made'), status()]).toEqual([false, untracked ? '?? later\n' : ''])
  expect(read('later')).toBe('x\n')
  expect(unwrap(await undo())).toMatchObject({ already: true })
  // Taking it over again is possible afterwards.
  unwrap(await apply())
  expect(read('made')).toBe('one\n')
})

test('what is taken back on one branch stands on another, and is taken back there too', async () => {
  const { fixture, apply, undo, head } = await solved()
  const { from, to } = unwrap(await apply())
  fixture.git('switch', '--quiet', '-c', 'feature')
  expect(unwrap(await undo())).toMatchObject({ how: 'commit', branch: 'feature', already: false })
  expect(unwrap(await undo())).toMatchObject({ already: true })
  fixture.git('switch', '--quiet', 'main')
  expect([head(), fixture.has('made')]).toEqual([to, true])
  const last = { principal: alice, folder: fixture.project }
  expect(unwrap(await fixture.coordinator.applies.undo(undefined, last))).toMatchObject({ how: 'back', branch: 'main' })
  expect([head(), fixture.has('made')]).toEqual([from, false])
  fixture.git('switch', '--quiet', '-c', 'bare')
  expect(unwrap(await undo())).toMatchObject({ already: true })
})

test.each(['undo of a merge', 'git revert', 'git revert of a merge'])(
  'after %s a result is applied again',
  async how => {
    const { fixture, view, apply, undo, read, head } = await solved()
    if (how === 'undo of a merge') {
      unwrap(await apply({ how: 'merge' }))
      fixture.git('commit', '--quiet', '--allow-empty', '-m', 'later')
      expect(unwrap(await undo())).toMatchObject({ how: 'commit', already: false })
    } else {
      if (how === 'git revert') unwrap(await apply())
      else fixture.git('merge', '--quiet', '--no-ff', '--no-edit', view.result!.branch!)
      expect(unwrap(await apply())).toMatchObject({ already: true })
      fixture.git('revert', '--no-edit', ...(how === 'git revert' ? [] : ['-m', '1']), 'HEAD')
      if (how === 'git revert') expect(unwrap(await undo())).toMatchObject({ already: true })
    }
    const before = head()
    expect(fixture.has('made')).toBe(false)
    expect(unwrap(await apply({ how: 'merge' }))).toMatchObject({ already: false, files: ['made'], from: before })
    expect([read('made'), unwrap(await apply()).already]).toEqual(['one\n', true])
    expect(unwrap(await undo())).toMatchObject({ how: 'back', to: before })
  },
)

test('where the user made the same file after it was taken back, it is not taken for the result', async () => {
  const { fixture, apply, undo } = await solved()
  unwrap(await apply())
  fixture.write('later', 'x\n')
  fixture.commit('later')
  unwrap(await undo())
  fixture.write('made', 'mine\n')
  fixture.commit('mine')
  expect(await apply()).toMatchObject({ ok: false, error: { code: 'merge_conflict', details: { files: ['made'] } } })
})

test('a result without the work of all tasks is applied only by who agrees to that, and says what it lacks', async () => {
  const fixture = await Fixture.open({
    one: writes('made'),
    two: () => {
      throw new Error('no broom')
    },
  })
  fixture.git('config', 'user.name', 'Mira')
  fixture.git('config', 'user.email', 'mira@example.org')
  const view = await fixture.finished(
    planned(
      '{ id: a, agent: one, prompt: x }',
      '{ id: b, agent: two, prompt: x, needs: [a] }',
      '{ id: c, agent: one, prompt: x, needs: [b] }',
    ),
  )
  const apply = (more: object) =>
    fixture.coordinator.applies.apply(view.run as RunId, { principal: alice, folder: fixture.project, ...more })
  const partial = {
    state: 'failed',
    has: ['a'],
    lacks: [
      { task: 'b', state: 'failed' },
      { task: 'c', state: 'cancelled' },
    ],
  }
  expect(unwrap(await apply({ check: true }))).toMatchObject({ partial })
  expect(await apply({})).toMatchObject({ ok: false, error: { code: 'unconfirmed', details: { partial } } })
  expect(fixture.has('made')).toBe(false)
  unwrap(await apply({ accept: true }))
  expect(fixture.has('made')).toBe(true)
})

test('a new commit that takes back what other programs run is made only by who agrees to that', async () => {
  const { fixture, apply, undo, head } = await solved({ one: writes('package.json', '{"scripts":{"test":"true"}}') })
  unwrap(await apply({ accept: true }))
  // Going back to what was there before is nobody's question.
  expect(unwrap(await undo({ check: true }))).toMatchObject({ how: 'back', notable: [] })
  fixture.write('later', 'x\n')
  fixture.commit('later')
  const before = head()
  expect(await undo()).toMatchObject(refusal('unconfirmed'))
  expect(head()).toBe(before)
  expect(unwrap(await undo({ accept: true }))).toMatchObject({ how: 'commit', notable: [{ kind: 'script' }] })
})

test('in a project with a submodule the result is applied beside it, and the submodule stays as its user has it', async () => {
  const { fixture, apply, undo, status, read } = await solved(undefined, fixture => {
    const library = join(fixture.folder, 'library')
    put(library, 'code', 'code\n')
    const inLibrary = (...args: string[]) =>
      execFileSync('git', ['-C', library, '-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...args])
    inLibrary('init', '--quiet')
    inLibrary('add', '-A')
    inLibrary('commit', '--quiet', '-m', 'library')
    fixture.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib')
    fixture.commit('a submodule')
    fixture.write('lib/own', 'mine\n')
  })
  const pointer = () => fixture.git('rev-parse', 'HEAD:lib')
  const before = [pointer(), status(), read('lib/code'), read('lib/own')]
  const now = () => [pointer(), status(), read('lib/code'), read('lib/own')]
  expect(unwrap(await apply())).toMatchObject({ files: ['made'], already: false })
  expect([read('made'), ...now()]).toEqual(['one\n', ...before])
  expect(unwrap(await undo())).toMatchObject({ how: 'back' })
  expect([fixture.has('made'), ...now()]).toEqual([false, ...before])
})

test('what was changed since cannot be taken back by itself, and nothing is', async () => {
  const { fixture, apply, undo, head } = await solved()
  unwrap(await apply())
  fixture.write('made', 'another\n')
  fixture.commit('another')
  const before = head()
  expect(await undo()).toMatchObject({ ok: false, error: { code: 'merge_conflict', details: { files: ['made'] } } })
  expect(head()).toBe(before)
})

test('a merge keeps the commits of the tasks; staged changes are nobody’s commit', async () => {
  const { fixture, run, view, apply, undo, head, status } = await solved()
  const before = head()
  const merged = unwrap(await apply({ how: 'merge' }))
  expect(fixture.git('log', '-1', '--format=%P', merged.to!).trim()).toBe(`${before} ${view.result!.commit}`)
  unwrap(await undo())
  fixture.git('checkout', '--quiet', '--detach')
  expect(await apply()).toMatchObject(refusal('detached_head'))
  unwrap(await apply({ how: 'patch' }))
  expect([head(), status()]).toEqual([before, 'A  made\n'])
  expect(unwrap(await apply({ how: 'patch' }))).toMatchObject({ already: true })
  expect(unwrap(await undo())).toMatchObject({ run, how: 'files' })
  expect([head(), status()]).toEqual([before, ''])
})

test('changes of the user stay as they are beside it, and are refused where they are in the way', async () => {
  const { fixture, apply, undo, status, read, head } = await solved({
    one: input => {
      put(input.folder!, 'made', 'one\n')
      put(input.folder!, 'README.md', 'Better.\n')
      put(input.folder!, 'deep/er', 'x\n')
      return 'done'
    },
  })
  const before = head()
  for (const [path, text, code = 'dirty_overlap', hide] of [
    ['README.md', 'mine\n'],
    ['README.md', 'mine\n', 'hidden_overlap', 'skip-worktree'],
    ['README.md', 'mine\n', 'hidden_overlap', 'assume-unchanged'],
    ['made', 'ignored\n', 'ignored_overlap'],
    ['deep', 'a file\n'],
    ['deep', 'ignored\n', 'ignored_overlap'],
  ] as const) {
    fixture.write('.git/info/exclude', `${code === 'ignored_overlap' ? path : ''}\n`)
    if (hide) fixture.git('update-index', `--${hide}`, path)
    const old = existsSync(join(fixture.project, path)) ? read(path) : undefined
    fixture.write(path, text)
    for (const how of ['squash', 'patch'])
      expect(await apply({ how })).toMatchObject({
        ok: false,
        error: { code, details: { files: [path] } },
      })
    expect([head(), read(path)]).toEqual([before, text])
    if (hide) fixture.git('update-index', `--no-${hide}`, path)
    if (old === undefined) rmSync(join(fixture.project, path))
    else fixture.write(path, old)
  }
  fixture.write('own', 'unstaged\n')
  fixture.write('staged', 'staged\n')
  fixture.git('add', 'staged')
  unwrap(await apply())
  expect(status()).toBe('A  staged\n?? own\n')
  expect(fixture.git('show', '--name-only', '--format=', 'HEAD')).toBe('README.md\ndeep/er\nmade\n')
  fixture.write('README.md', 'and mine again\n')
  expect(await undo()).toMatchObject(refusal('dirty_overlap'))
  fixture.git('checkout', '--quiet', 'README.md')
  unwrap(await undo())
  expect(status()).toBe('A  staged\n?? own\n')
})

test('a result that does not fit what came meanwhile is refused with its files, and nothing is changed', async () => {
  const { fixture, apply, head, status } = await solved({ one: writes('README.md', 'theirs') })
  fixture.write('README.md', 'ours\n')
  fixture.commit('ours')
  const before = head()
  expect(await apply()).toMatchObject({
    ok: false,
    error: { code: 'merge_conflict', details: { files: ['README.md'] } },
  })
  expect([head(), status()]).toEqual([before, ''])
})

test('what came meanwhile elsewhere stays, and a result that was merged by hand is there already', async () => {
  const { fixture, view, apply, read } = await solved()
  fixture.write('README.md', 'ours\n')
  fixture.commit('ours')
  unwrap(await apply())
  expect([read('README.md'), read('made')]).toEqual(['ours\n', 'one\n'])
  fixture.git('checkout', '--quiet', '-b', 'other', 'HEAD~')
  fixture.git('merge', '--quiet', '--no-edit', view.result!.branch!)
  expect(unwrap(await apply())).toMatchObject({ already: true })
})

test('hooks, CI files, package scripts and settings are named, by links too, and need a yes', async () => {
  const { apply, head } = await solved(
    {
      one: input => {
        put(input.folder!, '.github/workflows/x.yml', 'on: push\n')
        put(input.folder!, '.hooks/pre-push', 'x\n')
        put(input.folder!, '.npmrc', 'x\n')
        put(input.folder!, 'cfg/tasks.json', '{}\n')
        symlinkSync('cfg', join(input.folder!, '.vscode'))
        put(input.folder!, 'package.json', '\uFEFF{"name":"x","scripts":{"test":"evil","new":"x"}}')
        put(input.folder!, 'real', 'x\n')
        put(input.folder!, 'scripts/commit', 'x\n')
        put(input.folder!, 'sub/package.json', '{"name":"y"}')
        return 'done'
      },
    },
    fixture => {
      fixture.git('config', 'core.hooksPath', 'hooks')
      symlinkSync('.hooks', join(fixture.project, 'hooks'))
      mkdirSync(join(fixture.project, '.git/hooks'), { recursive: true })
      symlinkSync('../../scripts/commit', join(fixture.project, '.git/hooks/pre-commit'))
      fixture.write('real', 'a\n')
      symlinkSync('real', join(fixture.project, '.envrc'))
      fixture.write('package.json', '{"name":"x","scripts":{"test":"true","old":"x"}}')
      fixture.commit('package')
    },
  )
  const before = head()
  const notable = [
    { kind: 'ci', path: '.github/workflows/x.yml' },
    { kind: 'hook', path: '.hooks/pre-push', as: 'hooks/pre-push' },
    { kind: 'settings', path: '.npmrc' },
    { kind: 'settings', path: '.vscode' },
    { kind: 'settings', path: 'cfg/tasks.json', as: '.vscode/tasks.json' },
    { kind: 'script', path: 'package.json', scripts: ['test', 'old', 'new'] },
    { kind: 'settings', path: 'real', as: '.envrc' },
    { kind: 'hook', path: 'scripts/commit' },
  ]
  expect(unwrap(await apply({ check: true }))).toMatchObject({ already: false, notable })
  expect(await apply()).toMatchObject({ ok: false, error: { code: 'unconfirmed', details: { notable } } })
  expect(head()).toBe(before)
  unwrap(await apply({ accept: true }))
  expect(head()).not.toBe(before)
})

test('places where nothing can be applied are refused, each with its code', async () => {
  const { fixture, apply } = await solved()
  const place = (name: string, ...args: readonly string[]) => {
    const folder = join(fixture.folder, name)
    mkdirSync(folder)
    execFileSync('git', ['init', '--quiet', ...args, folder])
    return folder
  }
  mkdirSync(join(fixture.folder, 'plain'))
  expect(await apply({ folder: join(fixture.folder, 'plain') })).toMatchObject(refusal('not_a_repository'))
  expect(await apply({ folder: join(fixture.folder, 'gone') })).toMatchObject(refusal('not_a_repository'))
  expect(await apply({ folder: place('bare', '--bare') })).toMatchObject(refusal('bare_repository'))
  const other = place('other')
  expect(await apply({ folder: other })).toMatchObject(refusal('repository_empty'))
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x', 'commit', '--quiet', '--allow-empty', '-m', 'x'], {
    cwd: other,
  })
  expect(await apply({ folder: other })).toMatchObject(refusal('other_repository'))
  fixture.write('.git/MERGE_HEAD', `${fixture.git('rev-parse', 'HEAD')}`)
  expect(await apply()).toMatchObject(refusal('repository_busy'))
  rmSync(join(fixture.project, '.git/MERGE_HEAD'))
  // Another checkout of the same repository will do.
  fixture.git('worktree', 'add', '--quiet', '-b', 'side', '../side')
  expect(unwrap(await apply({ folder: join(fixture.folder, 'side') }))).toMatchObject({
    branch: 'side',
    files: ['made'],
  })
  expect(existsSync(join(fixture.folder, 'side/made'))).toBe(true)
  expect(fixture.has('made')).toBe(false)
  expect(unwrap(await apply())).toMatchObject({ branch: 'main', already: false })
})

test('a run at work, one that changed nothing, and one of another folder without git are refused', async () => {
  const go = Promise.withResolvers<string>()
  const fixture = await Fixture.open({ one: () => go.promise })
  const by = { principal: alice, folder: fixture.project }
  const run = await fixture.solve(solo('one'))
  expect(await fixture.coordinator.applies.apply(run, by)).toMatchObject(refusal('invalid_state'))
  go.resolve('nothing')
  await fixture.over(run)
  expect(await fixture.coordinator.applies.apply(run, by)).toMatchObject(refusal('nothing_to_apply'))
  const project = join(fixture.folder, 'plain')
  mkdirSync(project)
  fixture.scripts = { one: writes('made') }
  const { run: copied } = await fixture.finished(solo('one'), { project })
  const refused = await fixture.coordinator.applies.apply(copied as RunId, by)
  expect(refused).toMatchObject({ error: { code: 'other_repository', message: expect.stringContaining(project) } })
})

test('where the branch cannot be moved, the files are as they were, and nothing was applied', async () => {
  const { fixture, apply, head, status, acts } = await solved()
  const before = head()
  const lock = join(fixture.project, '.git/refs/heads/main.lock')
  writeFileSync(lock, '')
  expect(await apply()).toMatchObject(refusal('repository_locked'))
  rmSync(lock)
  expect([head(), status(), fixture.has('made'), await acts()]).toEqual([before, '', false, []])
  unwrap(await apply())
  expect(await acts()).toEqual([['squash', 'alice', false]])
})

test('undo without a name takes back what was applied last in this repository, not elsewhere', async () => {
  const { fixture, run, apply } = await solved()
  unwrap(await apply())
  const other = join(fixture.folder, 'other')
  mkdirSync(other)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: other })
  git('init', '--quiet')
  git('config', 'user.name', 'Mira')
  git('config', 'user.email', 'mira@example.org')
  git('commit', '--quiet', '--allow-empty', '--message', 'first')
  const undo = async (folder: string) =>
    fixture.coordinator.applies.undo(undefined, { principal: alice, folder, check: true })
  expect(await undo(other)).toMatchObject(refusal('not_applied'))
  const view = await fixture.finished(TEAM, { project: other })
  unwrap(await fixture.coordinator.applies.apply(view.run as RunId, { principal: alice, folder: other }))
  expect(unwrap(await undo(fixture.project)).run).toBe(run)
  expect(unwrap(await undo(other)).run).toBe(view.run)
})
