// People who read the trail (W-TRAIL-20, -31), and who knocks at the highway (W-SEC-05).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { refused } from '../testing/fixture.ts'
import { houseWatch, person, withUsers } from '../testing/people.ts'

test('W-TRAIL-20 whoever was never accepted is on record as such, and a finished run stays as it ended', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice')
  await f.mark()
  const stranger = f.runtime.user('stranger')
  expect(refused(await stranger.query(f.run.id, {}))).toBe('permission_denied(unknown_identity)')
  const body = { entity: 'stranger', context: 'highway_access', reason: 'unknown_identity', source: '' }
  await f.expectAdded([['authentication_failed', null, 'protocol', body]])

  unwrap(await f.run.close())
  await f.mark()
  const house = houseWatch(f)
  await house()
  expect(unwrap(await alice.query(f.run.id, { scope: 'global' })).entries).toEqual([])
  expect(refused(await stranger.query(f.run.id, {}))).toBe('permission_denied(unknown_identity)')
  await f.expectAdded([])
  const denied = { user_id: 'alice', capability: 'view_trail_any', action: 'query_trail' }
  expect(await house()).toEqual([
    ['capability_denied', null, 'alice', { ...denied, reason: 'missing_capability' }],
    ['authentication_failed', null, 'protocol', body],
  ])
})

test('W-TRAIL-31 a query by one user_id gives exactly that person’s acts', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice', 'inject_directive_any', 'suspend_any', 'abort_any')
  const bob = await person(f, 'bob', 'suspend_any')
  const carol = await person(f, 'carol', 'view_trail_any')
  await f.worker('W', { owner: 'alice' })
  unwrap(await alice.inject(f.run.id, f.mail('W', 'directive')))
  unwrap(await bob.suspend(f.run.id, f.id('W'), 'wait'))
  unwrap(await alice.resume(f.run.id, f.id('W')))
  await f.settle()
  unwrap(await alice.abort(f.run.id, f.id('W')))
  const acts = async (actor: string) =>
    unwrap(await carol.query(f.run.id, { actor })).entries.map(({ event_type }) => event_type)
  expect(await acts('alice')).toEqual([
    'human_injection',
    'envelope_created',
    'suspension_resumed',
    'workspace_state_changed',
    'workspace_state_changed',
  ])
  expect(await acts('bob')).toEqual(['suspension_started', 'workspace_state_changed'])
})
