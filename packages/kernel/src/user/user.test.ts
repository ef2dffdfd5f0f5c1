// Users in the house run: how they become known, the ten transitions, capabilities, and who may change whom.
import { unwrap } from '@parley/core'
import { USER_STATES, type UserState } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { decide } from '../decide.ts'
import { type Fixture, refused } from '../testing/fixture.ts'
import { houseWatch, person, userDenial, withUsers } from '../testing/people.ts'
import { USER_TRANSITIONS } from './decide.ts'

const why = { reason: 'because' }

const NOBODY = [
  ['an empty name', ''],
  ['a name that is too long', 'x'.repeat(257)],
  ['a name that is no text', '\ud800'],
  ['a name with a control character', 'ux\u0000'],
  ['a name with a letter that nobody sees', 'ux\u200b'],
] as const

test.each(NOBODY)('W-SEC-06 %s is nobody: refused and on record', async (_name, user) => {
  const f = await withUsers()
  const house = houseWatch(f)
  await house()
  expect(refused(await f.runtime.users.accept({ user, method: 'token' }))).toBe('permission_denied(unknown_identity)')
  const [row, ...rest] = await house()
  expect(rest).toEqual([])
  expect(row?.[0]).toBe('authentication_failed')
  expect(row?.[3]).toMatchObject({ reason: 'unknown_identity' })
  expect(f.runtime.users.list().map(each => each.user)).toEqual(['ux'])
})

type Act = keyof typeof USER_TRANSITIONS

async function bring(f: Fixture, user: string, state: UserState): Promise<void> {
  await person(f, user)
  const { users } = f.runtime
  if (state === 'suspended') unwrap(await users.suspend(user, { reason: 'first' }))
  if (state === 'blocked') unwrap(await users.block(user, { reason: 'first' }))
  if (state === 'deactivated') unwrap(await users.deactivate(user, { reason: 'first' }))
}

test.each(
  (Object.keys(USER_TRANSITIONS) as Act[]).flatMap(act =>
    USER_STATES.filter(state => !USER_TRANSITIONS[act].from.includes(state)).map(state => [act, state] as const),
  ),
)('W-USER-03 to %s is refused in the state %s', async (act, state) => {
  const f = await withUsers()
  await bring(f, 'ux', state)
  const house = houseWatch(f)
  await house()
  expect(refused(await f.runtime.users[act]('ux', why))).toBe('invalid_state')
  expect(await house()).toEqual([])
})

test('W-USER-06 the coordinator of every run at work is told, and no workspace changes', async () => {
  const f = await withUsers()
  await person(f, 'ux')
  await f.worker('W', { owner: 'ux' })
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  const told: string[] = []
  other.subscribe(notice => told.push(`${notice.kind} ${notice.to}`))
  await f.mark()
  f.notices.splice(0)
  unwrap(await f.runtime.users.suspend('ux', why))
  expect(told).toEqual([`user ${other.coordinator.workspace}`])
  expect(f.notices).toHaveLength(1)
  await f.expectAdded([])
  expect(await f.state('W')).toBe('active')
})

test('W-USER-03 a user changes users only while active and with deactivate_user; the first failure is on record', async () => {
  const f = await withUsers()
  await person(f, 'admin', 'deactivate_user')
  await person(f, 'bob')
  await person(f, 'ux')
  const { users } = f.runtime
  const house = houseWatch(f)
  await house()
  const denied = (user: string, reason: string) => userDenial(user, 'suspend_user', 'deactivate_user', reason, 'ux')
  expect(refused(await users.suspend('ux', { by: 'bob', ...why }))).toBe('permission_denied(missing_capability)')
  expect(await house()).toEqual([denied('bob', 'missing_capability')])
  expect(refused(await users.suspend('ux', { by: 'nobody', ...why }))).toBe('permission_denied(unknown_identity)')
  expect((await house()).map(row => row[0])).toEqual(['authentication_failed'])

  expect(unwrap(await users.suspend('ux', { by: 'admin', ...why })).state).toBe('suspended')
  const body = { user_id: 'ux', reason: 'because', suspended_by: 'admin' }
  expect(await house()).toEqual([['user_suspended', null, 'admin', body]])
  unwrap(await users.resume('ux', why))
  unwrap(await users.block('admin', why))
  await house()
  expect(refused(await users.suspend('ux', { by: 'admin', ...why }))).toBe('permission_denied(user_not_active)')
  expect(await house()).toEqual([denied('admin', 'user_not_active')])
  expect(refused(await users.suspend('stranger', why))).toBe('not_found')
  expect(refused(await users.suspend('ux', { reason: '' }))).toBe('invalid_argument')
  expect(await house()).toEqual([])
})

