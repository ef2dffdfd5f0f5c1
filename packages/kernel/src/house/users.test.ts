// The users of the house: they outlast a restart and the end of one house, whole and each once.
import { unwrap } from '@parley/core'
import { CAPABILITIES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { type Fixture, refused } from '../testing/fixture.ts'
import { houseWatch, person, withUsers } from '../testing/people.ts'

const why = { reason: 'because' }

async function crowd(f: Fixture): Promise<void> {
  await person(f, 'a', ...CAPABILITIES.filter(each => each !== 'view_trail_own'))
  await person(f, 'b', 'abort_own')
  await person(f, 'c')
  await person(f, 'd')
  const { users } = f.runtime
  unwrap(await users.suspend('b', { by: 'a', reason: 'holiday' }))
  unwrap(await users.block('b', why))
  unwrap(await users.deactivate('c', why))
  unwrap(await users.suspend('d', why))
}

test('users, their states and capabilities survive a restart', async () => {
  const f = await withUsers()
  await crowd(f)
  const before = f.runtime.users.list()
  expect(before.map(({ user, state }) => `${user} ${state}`)).toEqual([
    'ux active',
    'a active',
    'b blocked',
    'c deactivated',
    'd suspended',
  ])
  await f.restart()
  expect(f.runtime.users.list()).toEqual(before)
})

test('a house that is succeeded hands on its users whole: nobody is created twice, no suspension is lost', async () => {
  const f = await withUsers({ houseEntries: 30 })
  await crowd(f)
  const before = f.runtime.users.list()
  const first = f.runtime.house.run
  while (f.runtime.house.run === first) await f.runtime.users.accept({ user: 'a', method: 'token' })
  const house = houseWatch(f)
  expect((await house()).map(row => row[0])).not.toContain('user_created')
  expect(f.runtime.users.list()).toEqual(before)
  await f.restart()
  expect(f.runtime.house.run).not.toBe(first)
  expect(f.runtime.users.list()).toEqual(before)
  await house()
  unwrap(await f.runtime.users.unblock('b', why))
  expect(f.runtime.users.stateOf('b')).toBe('suspended')
  expect(await house()).toEqual([
    ['user_unblocked', null, 'system', { user_id: 'b', resolved_condition: 'because' }],
    ['user_suspended', null, 'protocol', { user_id: 'b', reason: 'holiday', suspended_by: 'a' }],
  ])
})

test('changes that come while the house is being succeeded are all in the house that is left', async () => {
  const f = await withUsers({ houseEntries: 12 })
  const houses = new Set([f.runtime.house.run])
  for (let round = 0; round < 5; round++) {
    const names = Array.from({ length: 6 }, (_, index) => `u${round}_${index}`)
    const accepted = names.map(user => f.runtime.users.accept({ user, method: 'token' }))
    expect((await Promise.all(accepted)).map(refused)).toEqual(names.map(() => 'ok'))
    houses.add(f.runtime.house.run)
  }
  expect(houses.size).toBeGreaterThan(3)
  const before = f.runtime.users.list()
  expect(before).toHaveLength(31)
  await f.restart()
  expect(f.runtime.users.list().toSorted(byName)).toEqual(before.toSorted(byName))
})

test('a house that is succeeded while changes still wait for their turn hands on all of them', async () => {
  const f = await withUsers({ houseEntries: 8 })
  const first = f.runtime.house.run
  const accept = (user: string) => f.runtime.users.accept({ user, method: 'token' })
  // Three commits' worth, so that some still wait when the answers of the first bring the house over its limit.
  const names = Array.from({ length: 3 * kernelLimits.groupCommands }, (_, index) => `u${index}`)
  const accepted = names.map(accept)
  await accepted[0]
  for (const late of ['v0', 'v1', 'v2']) {
    names.push(late)
    accepted.push(accept(late))
  }
  expect((await Promise.all(accepted)).filter(result => !result.ok)).toEqual([])
  expect(f.runtime.house.run).not.toBe(first)
  await f.restart()
  const known = f.runtime.users.list().map(({ user }) => user)
  expect(known.toSorted()).toEqual([...names, 'ux'].toSorted())
})

test('a successor that could not say its first words is the house all the same', async () => {
  const f = await withUsers({ houseEntries: 8 })
  await person(f, 'ux')
  const first = f.runtime.house.run
  const accept = (user: string) => f.runtime.users.accept({ user, method: 'token' })
  // Founding is one commit; everything behind it fails, until the disk is back.
  f.disks.trail.fail('sync', { after: 1, times: Number.POSITIVE_INFINITY })
  const pending = accept('uy')
  await f.settle()
  const successor = f.runtime.house.run
  expect(successor).not.toBe(first)
  f.disks.trail.mend()
  await f.advance(kernelDefaults.degradedRetry)
  unwrap(await pending)
  await f.restart()
  expect(f.runtime.house.run).toBe(successor)
  expect(f.runtime.users.list().map(({ user }) => user)).toEqual(['ux', 'uy'])
  expect((await f.trail.runs()).find(({ run }) => run === first)?.ended).toBe(true)
})

function byName(one: { readonly user: string }, other: { readonly user: string }): number {
  return one.user < other.user ? -1 : 1
}
