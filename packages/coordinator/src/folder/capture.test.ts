// What a capture takes, refuses and puts back.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import {
  captured,
  commitAll,
  createFolders,
  gitProject,
  listing,
  opened,
  plainProject,
  prepared,
  refusal,
  someFiles,
  temporaryFolder,
  userGit,
  write,
  ws,
} from './testing/project.ts'

function paths(changes: readonly { readonly path: string }[]): string[] {
  return changes.map(each => each.path).sort()
}

describe('the commit', () => {
  test('is the same for the same files, parent, message and author, and has the author given', async () => {
    const { folders } = await createFolders(gitProject())
    const base = await folders.head()
    write(await prepared(folders), { a: '1' })
    write(await prepared(folders, 'two'), { a: '1' })
    const one = await captured(folders)
    expect(await captured(folders, 'two')).not.toEqual(one)
    const options = { parent: base, message: 'same', author: 'Eve <x>\n' }
    const first = unwrap(await folders.capture(ws('one'), options))
    expect(unwrap(await folders.capture(ws('two'), options)).commit).toBe(first.commit)
    const { path } = folders.facts
    expect(userGit(path, 'log', '-1', '--format=%an|%ae|%cn|%ce|%s', first.commit)).toBe(
      'Eve  x|parley@localhost|Parley|parley@localhost|same',
    )
    expect(userGit(path, 'log', '-1', '--format=%at %ct', first.commit)).toBe(
      userGit(path, 'log', '-1', '--format=%ct %ct', base),
    )
  })

  test('takes odd authors and messages', async () => {
    const { folders } = await createFolders(gitProject())
    await prepared(folders)
    for (const author of ['', '...', '<>', '\n', 'x'.repeat(1000), 'agent-7', 'Zoë']) {
      const options = { parent: await folders.head(), author, message: `a\0b\n${'y'.repeat(100_000)}` }
      const { commit } = unwrap(await folders.capture(ws('one'), options))
      expect(userGit(folders.facts.path, 'log', '-1', '--format=%an', commit)).not.toBe('')
    }
  })

  test('stands on the parent, whatever the agent committed, staged or checked out', async () => {
    const project = gitProject()
    write(project, { 'readme.md': 'older\n' })
    commitAll(project, 'second')
    const { folders, folder } = await opened(project)
    write(folder, { committed: '1' })
    userGit(folder, 'add', '.')
    userGit(folder, 'commit', '-qm', 'by the agent')
    userGit(folder, 'checkout', '--quiet', '--detach', 'HEAD~2')
    userGit(folder, 'rm', '--quiet', '--cached', 'src/main.ts')
    write(folder, { kept: '2' })
    const work = await captured(folders)
    // Its checkout of the first commit is a change of readme.md, and took away what it had committed.
    expect(paths(work.changed)).toEqual(['kept', 'readme.md'])
    expect(userGit(project, 'rev-parse', `${work.commit}^`)).toBe(await folders.head())
    expect(userGit(project, 'rev-parse', `refs/parley/${'run_01kabcdefghjkmnpqrstvwxyz0'}/ws/${ws('one')}`)).toBe(
      work.commit,
    )
  })

  test('is kept from garbage collection', async () => {
    const project = gitProject()
    const { folders } = await createFolders(project)
    write(await prepared(folders), { a: '1' })
    const { commit } = await captured(folders)
    await folders.discard(ws('one'))
    userGit(project, 'reflog', 'expire', '--expire=now', '--all')
    userGit(project, 'gc', '--quiet', '--prune=now')
    expect(await folders.show(commit, 'a', 10)).toBe('1')
    expect(unwrap(await folders.integrate(commit, { message: '' }))).toHaveProperty('merged', true)
  })

  test('does not miss a file whose size and date were kept, nor one that the agent had git overlook', async () => {
    const { folders, folder } = await opened(gitProject())
    const file = join(folder, 'readme.md')
    const { atime, mtime } = lstatSync(file)
    writeFileSync(file, 'ONE\ntwo\nthree\n')
    utimesSync(file, atime, mtime)
    userGit(folder, 'update-index', '--assume-unchanged', 'readme.md')
    userGit(folder, 'update-index', '--skip-worktree', 'src/main.ts')
    write(folder, { 'src/main.ts': 'EXPORT {}\n' })
    const admin = userGit(folder, 'rev-parse', '--absolute-git-dir')
    expect(paths((await captured(folders)).changed)).toEqual(['readme.md', 'src/main.ts'])
    writeFileSync(join(admin, 'index'), 'broken')
    writeFileSync(join(admin, 'index.lock'), '')
    write(folder, { 'readme.md': 'TWO\ntwo\nthree\n' })
    expect(paths((await captured(folders)).changed)).toEqual(['readme.md', 'src/main.ts'])
  })

  test('works although the index of our own is broken or gone', async () => {
    const { folders, home } = await createFolders(gitProject())
    write(await prepared(folders), { a: '1' })
    const index = join(home, 'index', ws('one'))
    writeFileSync(index, 'broken')
    expect(paths((await captured(folders)).changed)).toEqual(['a'])
    rmSync(index)
    expect(paths((await captured(folders)).changed)).toEqual(['a'])
    expect(readdirSync(join(home, 'index'))).toEqual([ws('one')])
  })

  test('is refused if the folder is gone or only a link', async () => {
    const { folders, folder } = await opened(gitProject())
    const options = { parent: await folders.head(), message: '', author: '' }
    renameSync(folder, `${folder}.away`)
    expect(await folders.capture(ws('one'), options)).toMatchObject({ error: { code: 'folder_missing' } })
    symlinkSync('/etc', folder)
    expect(await folders.capture(ws('one'), options)).toMatchObject({ error: { code: 'folder_missing' } })
    expect(await folders.capture(ws('none'), options)).toMatchObject({ error: { code: 'folder_missing' } })
  })
})

