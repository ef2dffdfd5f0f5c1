// Links that lead out of the project, and what is neither file, folder nor link.
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import {
  captured,
  commitAll,
  createFolders,
  gitProject,
  listing,
  opened,
  prepared,
  someFiles,
  temporaryFolder,
  write,
  ws,
} from '../testing/project.ts'
import { placeInside } from './links.ts'

function link(folder: string, name: string, target: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  symlinkSync(target, join(folder, name))
}

const paths = (list: readonly { readonly path: string }[]) => list.map(({ path }) => path).sort()

test.each([
  ['a', 'readme.md', 'readme.md'],
  ['src/a', '../readme.md', 'readme.md'],
  ['src/deep/a', './/.././main.ts', 'src/main.ts'],
  ['src/a', '..', ''],
  ['a', 'nowhere/at/all', 'nowhere/at/all'],
  ['a', '.github/x', '.github/x'],
  ['a', '...', '...'],
  ['a', '/etc/passwd', undefined],
  ['a', '..', undefined],
  ['src/a', '../../x', undefined],
  ['src/deep/a', '../../../x', undefined],
  // Inside as it is, outside if somebody makes src/deep a link to a folder of the top.
  ['a', 'src/deep/../../../x', undefined],
  ['a', 'src/deep/../x', undefined],
  ['a', '.git/config', undefined],
  ['src/a', '../.GIT', undefined],
  ['src/a', '../git~1/hooks', undefined],
  ['src/a', 'sub/.git. /hooks', undefined],
  ['src/a', Buffer.from('../.g\u200cit/hooks').toString('latin1'), undefined],
])('%s -> %s leads to %s', (name, target, place) => {
  expect(placeInside(name, target)).toBe(place)
})

test('links that lead out of the project are put back and told; those that stay inside are taken', async () => {
  const outside = temporaryFolder()
  write(outside, { secret: 'secret' })
  const project = gitProject({ ...someFiles, dir: 'a file' })
  // The user's own: nobody judges it, but what goes through it leads outside.
  symlinkSync(outside, join(project, 'own'))
  commitAll(project, 'a link of the user')
  const { folders, folder } = await opened(project)
  const inside = {
    near: 'readme.md',
    'src/up': '../readme.md',
    'to-dir': 'src/deep',
    dangling: 'later',
    loop: 'loop',
  }
  const out = {
    absolute: join(outside, 'secret'),
    'own-folder': join(folder, 'readme.md'),
    'src/deep/chain': '../../../x',
    git: '.git/config',
    'dangling-out': '../nowhere',
    'via-own': 'own/secret',
    'src/via': '../to-out/x',
    'to-out': '../../..',
  }
  for (const [name, target] of Object.entries({ ...inside, ...out })) link(folder, name, target)
  rmSync(join(folder, 'dir'))
  link(folder, 'dir', '/etc/hosts')
  const work = await captured(folders)
  expect(paths(work.changed)).toEqual(Object.keys(inside).sort())
  expect(paths(work.refused)).toEqual([...Object.keys(out), 'dir'].sort())
  expect(new Set(work.refused.map(({ reason }) => reason))).toEqual(new Set(['symlink']))
  expect(work.outsideLinks).toEqual([])
  expect(readFileSync(join(folder, 'dir'), 'utf8')).toBe('a file')
  for (const name of Object.keys(out)) expect(lstatSync(join(folder, name), { throwIfNoEntry: false })).toBeUndefined()
  expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
  expect(readlinkSync(join(folder, 'own'))).toBe(outside)
  // All is put back: the next capture finds nothing to refuse.
  expect(await captured(folders)).toMatchObject({ commit: work.commit, refused: [] })
})

