// Merging into the run's head.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { RunFolders } from './run-folders.ts'
import {
  captured,
  createFolders,
  type Files,
  gitProject,
  prepared,
  RUN,
  temporaryFolder,
  userGit,
  write,
} from './testing/project.ts'

async function work(folders: RunFolders, name: string, files: Files, parent: string): Promise<string> {
  write(await prepared(folders, name), files)
  return (await captured(folders, name, { parent })).commit
}

test('two changes to different lines of a file both stay', async () => {
  const { folders } = await createFolders(gitProject({ text: '1\n2\n3\n4\n5\n6\n7\n8\n9\n' }))
  const base = await folders.head()
  const one = await work(folders, 'one', { text: 'one\n2\n3\n4\n5\n6\n7\n8\n9\n' }, base)
  const two = await work(folders, 'two', { text: '1\n2\n3\n4\n5\n6\n7\n8\nnine\n' }, base)
  unwrap(await folders.integrate(one, { message: 'first merge' }))
  unwrap(await folders.integrate(two, { message: 'second merge' }))
  const head = await folders.head()
  expect(await folders.show(head, 'text', 100)).toBe('one\n2\n3\n4\n5\n6\n7\n8\nnine\n')
  const { path } = folders.facts
  expect(userGit(path, 'log', '--first-parent', '--format=%s', head)).toBe('second merge\nfirst merge\nstart')
  expect(userGit(path, 'log', '-1', '--format=%P', head).split(' ')[1]).toBe(two)
})

test('doing it again changes nothing, whatever came after', async () => {
  const { folders } = await createFolders(gitProject())
  const base = await folders.head()
  const one = await work(folders, 'one', { a: '1' }, base)
  const first = unwrap(await folders.integrate(one, { message: 'm' }))
  expect(unwrap(await folders.integrate(one, { message: 'm' }))).toEqual({ ...first, merged: false })
  unwrap(await folders.integrate(await work(folders, 'two', { b: '2' }, base), { message: 'm' }))
  const head = await folders.head()
  expect(unwrap(await folders.integrate(one, { message: 'm' }))).toEqual({ head, merged: false })
  expect(unwrap(await folders.integrate(base, { message: 'm' }))).toEqual({ head, merged: false })
  expect(await folders.head()).toBe(head)
})

test('the same merges in the same order give the same commits', async () => {
  const project = gitProject()
  const heads = []
  for (let round = 0; round < 2; round++) {
    const { folders } = await createFolders(project, `${RUN.slice(0, -1)}${round}` as typeof RUN)
    const base = await folders.head()
    for (const name of ['one', 'two']) {
      unwrap(await folders.integrate(await work(folders, name, { [name]: name }, base), { message: name }))
    }
    heads.push(await folders.head())
  }
  expect(heads[0]).toBe(heads[1])
})

test('conflicts are named and change nothing', async () => {
  const { folders } = await createFolders(gitProject({ a: '1\n', b: '1\n', 'ü\n"x': '1\n', c: '1\n' }))
  const base = await folders.head()
  const one = await work(folders, 'one', { a: '2\n', 'ü\n"x': '2\n', new: 'x' }, base)
  const folder = await prepared(folders, 'two')
  write(folder, { a: '3\n', 'ü\n"x': '3\n', b: '3\n', new: 'y' })
  rmSync(join(folder, 'c'))
  const two = (await captured(folders, 'two', { parent: base })).commit
  unwrap(await folders.integrate(one, { message: '' }))
  const head = await folders.head()
  expect(unwrap(await folders.integrate(two, { message: '' }))).toEqual({ conflicts: ['a', 'new', 'ü\n"x'] })
  expect(await folders.head()).toBe(head)
  expect(unwrap(await folders.integrate(two, { message: '' }))).toHaveProperty('conflicts')
})

test('a change to a file that others deleted is a conflict', async () => {
  const { folders } = await createFolders(gitProject())
  const base = await folders.head()
  const folder = await prepared(folders, 'one')
  rmSync(join(folder, 'readme.md'))
  unwrap(await folders.integrate((await captured(folders, 'one')).commit, { message: '' }))
  const two = await work(folders, 'two', { 'readme.md': 'changed' }, base)
  expect(unwrap(await folders.integrate(two, { message: '' }))).toEqual({ conflicts: ['readme.md'] })
})

test('two processes that merge at once both get theirs in', async () => {
  const { folders } = await createFolders(gitProject())
  const base = await folders.head()
  const names = Array.from({ length: 10 }, (_, number) => `w${number}`)
  const commits: string[] = []
  for (const name of names) commits.push(await work(folders, name, { [name]: name }, base))
  // Another home has turns of its own: only the ref's compare-and-swap keeps them apart, as between processes.
  const other = unwrap(await RunFolders.open({ facts: folders.facts, home: join(temporaryFolder(), 'h'), run: RUN }))
  const results = await Promise.all(
    commits.map((commit, number) => (number % 2 === 0 ? folders : other).integrate(commit, { message: commit })),
  )
  for (const result of results) unwrap(result)
  const head = await folders.head()
  expect((await folders.changes(base, head)).map(each => each.path)).toEqual(names)
  // Every one of them was merged once.
  expect(userGit(folders.facts.path, 'rev-list', '--count', '--merges', head)).toBe('10')
})

test('a lock that a killed process left on a ref of the run is taken away in the end', async () => {
  const { folders } = await createFolders(gitProject())
  const commit = await work(folders, 'one', { a: '1' }, await folders.head())
  const refs = join(folders.facts.path, '.git/refs/parley', RUN)
  writeFileSync(join(refs, 'head.lock'), '')
  expect(unwrap(await folders.integrate(commit, { message: '' }))).toHaveProperty('merged', true)
})

test('drivers that the user or an agent configured are not run', async () => {
  const project = gitProject({ text: '1\n', '.gitattributes': '* merge=evil diff=evil\n' })
  const marker = join(temporaryFolder(), 'ran')
  userGit(project, 'config', 'merge.evil.driver', `touch ${marker}`)
  userGit(project, 'config', 'diff.evil.command', `touch ${marker}`)
  userGit(project, 'config', 'diff.evil.textconv', `touch ${marker}; cat`)
  const { folders } = await createFolders(project)
  const base = await folders.head()
  const one = await work(folders, 'one', { text: '2\n' }, base)
  const two = await work(folders, 'two', { text: '3\n' }, base)
  unwrap(await folders.integrate(one, { message: '' }))
  expect(unwrap(await folders.integrate(two, { message: '' }))).toEqual({ conflicts: ['text'] })
  expect(await folders.diff(base, one, { maxBytes: 1000 })).toContain('+2\n')
  expect(existsSync(marker)).toBe(false)
})
