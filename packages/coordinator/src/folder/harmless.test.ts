// The user's repository: nothing of it is touched but refs of the run and one branch, and nothing that is configured
// there is run.
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import {
  captured,
  createFolders,
  gitProject,
  opened,
  picture,
  plainProject,
  prepared,
  RUN,
  someFiles,
  temporaryFolder,
  traces,
  userGit,
  write,
  ws,
} from './testing/project.ts'

/** Programs in every place where git would start one, all of which leave a mark and fail. */
function trap(project: string): { marks: () => string[]; undo: () => void } {
  const folder = temporaryFolder()
  const script = join(folder, 'trap')
  writeFileSync(script, `#!/bin/sh\ntouch "${folder}/ran-$(basename "$0")-$1"\nexit 1\n`)
  chmodSync(script, 0o755)
  for (const hook of hooks) {
    writeFileSync(join(project, '.git/hooks', hook), `#!/bin/sh\nexec "${script}" hook-${hook}\n`)
    chmodSync(join(project, '.git/hooks', hook), 0o755)
  }
  const config = [
    '[core]',
    `fsmonitor = ${script} fsmonitor`,
    `sshCommand = ${script} ssh`,
    `pager = ${script} pager`,
    `editor = ${script} editor`,
    `askPass = ${script}`,
    'autocrlf = true',
    'logAllRefUpdates = always',
    '[commit]',
    'gpgSign = true',
    '[gpg]',
    `program = ${script}`,
    '[credential]',
    `helper = "!${script} credential"`,
    '[diff]',
    `external = ${script} diff`,
    '[gc]',
    'auto = 1',
    ...['lfs', 'odd.name'].flatMap(name => [
      `[filter "${name}"]`,
      `clean = ${script} clean`,
      `smudge = ${script} smudge`,
      `process = ${script} process`,
      'required = true',
    ]),
  ]
  const file = join(project, '.git/config')
  const before = readFileSync(file)
  writeFileSync(file, `${before}${config.join('\n')}\n`)
  return {
    marks: () => readdirSync(folder).filter(name => name.startsWith('ran-')),
    undo: () => {
      writeFileSync(file, before)
      for (const hook of hooks) rmSync(join(project, '.git/hooks', hook))
    },
  }
}

const hooks = [
  'pre-commit',
  'commit-msg',
  'post-checkout',
  'post-index-change',
  'reference-transaction',
  'post-merge',
  'prepare-commit-msg',
  'post-commit',
]

test('the traps of the next test work', () => {
  const project = gitProject({ ...someFiles, '.gitattributes': '*.bin filter=lfs\n' })
  const { marks } = trap(project)
  expect(() => userGit(project, 'commit', '--allow-empty', '-m', 'x')).toThrow()
  write(project, { 'x.bin': '1' })
  expect(() => userGit(project, 'add', 'x.bin')).toThrow()
  const ran = marks().join(' ')
  for (const name of ['hook-pre-commit', 'fsmonitor', 'process']) expect(ran).toContain(name)
})