test('a folder of the project that was replaced by a link to outside comes back with its files', async () => {
  const outside = temporaryFolder()
  write(outside, { 'main.ts': 'theirs' })
  const { folders, folder } = await opened(gitProject())
  rmSync(join(folder, 'src'), { recursive: true })
  link(folder, 'src', outside)
  write(folder, { a: '1' })
  const work = await captured(folders)
  expect(paths(work.changed)).toEqual(['a'])
  expect(paths(work.refused)).toEqual(['src', 'src/deep/other.ts', 'src/main.ts'])
  expect(readFileSync(join(folder, 'src/main.ts'), 'utf8')).toBe(someFiles['src/main.ts'])
  expect(readFileSync(join(outside, 'main.ts'), 'utf8')).toBe('theirs')
  // By one that stays inside it may be replaced.
  renameSync(join(folder, 'src'), join(folder, 'lib'))
  link(folder, 'src', 'lib')
  const moved = await captured(folders)
  expect(moved.refused).toEqual([])
  expect(await folders.show(moved.commit, 'src', 10)).toBe('lib')
})

test('where a turn may make them they are taken, and told', async () => {
  const { folders, folder } = await opened(gitProject())
  link(folder, 'out', '/etc/hosts')
  link(folder, 'in', 'readme.md')
  const work = await captured(folders, 'one', { symlinks: 'outside' })
  expect(work.refused).toEqual([])
  expect(work.outsideLinks).toEqual(['out'])
  expect(await folders.show(work.commit, 'out', 100)).toBe('/etc/hosts')
  // The paths of the turn still count.
  const narrow = await captured(folders, 'one', { symlinks: 'outside', paths: ['in'] })
  expect(narrow).toMatchObject({ refused: [{ path: 'out', reason: 'outside' }], outsideLinks: [] })
})

test('a link that only a merge lets lead outside is a conflict', async () => {
  const project = gitProject(someFiles)
  link(project, 'a/b/c/link', '../x')
  commitAll(project, 'a link')
  const { folders } = await createFolders(project)
  const base = await folders.head()
  const one = await prepared(folders, 'one')
  rmSync(join(one, 'a/b/c/link'))
  link(one, 'a/b/c/link', '../../../readme.md')
  const two = await prepared(folders, 'two')
  renameSync(join(two, 'a/b/c/link'), join(two, 'src/link'))
  const first = await captured(folders, 'one', { parent: base })
  const second = await captured(folders, 'two', { parent: base })
  expect([first.refused, second.refused]).toEqual([[], []])
  unwrap(await folders.integrate(second.commit, { message: '' }))
  const merged = unwrap(await folders.integrate(first.commit, { message: '' }))
  expect(merged).toEqual({ conflicts: ['src/link'] })
})

test('pipes and sockets are told and left out, and what they took the place of comes back', async () => {
  const { folders, folder } = await opened(gitProject({ ...someFiles, '.gitignore': 'ignored\n*.pipe\n' }))
  const pipe = (name: string) => execFileSync('mkfifo', [join(folder, name)])
  for (const name of ['new/deep', 'ignored']) mkdirSync(join(folder, name), { recursive: true })
  pipe('new/deep/pipe')
  pipe('ignored/pipe')
  pipe('other.pipe')
  rmSync(join(folder, 'readme.md'))
  pipe('readme.md')
  rmSync(join(folder, 'src'), { recursive: true })
  pipe('src')
  const server = createServer().listen(join(folder, 'socket'))
  onTestFinished(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  write(folder, { a: '1' })
  const work = await captured(folders)
  expect(paths(work.changed)).toEqual(['a'])
  const told = ['new/deep/pipe', 'readme.md', 'socket', 'src', 'src/deep/other.ts', 'src/main.ts']
  expect(paths(work.refused)).toEqual(told)
  expect(new Set(work.refused.map(({ reason }) => reason))).toEqual(new Set(['special']))
  expect(listing(join(folder, 'src'))).toEqual(listing(join(folders.facts.path, 'src')))
  expect(readFileSync(join(folder, 'readme.md'), 'utf8')).toBe(someFiles['readme.md'])
  // Whoever made them may be at work with them still.
  expect(existsSync(join(folder, 'socket'))).toBe(true)
  expect(existsSync(join(folder, 'new/deep/pipe'))).toBe(true)
  expect(existsSync(join(unwrap(await folders.prepare(ws('two'), work.commit)), 'new'))).toBe(false)
})
