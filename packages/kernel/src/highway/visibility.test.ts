import { unwrap } from '@parley/core'
import type { Entry, QueryPage } from '@parley/trail'
import { expect, test } from 'vitest'
import { refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

/** The entries of the next page; none once the watch has ended. */
async function next(pages: AsyncGenerator<QueryPage>): Promise<readonly Entry[]> {
  const page = await pages.next()
  return page.done ? [] : page.value.entries
}

test('W-HWY-02 people watch live what they may read, and watching is not on record', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice')
  const carol = await person(f, 'carol', 'view_trail_any')
  await f.worker('W', { owner: 'alice' })
  await f.mark()
  const stop = new AbortController()
  const own = unwrap(await alice.watch(f.run.id, {}, stop.signal))
  expect(new Set((await next(own)).map(({ workspace }) => workspace))).toEqual(new Set([f.id('W')]))
  const all = unwrap(await carol.watch(f.run.id, {}, stop.signal))
  expect(await next(all)).toHaveLength((await f.run.entries()).length)
  // A page waits until there is something new; who loses the right to see it sees no more of it.
  const more = next(own)
  unwrap(await f.runtime.users.revoke('carol', 'view_trail_any', { reason: 'moved on' }))
  const nothing = next(all)
  unwrap(await f.agent('W').blocked('why'))
  expect((await more).map(({ event_type }) => event_type)).toContain('signal_emitted')
  await f.settle()
  stop.abort()
  expect(await nothing).toEqual([])
  expect((await f.added()).map(each => each.event_type)).not.toContain('trail_access_denied')
})

test('W-HWY-02 without visibility nothing is shown live; the trail can still be asked', async () => {
  const f = await withUsers({ run: { owner: 'ux', highway: { visibility: false } } })
  const carol = await person(f, 'carol', 'view_trail_any')
  expect(refused(await carol.watch(f.run.id))).toBe('invalid_state(visibility_off)')
  expect(unwrap(await carol.query(f.run.id, {})).entries.length).toBeGreaterThan(0)
})
