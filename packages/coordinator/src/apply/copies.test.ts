// Results in a project without git, in real folders: what is written and deleted, what is refused, what is taken back.
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap } from '@parley/core'
import { expect, test, vi } from 'vitest'
import { PlainFiles } from '../folder/plain-files.ts'
import { alice, Fixture, planned, put, refusal } from '../testing/fixture.ts'

const TEAM = planned('{ id: a, title: The first, agent: one, prompt: x }')

async function solved(script: (folder: string) => void = work) {
  const fixture = await Fixture.open({
    one: ({ folder }) => {
      script(folder!)
      return 'done'
    },
  })
  const plain = join(fixture.folder, 'plain')
  for (const [path, text] of Object.entries({
    keep: '1',
    change: '1',
    'old/remove': '1',
    'old/deep/more': '1',
    tool: '#!',
  }))
    put(plain, path, text)
  const view = await fixture.finished(TEAM, { project: plain })
  const run = view.run as RunId
  const by = { principal: alice, folder: plain }
  return {
    fixture,
    plain,
    run,
    view,
    apply: (more: object = {}) => fixture.coordinator.applies.apply(run, { ...by, ...more }),
    undo: (more: object = {}) => fixture.coordinator.applies.undo(run, { ...by, ...more }),
    tree: () => picture(plain),
  }
}

function work(folder: string): void {
  put(folder, 'change', '2')
  put(folder, 'new/made', 'm')
  rmSync(join(folder, 'old'), { recursive: true })
  chmodSync(join(folder, 'tool'), 0o755)
  symlinkSync('keep', join(folder, 'link'))
}

const BEFORE = { change: '1', keep: '1', 'old/deep/more': '1', 'old/remove': '1', tool: '#!' }
const AFTER = { change: '2', keep: '1', link: '-> keep', 'new/made': 'm', tool: 'x #!' }

function picture(folder: string): Record<string, string> {
  const found: [string, string][] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap(name => {
    const stats = lstatSync(join(folder, name))
    if (stats.isDirectory()) return []
    if (stats.isSymbolicLink()) return [[name, `-> ${readlinkSync(join(folder, name))}`]]
    return [[name, `${stats.mode & 0o100 ? 'x ' : ''}${readFileSync(join(folder, name), 'utf8')}`]]
  })
  return Object.fromEntries(found.sort())
}

test('a result is written and deleted as the run did, once, is on record, and is taken back', async () => {
  const { fixture, plain, run, view, apply, undo, tree } = await solved()
  expect(view.result).toMatchObject({ deleted: ['old/deep/more', 'old/remove'] })
  expect(tree()).toEqual(BEFORE)
  const files = ['change', 'link', 'new/made', 'old/deep/more', 'old/remove', 'tool']
  expect(unwrap(await apply({ check: true }))).toMatchObject({ how: 'copy', already: false, files })
  expect(tree()).toEqual(BEFORE)
  expect(await undo()).toMatchObject(refusal('not_a_repository'))
  // What is beside it stays.
  put(plain, 'keep', 'mine')
  put(plain, 'other', 'mine')
  expect(unwrap(await apply())).toMatchObject({ how: 'copy', folder: plain, already: false, files })
  expect(tree()).toEqual({ ...AFTER, keep: 'mine', other: 'mine' })
  expect(existsSync(join(plain, 'old'))).toBe(false)
  expect(unwrap(await apply())).toMatchObject({ already: true, files: [] })
  await fixture.restart()
  expect(await fixture.coordinator.applies.list(run)).toMatchObject([{ how: 'copy', by: 'alice', folder: plain }])
  // Of this folder, without the run.
  const here = { principal: alice, folder: plain }
  expect(unwrap(await fixture.coordinator.applies.undo(undefined, here))).toMatchObject({ run, how: 'copy', files })
  expect(tree()).toEqual({ ...BEFORE, keep: 'mine', other: 'mine' })
  expect(existsSync(join(plain, 'new'))).toBe(false)
  expect(unwrap(await undo())).toMatchObject({ already: true })
  expect(await fixture.coordinator.applies.list(run)).toMatchObject([{ undone: expect.any(String) }])
  unwrap(await apply())
  expect(tree()).toEqual({ ...AFTER, keep: 'mine', other: 'mine' })
})

