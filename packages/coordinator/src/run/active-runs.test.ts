// How many runs may be at work: in all, and of each principal. Those that wait for a person do not count.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { coordinatorLimits } from '../limits.ts'
import { aborted, alice, Fixture, planned, refusal } from '../testing/fixture.ts'
import { ActiveRuns } from './active-runs.ts'

const open = (count: number, principal: string, waits = false) =>
  new Map(Array.from({ length: count }, (_, at) => [`${principal}${at}`, { principal, waits }]))

test.each([
  ['as many of one principal as it may have', open(2, 'a'), 'too_many_runs'],
  ['those of others', open(2, 'b'), undefined],
  ['those that wait for a person', open(200, 'a', true), undefined],
  ['as many as may be at work in all', open(coordinatorLimits.activeRuns, 'b'), 'overloaded'],
  ['as many as may be open in all, waiting or not', open(coordinatorLimits.openRuns, 'b', true), 'overloaded'],
])('beside %s a start of a principal who may have two: %s', (_, runs, code) => {
  expect(new ActiveRuns(runs, 2).refuse('a')?.code).toBe(code)
})

test('a run counts while it is being started, and no longer when that came to nothing', async () => {
  const active = new ActiveRuns(new Map(), 1)
  const begun = Promise.withResolvers<void>()
  const first = active.during('a', () => begun.promise)
  expect(active.refuse('a')).toMatchObject({ code: 'too_many_runs', retryable: true, details: { most: 1 } })
  expect(active.refuse('b')).toBeUndefined()
  begun.reject(new Error('no folder'))
  await expect(first).rejects.toThrow('no folder')
  expect(active.refuse('a')).toBeUndefined()
})

test('a principal starts no more runs than its cap; one that waits for an answer makes room until it goes on', async () => {
  const fixture = await Fixture.open({ one: aborted }, { runs: 1 })
  unwrap(await fixture.coordinator.users.accept(alice, 'test'))
  const yaml = planned('{ id: a, agent: one, prompt: x }')
  const waiting = await fixture.solve(yaml, { intent: 'wait', approved: false })
  await fixture.until(waiting, ({ gates }) => gates.length > 0)
  const second = await fixture.solve(yaml, { intent: 'work' })
  await fixture.until(second, ({ tasks }) => tasks[0]?.state === 'working')
  expect(await fixture.trySolve(yaml, { intent: 'more' })).toMatchObject(refusal('too_many_runs'))
  const bob = { id: 'bob', kind: 'user', scopes: [] } as const
  const other = await fixture.solve(yaml, { intent: 'of somebody else', principal: bob })
  await fixture.abort(second, { reason: 'enough' })
  await fixture.over(second)
  await fixture.respond(waiting, { decision: 'approve' })
  await fixture.until(waiting, ({ tasks }) => tasks[0]?.state === 'working')
  expect(await fixture.trySolve(yaml, { intent: 'more' })).toMatchObject(refusal('too_many_runs'))
  for (const run of [waiting, other]) await fixture.abort(run, { reason: 'enough' })
})
