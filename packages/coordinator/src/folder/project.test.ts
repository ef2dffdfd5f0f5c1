// What a project may be: repositories in all their forms, and folders that are none.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ManualClock, unwrap } from '@parley/core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { RunFolders } from './run-folders.ts'
import {
  captured,
  commitAll,
  createFolders,
  gitProject,
  listing,
  opened,
  picture,
  plainProject,
  prepared,
  RUN,
  someFiles,
  temporaryFolder,
  userGit,
  write,
  ws,
} from './testing/project.ts'

async function refusal(project: string): Promise<{ code: string; message: string }> {
  const created = await RunFolders.create({ project, home: join(temporaryFolder(), 'home'), run: RUN })
  if (created.ok) throw new Error('was not refused')
  return created.error
}

/** One change, all the way to the branch. */
async function roundTrip(project: string): Promise<RunFolders> {
  const before = picture(project) as Record<string, unknown>
  const { folders, folder } = await opened(project)
  write(folder, { 'made.txt': 'made\n' })
  const work = await captured(folders)
  expect(work).toMatchObject({ changed: [{ path: 'made.txt', kind: 'added' }], refused: [] })
  unwrap(await folders.integrate(work.commit, { message: 'merge' }))
  const { head, branch } = unwrap(await folders.finish())
  expect(userGit(project, 'rev-parse', `refs/heads/${branch}`)).toBe(head)
  await folders.clean()
  userGit(project, 'branch', '--quiet', '-D', branch!)
  expect(picture(project)).toEqual(before)
  userGit(project, 'fsck', '--strict', '--no-dangling')
  return folders
}

describe('refused', () => {
  test('what is no folder', async () => {
    const folder = temporaryFolder()
    write(folder, { file: '' })
    expect(await refusal(join(folder, 'none'))).toMatchObject({ code: 'invalid_project' })
    expect(await refusal(join(folder, 'file'))).toMatchObject({ code: 'invalid_project' })
    expect(await refusal('.')).toMatchObject({ code: 'invalid_project' })
  })

  test('a repository without commits, with what to do', async () => {
    const folder = temporaryFolder()
    userGit(folder, 'init', '--quiet')
    const { code, message } = await refusal(folder)
    expect(code).toBe('repository_empty')
    expect(message).toContain('Make a first commit')
  })

  test('a bare repository, and the inside of a .git', async () => {
    const folder = temporaryFolder()
    userGit(folder, 'init', '--quiet', '--bare')
    expect(await refusal(folder)).toMatchObject({ code: 'bare_repository' })
    expect(await refusal(join(gitProject(), '.git'))).toMatchObject({ code: 'bare_repository' })
  })

  test('facts that are none, and a project that is gone', async () => {
    const { folders, home } = await createFolders(gitProject())
    const open = (facts: object) => RunFolders.open({ facts: { ...folders.facts, ...facts }, home, run: RUN })
    expect(await open({ base: '--all' })).toMatchObject({ error: { code: 'invalid_facts' } })
    expect(await open({ base: '1'.repeat(40) })).toMatchObject({ error: { code: 'project_gone' } })
    expect(await open({ path: temporaryFolder() })).toMatchObject({ error: { code: 'project_gone' } })
    expect(await open({ path: '/does/not/exist' })).toMatchObject({ error: { code: 'project_gone' } })
    expect(await open({ kind: 'copy' })).toMatchObject({ ok: true })
  })
})