test.each<readonly [string, string, (plain: string) => void]>([
  ['edited', 'change', plain => put(plain, 'change', 'mine')],
  ['edited, and the run deleted it', 'old/remove', plain => put(plain, 'old/remove', 'mine')],
  ['made, where the run made one', 'new/made', plain => put(plain, 'new/made', 'mine')],
  ['deleted', 'change', plain => rmSync(join(plain, 'change'))],
  ['made a folder', 'link', plain => mkdirSync(join(plain, 'link'))],
  ['put behind a link', 'new/made', plain => symlinkSync('old', join(plain, 'new'))],
])('nothing is written where a file was %s since', async (_, file, edit) => {
  const { plain, apply, tree } = await solved()
  edit(plain)
  const before = tree()
  expect(await apply()).toMatchObject({ ok: false, error: { code: 'dirty_overlap', details: { files: [file] } } })
  expect(tree()).toEqual(before)
})

test('nothing is taken back where a file was changed after the apply', async () => {
  const { plain, apply, undo, tree } = await solved()
  unwrap(await apply())
  put(plain, 'change', 'mine')
  const before = tree()
  expect(await undo()).toMatchObject({ ok: false, error: { code: 'dirty_overlap', details: { files: ['change'] } } })
  expect(tree()).toEqual(before)
  put(plain, 'change', '2')
  unwrap(await undo())
  expect(tree()).toEqual(BEFORE)
})

test('a file becomes a folder, and a folder a file', async () => {
  const { apply, undo, tree } = await solved(folder => {
    rmSync(join(folder, 'keep'))
    put(folder, 'keep/inside', 'i')
    rmSync(join(folder, 'old'), { recursive: true })
    put(folder, 'old', 'file')
  })
  unwrap(await apply())
  expect(tree()).toEqual({ change: '1', 'keep/inside': 'i', old: 'file', tool: '#!' })
  unwrap(await undo())
  expect(tree()).toEqual(BEFORE)
})

test('what other programs run is named first, and a merge is none', async () => {
  const { fixture, apply } = await solved(folder => put(folder, '.npmrc', 'x=1\n'))
  expect(await apply()).toMatchObject({ ok: false, error: { code: 'unconfirmed' } })
  expect(await apply({ how: 'merge' })).toMatchObject(refusal('no_repository'))
  expect(await apply({ folder: fixture.folder })).toMatchObject(refusal('other_repository'))
  expect(unwrap(await apply({ accept: true }))).toMatchObject({ notable: [{ kind: 'settings', path: '.npmrc' }] })
})

test.each(['completed', 'taken back'])('an apply that a stop cuts off is %s at the next start', async how => {
  const { fixture, plain, run, apply, tree } = await solved()
  const journal = join(fixture.profile, 'applying')
  const copy = join(fixture.folder, 'journal')
  const write = vi.spyOn(PlainFiles.prototype, 'write').mockImplementationOnce(async () => {
    cpSync(journal, copy, { recursive: true })
  })
  unwrap(await apply())
  write.mockRestore()
  // As a node leaves it that is killed between two files: on record and in the journal.
  put(plain, 'new/made', how === 'completed' ? 'm' : 'mine')
  put(plain, 'change', '2')
  await fixture.stop()
  cpSync(copy, journal, { recursive: true })
  await fixture.start()
  await fixture.coordinator.applies.recover()
  expect(tree()).toEqual(how === 'completed' ? AFTER : { ...BEFORE, 'new/made': 'mine' })
  expect(readdirSync(journal)).toEqual([])
  expect(await fixture.coordinator.applies.list(run)).toHaveLength(how === 'completed' ? 1 : 0)
})