describe.each([
  { kind: 'git', make: gitProject },
  { kind: 'copy', make: plainProject },
] as const)('names, modes and links in a $kind project', ({ make }) => {
  const odd = [
    'with space',
    'tab\tand "quotes"',
    'line\nbreak',
    'ünïcode 漢字 🎉',
    '"quoted"',
    '-dash',
    ':colon',
    'back\\slash',
    '*',
    '.dot',
    ' ',
  ]

  test('odd names survive the whole way', async () => {
    const { folders } = await createFolders(
      make({ ...someFiles, ...Object.fromEntries(odd.map(name => [`old/${name}`, name])) }),
    )
    const base = await folders.head()
    const folder = await prepared(folders)
    for (const name of odd) expect(readFileSync(join(folder, 'old', name), 'utf8')).toBe(name)
    for (const name of odd) write(folder, { [`new/${name}/${name}`]: name, [`old/${name}`]: 'changed' })
    const work = await captured(folders)
    expect(work.refused).toEqual([])
    expect(paths(work.changed)).toEqual(odd.flatMap(name => [`new/${name}/${name}`, `old/${name}`]).sort())
    for (const name of odd) expect(await folders.show(work.commit, `new/${name}/${name}`, 100)).toBe(name)
    unwrap(await folders.integrate(work.commit, { message: '' }))
    expect(listing(await prepared(folders, 'two'))).toEqual(listing(folder))
    expect((await folders.changes(base, await folders.head())).length).toBe(odd.length * 2)
    const refused = await captured(folders, 'one', { paths: [], parent: base })
    expect(paths(refused.refused)).toEqual(paths(work.changed))
    expect(listing(folder)).toEqual(listing(folders.facts.path))
  })

  test('names that are not UTF-8 survive too, are told in quotes and can be asked for', async () => {
    const { folders, folder } = await opened(make())
    const name = Buffer.concat([Buffer.from(`${folder}/src/caf`), Buffer.from([0xe9, 0x0a]), Buffer.from('.txt')])
    writeFileSync(name, 'latin')
    const quoted = '"src/caf\\351\\012.txt"'
    const work = await captured(folders, 'one', { paths: ['src/**'] })
    expect(work.changed).toEqual([{ path: quoted, kind: 'added', lines: { added: 1, removed: 0 } }])
    expect(await folders.show(work.commit, quoted, 10)).toBe('latin')
    unwrap(await folders.integrate(work.commit, { message: '' }))
    expect(listing(await prepared(folders, 'two'))).toEqual(listing(folder))
    // Refused later: it is put back.
    writeFileSync(name, 'changed')
    const after = await captured(folders, 'one', { paths: ['readme.md'] })
    expect(after.refused).toEqual([{ path: quoted, kind: 'changed', reason: 'outside' }])
    expect(readFileSync(name, 'utf8')).toBe('latin')
    rmSync(name)
    expect((await captured(folders)).changed).toMatchObject([{ path: quoted, kind: 'deleted' }])
  })

  test('executable bits, renames, kinds and binary files are kept', async () => {
    const { folders } = await createFolders(
      make({ ...someFiles, 'long.txt': 'line\n'.repeat(50), tool: '#!/bin/sh\n', dir: 'a file' }),
    )
    const base = await folders.head()
    const folder = await prepared(folders)
    chmodSync(join(folder, 'tool'), 0o755)
    renameSync(join(folder, 'long.txt'), join(folder, 'src/renamed.txt'))
    writeFileSync(join(folder, 'binary'), Buffer.from([0, 1, 2, 255]))
    rmSync(join(folder, 'dir'))
    write(folder, { 'dir/inside': 'now a folder' })
    rmSync(join(folder, 'src/deep'), { recursive: true })
    write(folder, { 'src/deep': 'now a file' })
    const work = await captured(folders)
    expect(work.refused).toEqual([])
    expect(work.changed).toEqual([
      { path: 'binary', kind: 'added' },
      { path: 'dir', kind: 'deleted', lines: { added: 0, removed: 1 } },
      { path: 'dir/inside', kind: 'added', lines: { added: 1, removed: 0 } },
      { path: 'src/deep', kind: 'added', lines: { added: 1, removed: 0 } },
      { path: 'src/deep/other.ts', kind: 'deleted', lines: { added: 0, removed: 1 } },
      { path: 'src/renamed.txt', from: 'long.txt', kind: 'renamed', lines: { added: 0, removed: 0 } },
      { path: 'tool', kind: 'changed', lines: { added: 0, removed: 0 } },
    ])
    expect(listing(unwrap(await folders.prepare(ws('two'), work.commit)))).toEqual(listing(folder))
    expect(await folders.changes(base, work.commit)).toEqual(work.changed)
  })

  test('links are kept and never followed', async () => {
    const outside = temporaryFolder()
    write(outside, { secret: 'secret', 'sub/secret': 'secret' })
    const { folders, folder } = await opened(make())
    symlinkSync(join(outside, 'secret'), join(folder, 'file-link'))
    symlinkSync(outside, join(folder, 'folder-link'))
    symlinkSync('nowhere', join(folder, 'broken-link'))
    rmSync(join(folder, 'src'), { recursive: true })
    symlinkSync(outside, join(folder, 'src'))
    const work = await captured(folders, 'one', { symlinks: 'outside' })
    expect(paths(work.changed)).toEqual([
      'broken-link',
      'file-link',
      'folder-link',
      'src',
      'src/deep/other.ts',
      'src/main.ts',
    ])
    expect(work.outsideLinks.toSorted()).toEqual(['file-link', 'folder-link', 'src'])
    expect(await folders.show(work.commit, 'folder-link', 1000)).toBe(outside)
    expect(await folders.show(work.commit, 'file-link', 1000)).toBe(join(outside, 'secret'))
    const next = unwrap(await folders.prepare(ws('two'), work.commit))
    expect(readlinkSync(join(next, 'src'))).toBe(outside)
    // Refused: the links go, what they pointed at stays.
    const refused = await captured(folders, 'one', { paths: [] })
    expect(refused.changed).toEqual([])
    expect(refused.refused).toHaveLength(6)
    expect(listing(folder)).toEqual(listing(folders.facts.path))
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
    expect(readFileSync(join(outside, 'sub/secret'), 'utf8')).toBe('secret')
  })
})

