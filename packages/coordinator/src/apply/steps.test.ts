// Steps that a stop has cut off, on real repositories: the state is that of a node which died before it moved the
// branch.
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, planned, writes } from '../testing/fixture.ts'

const TEAM = planned('{ id: a, title: The first, agent: one, prompt: x }')

/** Everything but the last thing is done: files and index are as after the step, the branch is as before. */
async function cutOff() {
  const fixture = await Fixture.open({ one: writes('made', 'one') })
  fixture.git('config', 'user.name', 'Mira')
  fixture.git('config', 'user.email', 'mira@example.org')
  fixture.write('kept', 'old\n')
  fixture.commit('before')
  const { run } = await fixture.finished(TEAM)
  const journal = join(fixture.profile, 'applying')
  const copy = join(fixture.folder, 'journal')
  // Git runs this filter of the user's while the step is under way.
  fixture.git('config', 'filter.copy.smudge', `cp -r '${journal}' '${copy}'; cat`)
  writeFileSync(join(fixture.project, '.git/info/attributes'), '* filter=copy\n')
  const before = fixture.git('rev-parse', 'HEAD').trim()
  const { to } = unwrap(
    await fixture.coordinator.applies.apply(run as RunId, { principal: alice, folder: fixture.project }),
  )
  rmSync(join(fixture.project, '.git/info/attributes'))
  fixture.git('reset', '--quiet', '--soft', before)
  cpSync(copy, journal, { recursive: true })
  return {
    fixture,
    before,
    to: to!,
    /** The next node, when it is done with it. */
    async next() {
      await fixture.restart()
      // Whoever asks waits for it.
      unwrap(
        await fixture.coordinator.applies.apply(run as RunId, {
          principal: alice,
          folder: fixture.project,
          check: true,
        }),
      )
      return {
        head: fixture.git('rev-parse', 'HEAD').trim(),
        status: fixture.git('status', '--porcelain'),
        standing: (await fixture.coordinator.applies.list(run as RunId)).length,
      }
    },
  }
}

test('a step that was cut off is completed by the next node', async () => {
  const { before, to, next, fixture } = await cutOff()
  expect(fixture.git('rev-parse', 'HEAD').trim()).toBe(before)
  expect(await next()).toEqual({ head: to, status: '', standing: 1 })
})

test('where the branch has gone on meanwhile, what was done is taken back, and the work of the user stays', async () => {
  const { fixture, next } = await cutOff()
  fixture.write('kept', 'new\n')
  fixture.git('commit', '--quiet', '--only', '-m', 'moved on', 'kept')
  const head = fixture.git('rev-parse', 'HEAD').trim()
  expect(await next()).toEqual({ head, status: '', standing: 0 })
  expect(fixture.has('made')).toBe(false)
})

test('what the user has committed of it stays', async () => {
  const { fixture, next } = await cutOff()
  fixture.commit('all of it')
  const head = fixture.git('rev-parse', 'HEAD').trim()
  expect(await next()).toMatchObject({ head, status: '' })
  expect(fixture.has('made')).toBe(true)
})

test('a git program that the dead node has left at work is waited for', async () => {
  const { fixture, to, next } = await cutOff()
  const lock = join(fixture.project, '.git/index.lock')
  writeFileSync(lock, '')
  const recovered = next()
  await expect.poll(() => fixture.logged.some(line => line.includes('going on with the apply'))).toBe(true)
  expect(existsSync(lock)).toBe(true)
  rmSync(lock)
  expect(await recovered).toEqual({ head: to, status: '', standing: 1 })
})

test('a step is left for later where the repository is in the middle of something, or the node stops', async () => {
  const { fixture, to, next } = await cutOff()
  const bisect = join(fixture.project, '.git/BISECT_LOG')
  writeFileSync(bisect, '')
  await fixture.restart()
  await expect.poll(() => fixture.logged.some(line => line.includes('is left as it is'))).toBe(true)
  rmSync(bisect)
  const lock = join(fixture.project, '.git/index.lock')
  writeFileSync(lock, '')
  await fixture.restart()
  // It waits for the lock no longer, which would take more time than this test has.
  await fixture.stop()
  rmSync(lock)
  await fixture.start()
  expect(await next()).toEqual({ head: to, status: '', standing: 1 })
})