test('a dirty checkout stays exactly as it was, and no program that is configured is run', async () => {
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1\n'
  const project = gitProject({
    ...someFiles,
    '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n*.odd filter=odd.name\n',
    'big.bin': pointer,
    'x.odd': 'x',
    'crlf.txt': 'a\r\nb\n',
  })
  userGit(project, 'branch', 'other')
  userGit(project, 'tag', 'v1')
  write(project, { 'readme.md': 'changed\n', 'staged.txt': '1', untracked: '2', 'big.bin': 'real content' })
  userGit(project, 'add', 'staged.txt')
  write(project, { 'staged.txt': 'and changed again' })
  userGit(project, 'rm', '--quiet', '--cached', 'src/main.ts')
  const home = temporaryFolder()
  write(home, {
    '.gitconfig':
      '[commit]\ngpgSign = true\n[init]\ntemplateDir = /nowhere\n[core]\nhooksPath = /nowhere\nautocrlf = input\n',
  })
  const before = process.env.HOME
  process.env.HOME = home
  onTestFinished(() => {
    process.env.HOME = before
  })
  const seen = picture(project)
  const { marks, undo } = trap(project)
  const config = readFileSync(join(project, '.git/config'))
  const index = lstatSync(join(project, '.git/index')).mtimeMs

  const { folders } = await createFolders(project)
  expect(folders.facts.dirty).toBe(5)
  expect(folders.facts.dirty_files).toHaveLength(3)
  const base = await folders.head()
  const folder = await prepared(folders)
  expect(readFileSync(join(folder, 'big.bin'), 'utf8')).toBe(pointer)
  expect(readFileSync(join(folder, 'readme.md'), 'utf8')).toBe(someFiles['readme.md'])
  expect(readFileSync(join(folder, 'crlf.txt'), 'utf8')).toBe('a\r\nb\n')
  write(folder, { 'new.bin': 'really large', 'x.odd': 'y', 'big.bin': 'changed', 'crlf.txt': 'a\r\nb\r\n' })
  const work = await captured(folders, 'one', { paths: ['*.bin', 'crlf.txt'] })
  expect(work.refused).toEqual([{ path: 'x.odd', kind: 'changed', reason: 'outside' }])
  expect(await folders.show(work.commit, 'new.bin', 100)).toBe('really large')
  expect(await folders.show(work.commit, 'crlf.txt', 100)).toBe('a\r\nb\r\n')
  unwrap(await folders.integrate(work.commit, { message: 'm' }))
  await folders.changes(base, await folders.head())
  await folders.diff(base, await folders.head(), { maxBytes: 10_000 })
  await prepared(folders, 'two')
  await folders.discard(ws('two'))
  const { branch } = unwrap(await folders.finish())
  await folders.clean()

  expect(marks()).toEqual([])
  expect(traces(project)).toEqual([])
  expect(readFileSync(join(project, '.git/config'))).toEqual(config)
  expect(lstatSync(join(project, '.git/index')).mtimeMs).toBe(index)
  expect(existsSync(join(project, '.git/ORIG_HEAD'))).toBe(false)
  userGit(project, '-c', 'core.hooksPath=/dev/null', 'update-ref', '-d', `refs/heads/${branch}`)
  undo()
  expect(picture(project)).toEqual(seen)
})

test.each([
  { kind: 'git', make: gitProject },
  { kind: 'copy', make: plainProject },
] as const)('filters that an agent configures in its folder are not run by us: a $kind project', async ({ make }) => {
  const { folders, folder } = await opened(make())
  const mark = join(temporaryFolder(), 'ran')
  userGit(folder, 'config', 'filter.evil.clean', `touch ${mark}; cat`)
  userGit(folder, 'config', 'filter.evil.smudge', `touch ${mark}; cat`)
  userGit(folder, 'config', 'core.fsmonitor', `touch ${mark}`)
  const attributes = userGit(folder, 'rev-parse', '--path-format=absolute', '--git-path', 'info/attributes')
  writeFileSync(attributes, '* filter=evil\n')
  write(folder, { '.gitattributes': '* filter=evil\n', a: '1' })
  const { commit } = await captured(folders)
  unwrap(await folders.integrate(commit, { message: '' }))
  await prepared(folders, 'two')
  expect(existsSync(mark)).toBe(false)
})

test('other worktrees of the user are left alone, also those whose folder is away for a while', async () => {
  const project = gitProject()
  const linked = join(temporaryFolder(), 'linked')
  userGit(project, 'worktree', 'add', '--quiet', '-b', 'side', linked)
  const entry = join(project, '.git/worktrees/linked/gitdir')
  writeFileSync(entry, '/somewhere/unmounted/.git\n')
  const { folders } = await createFolders(project)
  await prepared(folders)
  unwrap(await folders.finish())
  await folders.clean()
  expect(readFileSync(entry, 'utf8')).toBe('/somewhere/unmounted/.git\n')
  expect(traces(project)).toEqual(['linked'])
})

test('two runs in one repository do not see each other', async () => {
  const project = gitProject()
  const one = await createFolders(project)
  const two = await createFolders(project, `${RUN.slice(0, -1)}x` as typeof RUN)
  write(await prepared(one.folders), { a: '1' })
  write(await prepared(two.folders), { b: '2' })
  unwrap(await one.folders.integrate((await captured(one.folders)).commit, { message: '' }))
  unwrap(await two.folders.integrate((await captured(two.folders)).commit, { message: '' }))
  unwrap(await one.folders.finish())
  await one.folders.clean()
  expect(await captured(two.folders)).toMatchObject({ changed: [] })
  expect((await two.folders.changes(two.folders.facts.base, await two.folders.head())).map(each => each.path)).toEqual([
    'b',
  ])
  expect(userGit(join(two.home, 'work', ws('one')), 'status', '--porcelain')).toContain('b')
})
