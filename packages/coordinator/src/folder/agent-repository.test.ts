// Git in an agent's folder: it works as in the project, and whatever is done with it stays there.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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

/** A repository with something of everything that a careless git command can lose. */
function preciousProject(): { project: string; linked: string; remote: string } {
  const project = gitProject({ ...someFiles, 'crlf.txt': 'a\r\n' })
  write(project, { 'readme.md': 'one\n2\nthree\n' })
  commitAll(project, 'second')
  const remote = join(temporaryFolder(), 'remote.git')
  userGit(project, 'clone', '--quiet', '--bare', project, remote)
  userGit(project, 'remote', 'add', 'origin', remote)
  userGit(project, 'fetch', '--quiet', 'origin')
  userGit(project, 'branch', 'precious')
  userGit(project, 'tag', 'v1', 'HEAD~1')
  userGit(project, 'tag', '-a', 'v2', '-m', 'annotated')
  userGit(project, 'branch', 'packed')
  userGit(project, 'pack-refs', '--all')
  const linked = join(temporaryFolder(), 'linked')
  userGit(project, 'worktree', 'add', '--quiet', '-b', 'side', linked)
  write(linked, { 'in-linked.txt': 'not committed' })
  // A commit that only the reflog knows.
  write(project, { lost: '1' })
  commitAll(project, 'lost')
  userGit(project, 'reset', '--quiet', '--hard', 'HEAD~1')
  write(project, { 'src/main.ts': 'stashed\n' })
  userGit(project, 'stash')
  write(project, { 'readme.md': 'dirty\n', 'staged.txt': 'staged', untracked: 'untracked' })
  userGit(project, 'add', 'staged.txt')
  writeFileSync(join(project, '.git/hooks/pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  return { project, linked, remote }
}

/** The last words of the script show that it came to its end. */
function shell(cwd: string, script: string, env: Readonly<Record<string, string>> = {}): void {
  const said = execFileSync('/bin/sh', ['-c', `${script}\necho the end`], {
    cwd,
    env: { PATH: process.env.PATH, HOME: temporaryFolder(), GIT_CONFIG_NOSYSTEM: '1', ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect(said).toMatch(/the end\n$/)
}

/** Some of these fail in a repository that has nothing to lose; none may be stopped by the one before it. */
const havoc = `
git branch -D precious; git branch -D main; git branch -D side; git branch -m packed renamed
git tag -d v1; git tag -d v2; git tag -f v1 HEAD
git stash drop; git stash clear
git config core.hooksPath /tmp/evil; git config user.name evil; git config core.bare true; git config core.bare false
git config --worktree core.editor evil; git config alias.log '!false'
git checkout -b foo; git branch -f main HEAD~1
echo agent >> readme.md; git add -A; git commit -q --no-verify -m 'by the agent'; git commit -q --amend -m 'again'
echo more >> readme.md; git stash
git remote remove origin; git remote add origin /nowhere; git push; git push --force --all; git push --mirror origin
git push origin :precious
git notes add -m note; git replace HEAD HEAD~1; git update-ref -d refs/parley/$RUN/head; git update-ref -d refs/parley/$RUN/base
git symbolic-ref HEAD refs/heads/evil; git update-ref refs/heads/evil foo
git worktree remove --force "$LINKED"; git worktree remove --force "$OTHER"; git worktree prune --expire=now
git worktree add --force ../extra; git worktree lock "$LINKED"
git reflog expire --expire=now --expire-unreachable=now --all; git reflog delete 'stash@{0}'
git pack-refs --all --prune; git repack -a -d -f; git prune --expire=now; git prune-packed
git gc --quiet --prune=now --aggressive; git maintenance run
git rm -r -q --cached . ; git reset --hard; git clean -f -d -x -q; git sparse-checkout set src
hooks=$(git rev-parse --git-path hooks); mkdir -p "$hooks"; echo evil > "$(git rev-parse --git-common-dir)/hooks-evil"
true`

describe('an agent in a git project', () => {
  test('finds history, branches and tags, and can commit, with HEAD detached and no remote', async () => {
    const { project } = preciousProject()
    const { folders, base, folder } = await opened(project)
    const refs = ['for-each-ref', 'refs/heads', 'refs/tags', 'refs/remotes']
    expect(userGit(folder, ...refs)).toBe(userGit(project, ...refs))
    expect(userGit(folder, 'for-each-ref').split('\n')).toHaveLength(userGit(folder, ...refs).split('\n').length)
    expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(base)
    expect(() => userGit(folder, 'symbolic-ref', '-q', 'HEAD')).toThrow()
    expect(userGit(folder, 'remote')).toBe('')
    expect(userGit(folder, 'stash', 'list')).toBe('')
    expect(userGit(folder, 'log', '--format=%H')).toBe(userGit(project, 'log', '--format=%H'))
    expect(userGit(folder, 'diff', 'v1', 'origin/main', '--stat')).toContain('readme.md')
    expect(userGit(folder, 'blame', '-s', 'readme.md')).toBe(userGit(project, 'blame', '-s', 'HEAD', 'readme.md'))
    expect(userGit(folder, 'describe', '--tags')).toBe('v2')
    expect(userGit(folder, 'status', '--porcelain')).toBe('')
    // Without any configuration of the agent's own.
    shell(folder, 'set -e; echo 1 > made; git add made; git commit --quiet -m made; git merge-base v1 HEAD; git fsck')
    expect(userGit(folder, 'log', '-1', '--format=%s %an', '--name-only')).toBe('made Parley\n\nmade')
    expect((await captured(folders)).changed).toMatchObject([{ path: 'made', kind: 'added' }])
  })

  test('sees the branches and tags of the moment when its folder is made', async () => {
    const project = gitProject()
    const { folders } = await createFolders(project)
    const one = await prepared(folders)
    userGit(project, 'branch', 'later')
    const two = await prepared(folders, 'two')
    expect(userGit(two, 'branch', '--list', 'later')).toContain('later')
    expect(userGit(one, 'branch', '--list', 'later')).toBe('')
    userGit(one, 'branch', 'mine')
    expect(userGit(two, 'branch', '--list', 'mine')).toBe('')
  })

  test('cannot change the repository of the user with git, and its work is taken all the same', async () => {
    const { project, linked, remote } = preciousProject()
    const seen = [picture(project), picture(linked)]
    const { folders, home, folder } = await opened(project)
    const other = await prepared(folders, 'two')
    write(other, { 'two.txt': 'two' })
    userGit(other, 'stash', '--include-untracked')
    userGit(other, 'stash', 'apply', '--quiet')
    const outside = [linked, remote, other, join(home, 'repositories', ws('two')), join(home, 'git')]
    // Every byte: refs, configuration, stash, reflogs, hooks, index, objects, worktrees, files.
    const everything = () => [listing(project, []), ...outside.map(each => listing(each, []))]
    const before = everything()
    expect(before[0]!.some(line => line.startsWith('.git/refs/stash'))).toBe(true)

    shell(folder, havoc, { LINKED: linked, OTHER: other, RUN })
    expect(everything()).toEqual(before)
    expect([picture(project), picture(linked)]).toEqual(seen)
    expect(userGit(folder, 'config', 'core.hooksPath')).toBe('/tmp/evil')
    expect(existsSync(join(project, '.git/worktrees', ws('one')))).toBe(false)

    write(folder, { 'one.txt': 'one' })
    for (const name of ['one', 'two']) {
      const { commit } = await captured(folders, name, { parent: folders.facts.base, paths: ['*.txt'] })
      unwrap(await folders.integrate(commit, { message: name }))
    }
    const { branch } = unwrap(await folders.finish())
    expect(userGit(project, 'diff', '--name-status', 'HEAD', branch!)).toBe('A\tone.txt\nA\ttwo.txt')
    await folders.clean()
    expect(traces(project)).toEqual(['linked'])
    userGit(project, 'branch', '--quiet', '-D', branch!)
    expect([picture(project), picture(linked)]).toEqual(seen)
    expect(userGit(project, 'stash', 'list').split('\n')).toHaveLength(1)
    userGit(project, 'fsck', '--strict', '--no-dangling')
  })

  test('leaves nothing that hinders the next folder, even if it breaks its repository', async () => {
    const { folders, home, folder } = await opened(gitProject())
    const gitDir = join(home, 'repositories', ws('one'))
    write(gitDir, {
      config: 'broken [',
      'hooks/post-checkout': '#!/bin/sh\nexit 1\n',
      'refs/heads/x.lock': '',
    })
    expect(() => userGit(folder, 'status')).toThrow()
    write(await prepared(folders, 'two'), { b: '2' })
    expect((await captured(folders, 'two')).changed).toHaveLength(1)
    write(folder, { a: '1' })
    expect((await captured(folders)).changed).toHaveLength(1)
    const again = await prepared(folders)
    expect(userGit(again, 'status', '--porcelain')).toBe('')
    expect(readdirSync(gitDir).includes('hooks')).toBe(false)
  })

  test('has a whole repository where the path of the project has a line break and quotes', async () => {
    const odd = join(temporaryFolder(), 'a "b"\n\\c')
    mkdirSync(odd)
    const project = join(odd, 'project')
    renameSync(gitProject(), project)
    const { folder } = await opened(project)
    expect(userGit(folder, 'log', '--format=%s')).toBe('start')
  })

  test('is not linked to the project: without the project only its history is gone', async () => {
    const project = gitProject()
    const { folder } = await opened(project)
    expect(userGit(project, 'worktree', 'list').split('\n')).toHaveLength(1)
    expect(existsSync(join(project, '.git/worktrees'))).toBe(false)
    expect(userGit(folder, 'rev-parse', '--path-format=absolute', '--git-common-dir')).not.toContain(project)
    rmSync(project, { recursive: true })
    expect(existsSync(join(folder, 'readme.md'))).toBe(true)
  })
})

test('an agent in a copied folder cannot change what the run keeps', async () => {
  const project = plainProject()
  const { folders, home, folder } = await opened(project)
  const other = await prepared(folders, 'two')
  write(folder, { a: '1' })
  const { commit } = await captured(folders)
  const everything = () => [project, other, join(home, 'git')].map(each => listing(each, []))
  const before = everything()
  shell(folder, havoc, { LINKED: other, OTHER: other, RUN })
  expect(everything()).toEqual(before)
  unwrap(await folders.integrate(commit, { message: 'm' }))
  expect(readdirSync(unwrap(await folders.finish()).folder!)).toContain('a')
})
