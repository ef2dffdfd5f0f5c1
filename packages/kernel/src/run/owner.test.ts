// Whose a run is (§4.1, §4.8, W-USER-07): a person's, always, so that whatever escalates in it has somebody to go to.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

test('W-USER-07 a level 1 runtime without a directory takes every name that stands for nothing else', async () => {
  const f = await fixture({ level: 1 })
  for (const owner of ['system', 'worker'])
    expect(refused(await f.runtime.start({ owner }))).toBe('invalid_argument(owner_invalid)')
  const run = unwrap(await f.runtime.start({ owner: 'anybody' }))
  expect(unwrap(await run.coordinator.look()).owner).toBe('anybody')
})

test('W-USER-07 what nobody else owns belongs to the owner of the run, who gets its escalations; the house belongs to the operator', async () => {
  const f = await withUsers({
    run: { highway: { gates: { task_approval: false } } },
    operator: 'root@example',
  })
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('W', {}, delegate)
  await f.mark()
  unwrap(await f.agent('W').escalate('which way?'))
  await f.expectAmong([['escalation_received', 'W', 'protocol', { addressee: 'ux', queued: false }]])
  for (const { run } of await f.trail.runs()) {
    const owners = await f.runtime.read(run, state => [...state.workspaces.values()].map(each => each.owner))
    expect(new Set(owners)).toEqual(new Set([run === f.run.id ? 'ux' : 'root@example']))
  }
})

test('W-USER-07 a house whose operator is suspended is still succeeded by the next', async () => {
  const f = await withUsers({ houseEntries: 12 })
  await person(f, 'operator')
  unwrap(await f.runtime.users.suspend('operator', { reason: 'holiday' }))
  const first = f.runtime.house.run
  for (let index = 0; index < 12; index++) await person(f, `u${index}`)
  expect(f.runtime.house.run).not.toBe(first)
  expect(await f.runtime.house.read(state => state.root?.owner)).toBe('operator')
})