describe('git', () => {
  test('a subfolder: the run sees that folder, and nothing outside it is taken', async () => {
    const top = gitProject({ 'app/a.txt': 'a', 'app/src/b.txt': 'b', 'lib/c.txt': 'c', 'root.txt': 'r' })
    write(top, { 'lib/c.txt': 'dirty outside', 'app/new.txt': 'dirty inside' })
    const project = join(top, 'app')
    const { folders, home } = await createFolders(project)
    const base = await folders.head()
    expect(folders.facts).toMatchObject({ path: project, folder: 'app', dirty: 1, dirty_files: ['app/new.txt'] })
    const folder = await prepared(folders)
    expect(folder).toBe(join(home, 'work', ws('one'), 'app'))
    expect(readFileSync(join(folder, '../lib/c.txt'), 'utf8')).toBe('c')
    write(folder, {
      'a.txt': 'changed',
      'src/n.txt': 'new',
      '../lib/c.txt': 'no',
      '../other/x': 'no',
      '../root.txt': 'no',
    })
    const work = await captured(folders)
    expect(work.changed.map(each => each.path)).toEqual(['a.txt', 'src/n.txt'])
    expect(work.refused.map(each => each.path).sort()).toEqual(['../lib/c.txt', '../other/x', '../root.txt'])
    expect(existsSync(join(folder, '../other'))).toBe(false)
    expect(readFileSync(join(folder, '../lib/c.txt'), 'utf8')).toBe('c')
    expect((await captured(folders, 'one', { paths: ['src/**'] })).refused).toMatchObject([{ path: 'a.txt' }])
    expect(await folders.show(work.commit, 'src/n.txt', 10)).toBe('new')
    expect(await folders.show(work.commit, '../root.txt', 10)).toBe('r')
    const diff = await folders.diff(base, work.commit, { maxBytes: 10_000 })
    expect(diff).toContain('--- a/a.txt')
    unwrap(await folders.integrate(work.commit, { message: '' }))
    expect((await folders.changes(base, await folders.head())).map(each => each.path)).toEqual(['a.txt', 'src/n.txt'])
    write(unwrap(await folders.prepare(ws('two'), base)), { 'a.txt': 'other' })
    const two = await captured(folders, 'two', { parent: base })
    expect(unwrap(await folders.integrate(two.commit, { message: '' }))).toEqual({ conflicts: ['a.txt'] })
  })

  test('a linked worktree, and one of a bare repository', async () => {
    const main = gitProject()
    const linked = join(temporaryFolder(), 'linked')
    userGit(main, 'worktree', 'add', '--quiet', '-b', 'side', linked)
    write(linked, { side: '1' })
    const side = commitAll(linked, 'side')
    const folders = await roundTrip(linked)
    expect(folders.facts.base).toBe(side)
    const bare = join(temporaryFolder(), 'bare.git')
    userGit(main, 'clone', '--quiet', '--bare', main, bare)
    const checkout = join(temporaryFolder(), 'checkout')
    userGit(bare, 'worktree', 'add', '--quiet', checkout, 'main')
    await roundTrip(checkout)
    expect(userGit(bare, 'worktree', 'list').split('\n')).toHaveLength(2)
  })

  test('a detached HEAD, a shallow clone, a project with a link in its path', async () => {
    const project = gitProject()
    write(project, { second: '1' })
    commitAll(project, 'second')
    userGit(project, 'checkout', '--quiet', '--detach', 'HEAD~1')
    expect((await roundTrip(project)).facts.base).toBe(userGit(project, 'rev-parse', 'HEAD'))
    const shallow = join(temporaryFolder(), 'shallow')
    userGit(project, 'clone', '--quiet', '--depth=1', '--branch=main', `file://${project}`, shallow)
    expect(userGit(shallow, 'rev-parse', '--is-shallow-repository')).toBe('true')
    await roundTrip(shallow)
    const link = join(temporaryFolder(), 'link')
    symlinkSync(project, link)
    const { folders } = await createFolders(link)
    expect(folders.facts.path).toBe(project)
  })

  test('sparse checkout: agents get all files, and none is taken for deleted', async () => {
    for (const mode of ['--cone', '--no-cone']) {
      const project = gitProject({ ...someFiles, 'lib/c.txt': 'c' })
      userGit(project, 'sparse-checkout', 'set', mode, 'src')
      expect(existsSync(join(project, 'lib'))).toBe(false)
      const { folder } = await opened(project)
      expect(readFileSync(join(folder, 'lib/c.txt'), 'utf8')).toBe('c')
      expect(userGit(folder, 'status', '--porcelain')).toBe('')
      userGit(folder, 'checkout', '--quiet', '--detach', 'HEAD')
      userGit(folder, 'reset', '--quiet', '--hard')
      expect(existsSync(join(folder, 'lib/c.txt'))).toBe(true)
      await roundTrip(project)
    }
  })

  test('submodules stay the commits that they are', async () => {
    const library = gitProject({ lib: '1' })
    const project = gitProject()
    userGit(project, 'submodule', '--quiet', 'add', library, 'sub')
    userGit(project, 'submodule', '--quiet', 'add', library, 'deep/sub2')
    commitAll(project, 'submodules')
    await roundTrip(project)
    const { folders, folder } = await opened(project)
    const before = userGit(project, 'ls-tree', '-r', 'HEAD')
    // A submodule that is only filled is no change.
    userGit(folder, 'submodule', '--quiet', 'update', '--init', 'sub')
    write(folder, { a: '1' })
    const filled = await captured(folders)
    expect(filled).toMatchObject({ changed: [{ path: 'a' }], refused: [] })
    expect(existsSync(join(folder, 'sub/lib'))).toBe(true)
    // Another commit in it, files without a repository, and one that is gone are.
    write(folder, { 'sub/lib': '2', 'deep/sub2/file': 'x' })
    commitAll(join(folder, 'sub'), 'inside')
    const moved = await captured(folders)
    expect(moved.commit).toBe(filled.commit)
    expect(moved.refused).toEqual([
      { path: 'deep/sub2', kind: 'changed', reason: 'submodule' },
      { path: 'sub', kind: 'changed', reason: 'submodule' },
    ])
    rmSync(join(folder, 'sub'), { recursive: true })
    writeFileSync(join(folder, 'sub'), 'a file')
    rmSync(join(folder, 'deep'), { recursive: true })
    const gone = await captured(folders)
    expect(gone.commit).toBe(filled.commit)
    expect(gone.refused.map(each => [each.path, each.kind])).toEqual([
      ['deep/sub2', 'deleted'],
      ['sub', 'deleted'],
    ])
    expect(await captured(folders)).toMatchObject({ commit: filled.commit, refused: [] })
    expect(
      userGit(project, 'ls-tree', '-r', filled.commit)
        .split('\n')
        .filter(line => !line.endsWith('\ta'))
        .join('\n'),
    ).toBe(before)
  })

  test('SHA-256', async () => {
    const project = temporaryFolder()
    userGit(project, 'init', '--quiet', '--object-format=sha256')
    write(project, someFiles)
    expect(commitAll(project, 'start')).toHaveLength(64)
    await roundTrip(project)
  })

  test('what the user has git ignore is not taken', async () => {
    const project = gitProject({ ...someFiles, '.gitignore': 'by-file\n' })
    const home = temporaryFolder()
    const before = process.env.HOME
    process.env.HOME = home
    onTestFinished(() => {
      process.env.HOME = before
    })
    write(home, { '.gitconfig': '[core]\nexcludesFile = ~/ignore\n', ignore: 'by-home\n' })
    write(join(project, '.git/info'), { exclude: 'by-repository\n' })
    const { folders } = await createFolders(project)
    write(await prepared(folders), { 'by-file': '', 'by-home': '', 'by-repository': '', taken: '' })
    expect((await captured(folders)).changed.map(each => each.path)).toEqual(['taken'])
  })

  test('a folder that the repository around it does not know is copied', async () => {
    const top = gitProject({ '.gitignore': 'project\n' })
    write(top, { 'project/file': '1', 'other/file': '2' })
    for (const name of ['project', 'other']) {
      const { folders } = await createFolders(join(top, name))
      expect(folders.facts.kind).toBe('copy')
      expect(listing(await prepared(folders))).toEqual(listing(join(top, name)))
    }
    expect(userGit(top, 'for-each-ref')).toBe(userGit(top, 'for-each-ref', 'refs/heads'))
  })
})

