// Ways of merging beside the three-way merge, lines of teams inside a run, and drafts of merges.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { MergeWay } from './model.ts'
import type { RunFolders } from './run-folders.ts'
import { captured, createFolders, type Files, gitProject, prepared, write, ws } from './testing/project.ts'

async function work(folders: RunFolders, name: string, files: Files, gone: readonly string[] = []) {
  const parent = await folders.head()
  const folder = await prepared(folders, name)
  for (const path of gone) rmSync(join(folder, path), { recursive: true })
  write(folder, files)
  return (await captured(folders, name, { parent })).commit
}

const start = { both: '1\n2\n3\n', kept: 'kept\n', gone: 'gone\n', 'dir/file': 'file\n' }

/** Two works from one start, the first merged already. */
async function rivals(one: Files, two: Files, gone: readonly string[] = []) {
  const { folders } = await createFolders(gitProject(start))
  const first = await work(folders, 'one', one)
  const second = await work(folders, 'two', two, gone)
  unwrap(await folders.integrate(first, { message: 'first' }))
  return { folders, first, second }
}

async function files(folders: RunFolders, paths: readonly string[], commit?: string) {
  const head = commit ?? (await folders.head())
  const texts = await Promise.all(paths.map(async path => [path, await folders.show(head, path, 1000)]))
  return Object.fromEntries(texts) as Record<string, string | undefined>
}

const merge = (folders: RunFolders, commit: string, way: MergeWay) =>
  folders.integrate(commit, { message: 'second', way })

test('direct: what the later work changed replaces what was there, and nothing else', async () => {
  const { folders, second } = await rivals(
    { both: 'first\n2\n3\n', kept: 'changed by the first\n' },
    { both: '1\n2\nsecond\n', added: 'new\n' },
    ['gone'],
  )
  const merged = unwrap(await merge(folders, second, { way: 'overwrite' }))
  expect(merged).toHaveProperty('merged', true)
  expect(await files(folders, ['both', 'kept', 'gone', 'added', 'dir/file'])).toEqual({
    both: '1\n2\nsecond\n',
    kept: 'changed by the first\n',
    gone: undefined,
    added: 'new\n',
    'dir/file': 'file\n',
  })
  // Harmless to repeat.
  expect(unwrap(await merge(folders, second, { way: 'overwrite' }))).toHaveProperty('merged', false)
})

test.each([
  ['incoming', 'second\n'],
  ['existing', 'first\n'],
] as const)('take %s: one side where they do not fit, both where they do', async (side, text) => {
  const { folders, second } = await rivals(
    { both: 'first\n', kept: 'kept\nby the first\n' },
    { both: 'second\n', gone: 'changed by the second\n' },
  )
  unwrap(await merge(folders, second, { way: 'take', side }))
  expect(await files(folders, ['both', 'kept', 'gone'])).toEqual({
    both: text,
    kept: 'kept\nby the first\n',
    gone: 'changed by the second\n',
  })
})

test.each([
  ['incoming', undefined],
  ['existing', 'changed\n'],
] as const)('take %s of a file that one side removed', async (side, text) => {
  const { folders, second } = await rivals({ both: 'changed\n' }, {}, ['both'])
  expect(unwrap(await merge(folders, second, { way: 'merge' }))).toEqual({ conflicts: ['both'] })
  unwrap(await merge(folders, second, { way: 'take', side }))
  expect(await files(folders, ['both'])).toEqual({ both: text })
})

test('direct: a file takes the place of a folder', async () => {
  const { folders, second } = await rivals({ kept: 'by the first\n' }, { dir: 'a file now\n' }, ['dir'])
  unwrap(await merge(folders, second, { way: 'overwrite' }))
  expect(await files(folders, ['dir', 'dir/file', 'kept'])).toEqual({
    dir: 'a file now\n',
    'dir/file': undefined,
    kept: 'by the first\n',
  })
})

test('a draft shows what does not fit, and what was made of it becomes the state', async () => {
  const { folders, second } = await rivals({ both: 'first\n' }, { both: 'second\n', added: 'new\n' })
  const head = await folders.head()
  const draft = unwrap(await folders.draft(second))
  expect(draft).toMatchObject({ head, conflicts: ['both'] })
  expect(await folders.head()).toBe(head)
  const [excerpt] = await folders.excerpts(draft, 1000)
  expect(excerpt?.path).toBe('both')
  expect(excerpt?.text).toMatch(/^<<<<<<< .*\nfirst\n=======\nsecond\n>>>>>>> .*\n$/)
  // The integrator works on the draft.
  unwrap(await folders.prepare(ws('three'), draft.commit))
  write(join(folders.environment.GIT_CEILING_DIRECTORIES, ws('three')), { both: 'first and second\n' })
  const result = (await captured(folders, 'three', { parent: draft.commit })).commit
  unwrap(await merge(folders, second, { way: 'result', commit: result }))
  expect(await files(folders, ['both', 'added'])).toEqual({ both: 'first and second\n', added: 'new\n' })
  expect(unwrap(await merge(folders, second, { way: 'result', commit: result }))).toHaveProperty('merged', false)
})

test('a team inside the run has a line of its own', async () => {
  const { folders } = await createFolders(gitProject(start))
  const base = await folders.head()
  const inner = await work(folders, 'inner', { inner: 'i\n' })
  const outer = await work(folders, 'outer', { outer: 'o\n' })
  unwrap(await folders.startLine(ws('team'), base))
  unwrap(await folders.integrate(inner, { message: 'inner', into: ws('team') }))
  unwrap(await folders.integrate(outer, { message: 'outer' }))
  expect(await files(folders, ['inner', 'outer'])).toEqual({ inner: undefined, outer: 'o\n' })
  const line = await folders.head(ws('team'))
  expect(await files(folders, ['inner', 'outer'], line)).toEqual({ inner: 'i\n', outer: undefined })
  // Started again after a restart, it stays where it is.
  unwrap(await folders.startLine(ws('team'), base))
  expect(await folders.head(ws('team'))).toBe(line)
  unwrap(await folders.integrate(line, { message: 'the team' }))
  expect(await files(folders, ['inner', 'outer'])).toEqual({ inner: 'i\n', outer: 'o\n' })
  await expect(folders.head(ws('nobody'))).rejects.toMatchObject({ code: 'line_missing' })
})