describe('what is refused', () => {
  test('changes outside the paths are put back, left out and told; the others are taken', async () => {
    const { folders, folder } = await opened(gitProject({ ...someFiles, '.env': 'A=1', 'docs/a.md': 'a' }))
    write(folder, {
      'readme.md': 'no',
      'docs/a.md': 'yes',
      'docs/.hidden/b': 'yes',
      '.env': 'no',
      'new/deep/file': 'no',
      'docs/c': 'yes',
    })
    rmSync(join(folder, 'src/main.ts'))
    chmodSync(join(folder, 'src/deep/other.ts'), 0o755)
    const work = await captured(folders, 'one', { paths: ['docs/**'] })
    expect(paths(work.changed)).toEqual(['docs/.hidden/b', 'docs/a.md', 'docs/c'])
    expect(work.refused.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
      { path: '.env', kind: 'changed', reason: 'outside' },
      { path: 'new/deep/file', kind: 'added', reason: 'outside' },
      { path: 'readme.md', kind: 'changed', reason: 'outside' },
      { path: 'src/deep/other.ts', kind: 'changed', reason: 'outside' },
      { path: 'src/main.ts', kind: 'deleted', reason: 'outside' },
    ])
    expect(existsSync(join(folder, 'new'))).toBe(false)
    expect(listing(unwrap(await folders.prepare(ws('two'), work.commit)))).toEqual(listing(folder))
    // All is put back: the next capture finds nothing to refuse.
    expect(await captured(folders, 'one', { paths: ['docs/**'] })).toMatchObject({
      commit: work.commit,
      refused: [],
    })
  })

  test('no paths at all allow nothing', async () => {
    const { folders, folder } = await opened(gitProject())
    write(folder, { 'readme.md': 'no', a: 'no' })
    const work = await captured(folders, 'one', { paths: [] })
    expect(work.changed).toEqual([])
    expect(paths(work.refused)).toEqual(['a', 'readme.md'])
    expect(listing(folder)).toEqual(listing(folders.facts.path))
  })

  test('a file that took the place of a folder which must stay, and a folder that of a file', async () => {
    const { folders, folder } = await opened(gitProject({ 'a/x': '1', b: '2' }))
    rmSync(join(folder, 'a'), { recursive: true })
    rmSync(join(folder, 'b'))
    write(folder, { a: 'file', 'b/y': 'in a folder' })
    const work = await captured(folders, 'one', { paths: ['a', 'b/**'] })
    expect(work.changed).toEqual([])
    expect(paths(work.refused)).toEqual(['a', 'a/x', 'b', 'b/y'])
    expect(listing(folder)).toEqual(listing(folders.facts.path))
  })

  test('.git folders inside, by name; the files beside them are taken as they are', async () => {
    const { folders, folder } = await opened(gitProject())
    for (const inside of ['fresh', 'src', 'empty', 'fresh/inner']) {
      mkdirSync(join(folder, inside), { recursive: true })
      userGit(join(folder, inside), 'init', '--quiet')
    }
    write(folder, {
      'fresh/file': '1',
      'fresh/inner/file': '2',
      'src/file': '3',
      'odd/.git': 'not a repository',
      'odd/file': '4',
      'fresh/.gitignore': 'ignored',
      'fresh/ignored': '5',
    })
    commitAll(join(folder, 'fresh/inner'), 'inner')
    const work = await captured(folders)
    expect(paths(work.changed)).toEqual(['fresh/.gitignore', 'fresh/file', 'fresh/inner/file', 'odd/file', 'src/file'])
    expect(work.changed.every(each => each.lines !== undefined)).toBe(true)
    expect(paths(work.refused)).toEqual(['fresh/.git', 'fresh/inner/.git', 'odd/.git', 'src/.git'])
    expect(work.refused.every(each => each.reason === 'git')).toBe(true)
    for (const path of paths(work.refused)) expect(existsSync(join(folder, path))).toBe(false)
    expect(await captured(folders)).toMatchObject({ commit: work.commit, refused: [] })
  })

  test.each(['deleted', 'another repository', 'a file'])(
    'the .git of the worktree itself, when it was replaced: %s',
    async how => {
      const { folders, folder } = await opened(gitProject())
      rmSync(join(folder, '.git'))
      if (how === 'another repository') userGit(folder, 'init', '--quiet')
      if (how === 'a file') writeFileSync(join(folder, '.git'), 'gitdir: /nowhere\n')
      write(folder, { a: '1' })
      const work = await captured(folders)
      expect(paths(work.changed)).toEqual(['a'])
      expect(work.refused).toEqual([{ path: '.git', kind: 'changed', reason: 'git' }])
      expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(await folders.head())
    },
  )

  test('files over 50 MiB, by name', async () => {
    const { folders, folder } = await opened(gitProject())
    for (const name of ['large', 'readme.md', 'just']) write(folder, { [name]: '' })
    truncateSync(join(folder, 'large'), 50 * 1024 * 1024 + 1)
    truncateSync(join(folder, 'readme.md'), 60 * 1024 * 1024)
    truncateSync(join(folder, 'just'), 50 * 1024 * 1024)
    const work = await captured(folders)
    expect(paths(work.changed)).toEqual(['just'])
    expect(work.refused).toEqual([
      { path: 'readme.md', kind: 'changed', reason: 'too_large' },
      { path: 'large', kind: 'added', reason: 'too_large' },
    ])
    expect(readFileSync(join(folder, 'readme.md'), 'utf8')).toBe(someFiles['readme.md'])
    expect(existsSync(join(folder, 'large'))).toBe(false)
  })

  test('names that git does not take', async () => {
    const { folders, folder } = await opened(gitProject())
    write(folder, { 'git~1': '1', 'x/.GIT/config': '2', fine: '3' })
    const work = await captured(folders)
    expect(paths(work.changed)).toEqual(['fine'])
    expect(paths(work.refused)).toEqual(['git~1', 'x/.GIT/config'])
    expect(existsSync(join(folder, 'x'))).toBe(false)
  })

  test('names that were made to be slow to match', { timeout: 30_000 }, async () => {
    const { folders, folder } = await opened(gitProject())
    const slow = Array.from({ length: 100 }, (_, number) => `${'-'.repeat(240)}${number}`)
    write(folder, Object.fromEntries([...slow, 'a-b-c-d.md'].map(name => [name, 'x'])))
    const work = await captured(folders, 'one', { paths: ['*-*-*-*.md', '**/*-*-*-*-*-*.md'] })
    expect(paths(work.changed)).toEqual(['a-b-c-d.md'])
    expect(paths(work.refused)).toEqual(slow.toSorted())
  })

  test('patterns that no team file may have; nothing is put back then', async () => {
    const { folders, folder } = await opened(gitProject())
    write(folder, { 'src/work.ts': 'work' })
    const options = { parent: await folders.head(), paths: ['{1..300000}'], message: '', author: '' }
    const refused = await folders.capture(ws('one'), options)
    expect(refused).toMatchObject(refusal('glob_unsupported'))
    expect(existsSync(join(folder, 'src/work.ts'))).toBe(true)
  })

  test('too much at once, with the folder that holds it; nothing is put back then', async () => {
    const { folders, folder } = await opened(gitProject())
    for (let number = 0; number < 22; number++) {
      write(folder, { [`node_modules/lib/${number}`]: '' })
      truncateSync(join(folder, `node_modules/lib/${number}`), 49 * 1024 * 1024)
    }
    write(folder, { 'src/work.ts': 'work' })
    const refused = await folders.capture(ws('one'), {
      parent: await folders.head(),
      message: '',
      author: '',
    })
    expect(refused).toMatchObject(refusal('capture_too_large'))
    expect((refused as { error: Error }).error.message).toContain('node_modules/lib/ (22 files, 1078 MiB)')
    write(folder, { '.gitignore': 'node_modules\n' })
    expect(paths((await captured(folders)).changed)).toEqual(['.gitignore', 'src/work.ts'])
  })
})