describe('a folder that is no repository', () => {
  test('is copied byte for byte, without what its .gitignore leaves out, and never written', async () => {
    const project = plainProject({
      '.gitignore': 'node_modules\n*.log\n',
      '.gitattributes': '* text=auto eol=crlf\n*.id ident\n*.bin filter=lfs\n',
      'lf.txt': 'a\nb\n',
      'crlf.txt': 'a\r\nb\r\n',
      'x.id': '$Id$\n',
      'x.bin': 'binary',
      'node_modules/x': 'x',
      'a.log': 'x',
    })
    symlinkSync('/etc/hostname', join(project, 'link'))
    chmodSync(join(project, 'lf.txt'), 0o755)
    const before = listing(project)
    chmodSync(project, 0o500)
    const clock = new ManualClock()
    const home = join(temporaryFolder(), 'home')
    // The clock stands still: no wait and no limit is due.
    const folders = unwrap(await RunFolders.create({ project, home, run: RUN, clock }))
    const folder = await prepared(folders)
    expect(listing(folder)).toEqual(
      before.filter(line => !line.startsWith('node_modules') && !line.startsWith('a.log')),
    )
    expect((await captured(folders)).changed).toEqual([])
    expect(userGit(folder, 'log', '-1', '--format=%cI')).toMatch(/^2026-01-01T00:00:00/)
    write(folder, { 'lf.txt': 'a\nb\nc\n' })
    unwrap(await folders.integrate((await captured(folders)).commit, { message: '' }))
    const { folder: result, branch } = unwrap(await folders.finish())
    expect(branch).toBeUndefined()
    expect(result).toBe(join(home, 'result'))
    expect(readFileSync(join(result!, 'lf.txt'), 'utf8')).toBe('a\nb\nc\n')
    expect(readFileSync(join(result!, 'crlf.txt'), 'utf8')).toBe('a\r\nb\r\n')
    expect(listing(project)).toEqual(before)
  })

  test('may hold repositories, which are copied as files', async () => {
    const project = plainProject()
    mkdirSync(join(project, 'inner/deeper'), { recursive: true })
    userGit(join(project, 'inner'), 'init', '--quiet')
    userGit(join(project, 'inner/deeper'), 'init', '--quiet')
    write(project, { 'inner/file': '1', 'inner/deeper/file': '2' })
    const { folders } = await createFolders(project)
    expect(listing(await prepared(folders))).toEqual(listing(project, ['inner/.git', 'inner/deeper/.git']))
    expect(existsSync(join(project, 'inner/.git/HEAD'))).toBe(true)
  })

  test('is refused if it is the home folder, holds it, or is the root of the disk', async () => {
    const project = plainProject({ 'mira/.ssh/id_ed25519': 'key\n' })
    vi.stubEnv('HOME', join(project, 'mira'))
    onTestFinished(() => void vi.unstubAllEnvs())
    symlinkSync(join(project, 'mira'), join(project, 'link'))
    for (const each of ['mira', 'link', '.']) {
      const { code, message } = await refusal(join(project, each))
      expect([code, message]).toEqual(['invalid_project', expect.stringMatching(/home folder.* --project/)])
    }
    expect(await refusal('/')).toMatchObject({
      code: 'invalid_project',
      message: expect.stringContaining('is the root of a disk'),
    })
    // A folder in it is a project as any other.
    write(project, { 'mira/work/a': '1' })
    await createFolders(join(project, 'mira/work'))
    // Of a repository only what is committed comes along.
    userGit(join(project, 'mira'), 'init', '--quiet')
    write(project, { 'mira/notes': '1' })
    userGit(join(project, 'mira'), 'add', 'notes')
    userGit(join(project, 'mira'), 'commit', '--quiet', '-m', 'notes')
    const { folders } = await createFolders(join(project, 'mira'))
    expect(listing(await prepared(folders)).map(line => line.split(' ')[0])).toEqual(['notes'])
  })

  test('is refused if it holds the profile or is inside it, also by a link', async () => {
    const project = plainProject({ '.parley/default/secret': 'x', '.parley/default/runs/old/result/a': '1' })
    const profile = join(project, '.parley/default')
    const outside = join(temporaryFolder(), 'link')
    symlinkSync(project, outside)
    const start = (folder: string) =>
      RunFolders.create({ project: folder, home: join(profile, 'runs/one'), profile, run: RUN })
    for (const each of [project, outside, profile, join(project, '.parley'), join(profile, 'runs/old/result')]) {
      expect(await start(each)).toMatchObject({
        ok: false,
        error: { code: 'invalid_project', message: expect.stringContaining('of the Parley profile') },
      })
    }
    expect(existsSync(join(profile, 'runs/one/git'))).toBe(false)
    userGit(project, 'init', '--quiet')
    commitAll(project, 'with the profile')
    expect(await start(project)).toMatchObject({
      ok: false,
      error: { code: 'invalid_project', message: expect.stringContaining('has committed the Parley profile') },
    })
    userGit(project, 'rm', '-r', '--quiet', '--cached', '.parley')
    userGit(project, 'commit', '--quiet', '--allow-empty', '-m', 'without it')
    unwrap(await start(project))
  })

  test('is copied, and carried from, without any Parley profile that is in it', async () => {
    const project = plainProject({
      a: '1',
      'trail/keys.txt': 'no profile\n',
      'other/work/secret': 'x',
      'other/work/trail/00000001.seg': 'x',
      'other/work/trail/content.key': 'x',
      'other/lost/trail/keys.json': 'x',
      'other/lost/runs/old/a': 'x',
      'hidden/p/trail/keys.json': 'x',
      'hidden/note': '1',
      '.gitignore': 'hidden\n',
    })
    const { folders } = await createFolders(project)
    const folder = unwrap(await folders.prepare(ws('one'), await folders.head(), { carry: ['hidden/**'] }))
    expect(listing(folder).map(line => line.split(' ')[0])).toEqual([
      '.gitignore',
      'a',
      'hidden/note',
      'trail/keys.txt',
    ])
    expect(await refusal(join(project, 'other/work'))).toMatchObject({ code: 'invalid_project' })
  })

  test('may be empty', async () => {
    const { folders, folder } = await opened(plainProject({}))
    write(folder, { a: '1' })
    unwrap(await folders.integrate((await captured(folders)).commit, { message: '' }))
    expect(unwrap(await folders.finish()).folder).toBeDefined()
  })

  test('is refused if it is too large, with the folders that make it so', async () => {
    const project = plainProject({ ...someFiles, 'app/node_modules/lib/large': '', 'data/x': '' })
    truncateSync(join(project, 'app/node_modules/lib/large'), 1200 * 1024 * 1024)
    truncateSync(join(project, 'data/x'), 10 * 1024 * 1024)
    const { code, message } = await refusal(project)
    expect(code).toBe('project_too_large')
    expect(message).toContain('app/node_modules/lib/ (1 files, 1200 MiB), data/ (1 files, 10 MiB)')
    expect(message).toContain('.gitignore')
    write(project, { '.gitignore': 'node_modules\n' })
    await createFolders(project)
  })

  test('is refused with the names that git does not take', async () => {
    const { code, message } = await refusal(plainProject({ 'a/git~1': '' }))
    expect(code).toBe('project_unusable')
    expect(message).toContain('a/git~1')
  })
})