test('W-USER-15 capabilities are granted and revoked by the system alone, on record before they count', async () => {
  const f = await withUsers()
  await person(f, 'ux', 'deactivate_user')
  const { users } = f.runtime
  const house = houseWatch(f)
  await house()
  expect(unwrap(await users.grant('ux', 'abort_any')).capabilities).toEqual(['abort_any', 'deactivate_user'])
  const capability = 'abort_any'
  expect(await house()).toEqual([
    ['capability_granted', null, 'system', { user_id: 'ux', capability, granted_by: 'system' }],
  ])
  expect(users.holds('ux', 'abort_any')).toBe(true)
  // What is held already is no change.
  unwrap(await users.grant('ux', 'abort_any'))
  unwrap(await users.grant('ux', 'view_trail_own'))
  unwrap(await users.revoke('ux', 'suspend_any'))
  expect(await house()).toEqual([])
  unwrap(await users.revoke('ux', 'abort_any', { reason: 'too much' }))
  expect(await house()).toEqual([
    ['capability_revoked', null, 'system', { user_id: 'ux', capability, revoked_by: 'system', reason: 'too much' }],
  ])
  expect(users.holds('ux', 'abort_any')).toBe(false)

  expect(refused(await users.revoke('ux', 'view_trail_own'))).toBe('invalid_argument')
  expect(users.holds('ux', 'view_trail_own')).toBe(true)
  expect(users.holds('stranger', 'view_trail_own')).toBe(false)
  expect(refused(await users.grant('ux', 'fly' as never))).toBe('invalid_argument')
  expect(refused(await users.grant('stranger', 'abort_any'))).toBe('not_found')
  expect(await house()).toEqual([])
  expect(refused(await users.grant('ux', 'abort_any', 'ux'))).toBe('permission_denied')
  expect(await house()).toEqual([userDenial('ux', 'grant_capability', capability, 'permission_denied', 'ux')])
  expect(users.holds('ux', 'abort_any')).toBe(false)
})

test('W-USER-18 deactivation deletes nothing, and who was deactivated is the same user afterwards', async () => {
  const f = await withUsers()
  await person(f, 'ux', 'abort_any')
  await f.worker('W', { owner: 'ux' })
  unwrap(await f.runtime.users.deactivate('ux', why))
  expect(await f.run.read(run => run.workspaces.get(f.id('W'))?.owner)).toBe('ux')
  expect(f.runtime.users.get('ux')).toEqual({ user: 'ux', state: 'deactivated', capabilities: ['abort_any'] })
  const house = houseWatch(f)
  await house()
  // Who somebody is, is one thing; what they may do, another.
  unwrap(await f.runtime.users.accept({ user: 'ux', method: 'password' }))
  expect((await house()).map(row => row[0])).toEqual(['authentication_succeeded'])
  expect(f.runtime.users.stateOf('ux')).toBe('deactivated')
})

test('no run but the house takes users', async () => {
  const f = await withUsers()
  const command = { type: 'user', change: { type: 'authenticated', user: 'ux', method: 'token' } } as const
  expect(refused(await f.run.submit(command))).toBe('invalid_state')
  await f.expectAdded([])
})

test('who is known in other runs is committed: an acceptance that could not be recorded makes nobody known', async () => {
  const f = await withUsers()
  f.disks.trail.fail('sync', { times: Number.POSITIVE_INFINITY })
  expect(refused(await f.runtime.users.accept({ user: 'uz', method: 'token' }))).toBe('trail_unavailable')
  f.disks.trail.mend()
  expect(f.runtime.users.stateOf('uz')).toBeUndefined()
  expect(f.runtime.users.list().map(each => each.user)).toEqual(['ux'])
})

test('deciding about users is pure: the same change of the same state says the same', async () => {
  const f = await withUsers()
  await person(f, 'ux')
  const house = unwrap(await f.runtime.open(f.runtime.house.run))
  const change = { type: 'suspend', user: 'ux', by: 'system', reason: 'because' } as const
  const said = await house.read(run => {
    const context = { now: f.runtime.clock.next(), ids: { next: (kind: string) => `${kind}_1` } }
    return [1, 2].map(() => decide(run, { type: 'user', change }, context))
  })
  expect(said[0]).toEqual(said[1])
  expect(await house.read(run => run.users.get('ux')?.state)).toBe('active')
})
