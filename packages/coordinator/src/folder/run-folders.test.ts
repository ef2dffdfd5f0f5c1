// The life of a run's folders, the same for a git repository and for any other folder.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type RunId, unwrap, type WorkspaceId } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { RunFolders } from './run-folders.ts'
import {
  captured,
  createFolders,
  gitProject,
  listing,
  opened,
  plainProject,
  prepared,
  RUN,
  refusal,
  someFiles,
  userGit,
  write,
  ws,
} from './testing/project.ts'

describe.each([
  { kind: 'git', make: gitProject },
  { kind: 'copy', make: plainProject },
] as const)('a $kind project', ({ kind, make }) => {
  test('gives a workspace its files, takes its work, merges it and tells the result', async () => {
    const project = make()
    const { folders, home } = await createFolders(project)
    const base = await folders.head()
    expect(folders.facts).toMatchObject({ kind, path: project, base, dirty: 0, folder: '' })

    const folder = await prepared(folders)
    expect(folder).toBe(join(home, 'work', ws('one')))
    expect(listing(folder)).toEqual(listing(project))
    expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(base)
    expect(userGit(folder, 'status', '--porcelain')).toBe('')
    expect(() => userGit(folder, 'symbolic-ref', '-q', 'HEAD')).toThrow()

    write(folder, { 'readme.md': 'one\ntwo\n3\nfour\n', 'src/new.ts': 'new\n' })
    rmSync(join(folder, 'src/main.ts'))
    const work = await captured(folders)
    expect(work.refused).toEqual([])
    expect(work.changed).toEqual([
      { path: 'readme.md', kind: 'changed', lines: { added: 2, removed: 1 } },
      { path: 'src/main.ts', kind: 'deleted', lines: { added: 0, removed: 1 } },
      { path: 'src/new.ts', kind: 'added', lines: { added: 1, removed: 0 } },
    ])
    expect(await folders.head()).toBe(base)

    const merged = unwrap(await folders.integrate(work.commit, { message: 'merge one\n' }))
    expect(merged).toEqual({ head: await folders.head(), merged: true })
    expect(await folders.changes(base, await folders.head())).toEqual(work.changed)
    expect(await folders.show(await folders.head(), 'readme.md', 1000)).toBe('one\ntwo\n3\nfour\n')
    expect(await folders.show(await folders.head(), 'src/main.ts', 1000)).toBeUndefined()
    expect(await folders.diff(base, work.commit, { maxBytes: 10_000 })).toContain('+four\n')

    // The next workspace starts with what was merged.
    const next = await prepared(folders, 'two')
    expect(listing(next)).toEqual(listing(folder))
    await folders.discard(ws('one'))
    expect(existsSync(folder)).toBe(false)
    expect(await folders.show(work.commit, 'src/new.ts', 1000)).toBe('new\n')
  })

  test('is opened again from its facts as plain JSON', async () => {
    const { folders, home } = await createFolders(make())
    write(await prepared(folders), { new: '1' })
    const work = await captured(folders)
    const facts = JSON.parse(JSON.stringify(folders.facts))
    const again = unwrap(await RunFolders.open({ facts, home, run: RUN }))
    expect(again.facts).toEqual(folders.facts)
    expect(await captured(again)).toEqual(work)
    const merged = unwrap(await again.integrate(work.commit, { message: 'm' }))
    expect(await folders.head()).toBe((merged as { head: string }).head)
  })

  test('is reset completely by prepare', async () => {
    const { folders, base, folder } = await opened(make({ ...someFiles, '.gitignore': 'ignored/\n' }))
    const before = listing(folder)
    write(folder, { 'readme.md': 'spoiled', untracked: '1', 'ignored/file': '2', 'sub/.git/x': '3' })
    rmSync(join(folder, 'src'), { recursive: true })
    symlinkSync('/', join(folder, 'src'))
    mkdirSync(join(folder, 'locked/inner'), { recursive: true })
    chmodSync(join(folder, 'locked'), 0o500)
    rmSync(join(folder, '.git'))
    expect(unwrap(await folders.prepare(ws('one'), base))).toBe(folder)
    expect(listing(folder)).toEqual(before)
    expect(existsSync(join(folder, 'locked'))).toBe(false)
    expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(base)
    expect(userGit(folder, 'status', '--porcelain', '--ignored')).toBe('')
  })

  test('is reset by prepare whatever the agent did with git', async () => {
    const { folders, base, folder } = await opened(make())
    write(folder, { a: '1' })
    userGit(folder, 'checkout', '--quiet', '-b', 'topic')
    userGit(folder, 'add', 'a')
    userGit(folder, 'commit', '--quiet', '-m', 'by the agent')
    userGit(folder, 'update-index', '--assume-unchanged', 'readme.md')
    const admin = userGit(folder, 'rev-parse', '--absolute-git-dir')
    writeFileSync(join(admin, 'index.lock'), '')
    writeFileSync(join(admin, 'HEAD.lock'), '')
    writeFileSync(join(admin, 'MERGE_HEAD'), `${base}\n`)
    unwrap(await folders.prepare(ws('one'), base))
    expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(base)
    expect(() => userGit(folder, 'symbolic-ref', '-q', 'HEAD')).toThrow()
    expect(userGit(folder, 'status', '--porcelain=v2', '--branch').split('\n')).toContain('# branch.head (detached)')
    expect(userGit(folder, 'status')).not.toContain('merg')
    write(folder, { b: '2' })
    userGit(folder, 'add', 'b')
    expect(existsSync(join(folder, 'a'))).toBe(false)
  })

  test('survives what a killed prepare can leave', async () => {
    const { folders, home, base, folder } = await opened(make())
    const gitDir = userGit(folder, 'rev-parse', '--absolute-git-dir')
    const before = listing(folder)
    // The repository was in its place already, half gone or locked, and the folder was not.
    rmSync(join(gitDir, 'HEAD'))
    writeFileSync(join(gitDir, 'index.lock'), '')
    write(join(home, 'new', ws('one'), 'abc'), { 'files/half': '1', 'git/HEAD': base })
    rmSync(folder, { recursive: true })
    write(folder, { other: '1' })
    expect(unwrap(await folders.prepare(ws('one'), base))).toBe(folder)
    expect(listing(folder)).toEqual(before)
    expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(base)
    expect(userGit(folder, 'status', '--porcelain')).toBe('')
    expect(readdirSync(dirname(gitDir))).toEqual([ws('one')])
    expect(existsSync(join(gitDir, 'index.lock'))).toBe(false)
    expect(existsSync(join(home, 'new', ws('one')))).toBe(false)
  })

  test('many workspaces are prepared, captured and merged at once', async () => {
    const { folders } = await createFolders(make())
    const base = await folders.head()
    const names = Array.from({ length: 8 }, (_, number) => `w${number}`)
    await Promise.all(
      names.map(async name => {
        write(await prepared(folders, name), { [`${name}.txt`]: name })
        const { commit } = await captured(folders, name, { parent: base })
        expect(unwrap(await folders.integrate(commit, { message: name }))).toHaveProperty('merged', true)
      }),
    )
    const changes = await folders.changes(base, await folders.head())
    expect(changes.map(each => each.path)).toEqual(names.map(name => `${name}.txt`))
  })

  test('refuses ids and commits that are none', async () => {
    const { folders } = await createFolders(make())
    const base = await folders.head()
    for (const name of ['../x', 'a/b', '.x', '', 'x'.repeat(65), '-x', 'a b']) {
      const refused = await folders.prepare(name as WorkspaceId, base)
      expect(refused).toMatchObject(refusal('invalid_id'))
    }
    for (const commit of ['HEAD', '--all', base.slice(0, 10), '']) {
      expect(await folders.prepare(ws('a'), commit)).toMatchObject({ error: { code: 'invalid_commit' } })
      expect(await folders.integrate(commit, { message: '' })).toMatchObject({
        error: { code: 'invalid_commit' },
      })
      await expect(folders.changes(commit, base)).rejects.toMatchObject({ code: 'invalid_commit' })
    }
    expect(await folders.prepare(ws('a'), '1'.repeat(40))).toMatchObject({ error: { code: 'git_failed' } })
    await expect(folders.show(base, '../../etc/passwd', 10)).rejects.toMatchObject({ code: 'invalid_path' })
    const run = '../run' as RunId
    expect(await RunFolders.create({ project: folders.facts.path, home: folders.facts.path, run })).toMatchObject({
      error: { code: 'invalid_id' },
    })
  })

  test('diffs and files are cut where the caller says', async () => {
    const { folders } = await createFolders(make())
    const base = await folders.head()
    write(await prepared(folders), { 'long.txt': 'é line\n'.repeat(100_000) })
    const { commit } = await captured(folders)
    const diff = await folders.diff(base, commit, { maxBytes: 1001 })
    expect(Buffer.byteLength(diff)).toBeLessThan(1100)
    expect(diff).toMatch(/é line\n\[cut off after \d+ bytes: there is more\]\n$/)
    expect(await folders.show(commit, 'long.txt', 16)).toBe('é line\né line\n')
    expect(await folders.show(commit, 'src', 16)).toBeUndefined()
    expect(await folders.show(base, 'readme.md', 3)).toBe('one')
  })

  test('is not created twice once it has results', async () => {
    const project = make()
    const { folders, home } = await createFolders(project)
    unwrap(await RunFolders.create({ project, home, run: RUN }))
    const again = unwrap(await RunFolders.create({ project, home, run: RUN }))
    write(await prepared(again), { a: '1' })
    unwrap(await again.integrate((await captured(again)).commit, { message: '' }))
    const refused = await RunFolders.create({ project, home, run: RUN })
    expect(refused).toMatchObject(refusal('run_exists'))
    expect(readFileSync(join(project, 'readme.md'), 'utf8')).toBe(someFiles['readme.md'])
    expect(await folders.head()).toBe(await again.head())
  })
})
