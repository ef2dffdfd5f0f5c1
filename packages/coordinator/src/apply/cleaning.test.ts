// Cleaning up after runs that are over, in a real repository: what goes, what stays and why.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { aborted, alice, Fixture, planned, put, refusal, solo, writes } from '../testing/fixture.ts'
import { standingOf } from './cleaning.ts'
import type { Application } from './house-record.ts'

const DAY = 24 * 60 * 60_000

async function opened(scripts = { one: writes('made') }) {
  const fixture = await Fixture.open(scripts)
  const clean = async (more: object = {}) =>
    unwrap(await fixture.coordinator.cleaning.clean({ principal: alice, olderThan: 0, ...more }))
  return { fixture, clean, refs: () => fixture.git('for-each-ref', '--format=%(refname)').split('\n').filter(Boolean) }
}

test('a branch whose commits nothing else has stays, unless that is forced; a merged one goes with its folder', async () => {
  const { fixture, clean, refs } = await opened()
  const merged = await fixture.finished(solo('one'))
  fixture.git('merge', '--quiet', '--no-edit', merged.result!.branch!)
  fixture.scripts = { one: writes('more') }
  const alone = await fixture.finished(solo('one'))
  const ref = (view: typeof merged) => `refs/heads/${view.result!.branch}`
  expect(await clean({ olderThan: DAY })).toEqual([])
  const plan = [
    { run: alone.run, folder: false, refs: [{ ref: ref(alone), stays: 'unreached' }] },
    { run: merged.run, folder: true, refs: [{ ref: ref(merged) }] },
  ]
  const byRun = (all: readonly { run: string }[]) => all.toSorted((a, b) => (a.run > b.run ? -1 : 1))
  expect(byRun(await clean({ check: true }))).toMatchObject(plan)
  expect(byRun(await clean({ check: true, folder: fixture.project }))).toMatchObject(plan)
  expect(await clean({ check: true, folder: fixture.folder })).toEqual([])
  expect(refs()).toHaveLength(3)
  expect(byRun(await clean())).toMatchObject(plan)
  expect(refs()).toEqual(['refs/heads/main', ref(alone)])
  expect(existsSync(join(fixture.profile, 'runs', merged.run))).toBe(false)
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(merged.run as RunId)).result_unknown).toContain('cleaned up')
  expect(await clean({ force: true })).toMatchObject([{ run: alone.run, folder: true }])
  expect(refs()).toEqual(['refs/heads/main'])
  expect(await clean({ force: true })).toEqual([])
})

test('a branch that was applied goes without force, as long as a branch has the commit of that', async () => {
  const { fixture, clean, refs } = await opened()
  fixture.git('config', 'user.name', 'Mira')
  fixture.git('config', 'user.email', 'mira@example.org')
  const view = await fixture.finished(solo('one'))
  const by = { principal: alice, folder: fixture.project }
  const stays = async () => (await clean({ check: true }))[0]!.refs[0]!.stays
  const apply = async () => unwrap(await fixture.coordinator.applies.apply(view.run as RunId, by))
  await apply()
  expect(await stays()).toBeUndefined()
  fixture.git('reset', '--quiet', '--hard', 'HEAD~')
  expect(await stays()).toBe('unreached')
  await apply()
  unwrap(await fixture.coordinator.applies.undo(view.run as RunId, by))
  fixture.git('branch', 'left', 'HEAD@{1}')
  expect(await stays()).toBe('unreached')
  fixture.git('branch', '-D', 'left')
  await apply()
  await fixture.restart()
  expect(await clean()).toMatchObject([
    { run: view.run, folder: true, refs: [{ ref: `refs/heads/${view.result!.branch}` }] },
  ])
  expect(refs()).toEqual(['refs/heads/main'])
})

test('what is taken back is so for every apply that made the same commit, until it is applied again', () => {
  const applied = (at: string, undone?: string) =>
    ({ to: 'same', at, ...(undone !== undefined && { undone: { at: undone } }) }) as unknown as Application
  const first = applied('2026-01-01T00:00:01')
  const second = applied('2026-01-01T00:00:02', '2026-01-01T00:00:03')
  const third = applied('2026-01-01T00:00:04')
  expect(standingOf([first])).toEqual([first])
  expect(standingOf([first, second])).toEqual([])
  expect(standingOf([first, second, third])).toEqual([third])
})

test('a branch that is checked out or that somebody has worked on stays even then', async () => {
  const { fixture, clean } = await opened()
  const view = await fixture.finished(solo('one'))
  fixture.git('checkout', '--quiet', view.result!.branch!)
  expect(await clean({ force: true })).toMatchObject([{ folder: false, refs: [{ stays: 'checked_out' }] }])
  fixture.write('own', 'x\n')
  fixture.commit('own')
  fixture.git('checkout', '--quiet', 'main')
  expect(await clean({ force: true })).toMatchObject([{ folder: false, refs: [{ stays: 'moved' }] }])
  expect(fixture.git('show', `${view.result!.branch}:own`)).toBe('x\n')
})

test('kept work and the only copy of a result stay unless that is forced; a run at work is refused', async () => {
  const held = Promise.withResolvers<void>()
  const { fixture, clean, refs } = await opened({
    one: async (input: Parameters<typeof aborted>[0]) => {
      put(input.folder!, 'part', 'x\n')
      unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).checkpoint('half'))
      held.resolve()
      return aborted(input)
    },
  } as never)
  const run = await fixture.solve(planned('{ id: a, title: A, agent: one, prompt: x }'))
  await held.promise
  const named = { principal: alice, olderThan: 0, runs: [run] }
  expect(await fixture.coordinator.cleaning.clean(named)).toMatchObject(refusal('invalid_state'))
  await fixture.abort(run, { reason: 'enough' })
  await fixture.over(run)
  await fixture.restart()
  expect(await clean()).toMatchObject([{ run, folder: false, refs: [{ stays: 'unreached' }] }])
  expect(await clean({ force: true })).toMatchObject([{ run, folder: true }])
  expect(refs()).toEqual(['refs/heads/main'])
  const salvaged = await fixture.coordinator.salvages.decide(run, { principal: alice, task: 'a', take: true })
  expect(salvaged).toMatchObject({ ok: false })
  const project = join(fixture.folder, 'plain')
  put(project, 'x', 'x\n')
  fixture.scripts = { one: writes('made') }
  const copied = await fixture.finished(solo('one'), { project })
  expect(await clean()).toMatchObject([{ run: copied.run, folder: false, result: copied.result!.folder }])
  expect(existsSync(copied.result!.folder!)).toBe(true)
  await clean({ force: true })
  expect(existsSync(copied.result!.folder!)).toBe(false)
})
