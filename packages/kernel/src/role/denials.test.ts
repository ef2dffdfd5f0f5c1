// Every denial is recorded (§5.1, §11.8): also of what nobody may do at all, and of what the caller may not do in the
// state it is in.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

test.each([
  ['suspended', 'frozen'],
  ['migrating', 'frozen'],
  ['integrating', 'permission_denied'],
])('W-WS-21 an agent that reaches for its mail while it is %s is on record', async (state, reason) => {
  const f = await fixture()
  const agent = await f.worker('W')
  unwrap(await f.root.feedback(f.id('W'), { format: 'text', content: 'more' }))
  await f.bring('W', state)
  await f.mark()
  const bound = state === 'migrating' ? agent : f.agent('W')
  expect(refused(await bound.consume())).toBe(`invalid_state(${reason})`)
  await f.expectAdded([denial('W', 'worker', 'access:read', reason, 'W', 'consume')])
})

test('W-WS-21 who is paused while it waits for mail reached for nothing', async () => {
  const f = await fixture()
  await f.worker('W')
  const waiting = f.agent('W').receive()
  await f.settle()
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  expect(refused(await waiting)).toBe('invalid_state')
  expect((await f.added()).map(({ event_type }) => event_type)).not.toContain('capability_denied')
})
