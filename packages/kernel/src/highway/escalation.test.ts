// Raising and routing escalations (W-HWY-20, -21): who may ask, whom it reaches, and what happens where that person is
// away.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import {
  blockedAndEscalated,
  escalate,
  heard,
  highway,
  MINUTE,
  received,
  reply,
  resolved,
  unreceived,
} from '../testing/escalations.ts'
import { refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

test('W-SIG-12 without a highway the signal still reaches the parent', async () => {
  const f = await withUsers({ run: { highway: 'off' } })
  await f.worker('W')
  await f.mark()
  await escalate(f, 'W', 'S1')
  await f.expectAdded(blockedAndEscalated('W', 'sig1', 'S1'))
})

test('W-SIG-12 a parent that takes no signals now holds up its own copy, not the highway', async () => {
  const f = await highway()
  await person(f, 'alice')
  const d = await f.worker('D', { delegate: true, owner: 'alice' })
  await f.worker('C', {}, d)
  await f.bring('D', 'blocked')
  await f.mark()
  await escalate(f, 'C', 'S1')
  await f.expectAmong([received('C', 'S1', 'alice')])
  unwrap(await d.started())
  const added = (await f.added()).filter(entry => entry.event_type === 'signal_delivered').map(entry => f.row(entry))
  expect(added.map(([, filed]) => filed)).toContain('D')
})

test('W-LIFE-04 from a sealed workspace it is on record only', async () => {
  const f = await highway()
  await person(f, 'alice')
  await f.worker('W', { owner: 'alice' })
  await f.bring('W', 'integrating')
  await f.mark()
  await escalate(f, 'W', 'S1')
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['signal_emitted', 'signal_delivered'])
  expect(await f.run.escalations()).toEqual([])
})

test('W-HWY-21 a suspension that survives a block keeps the queue', async () => {
  const f = await highway()
  await person(f, 'alice')
  await f.worker('W', { owner: 'alice' })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  unwrap(await f.runtime.users.block('alice', { reason: 'password lost' }))
  await escalate(f, 'W', 'S')
  heard(f)
  unwrap(await f.runtime.users.unblock('alice', { reason: 'new password' }))
  expect(heard(f)).toEqual([])
  unwrap(await f.runtime.users.resume('alice', { reason: 'back' }))
  expect(heard(f)).toEqual(['S delivered alice'])
})

test('W-HWY-21 what has no timeout waits without end and does not count towards the bound', async () => {
  const f = await highway({ escalationQueue: 1, timeout: null })
  await person(f, 'alice')
  for (const name of ['W1', 'W2', 'W3']) await f.worker(name, { owner: 'alice', timeout: 365 * 24 * 60 * MINUTE })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  for (const name of ['W1', 'W2', 'W3']) await escalate(f, name, `S${name}`)
  await f.mark()
  await f.advance(30 * 24 * 60 * MINUTE)
  const added = (await f.added()).map(entry => entry.event_type)
  expect(added.filter(type => type.startsWith('escalation'))).toEqual([])
  const waiting = await f.run.escalations()
  expect(waiting.map(({ deadline, queued }) => [deadline, queued])).toEqual([1, 2, 3].map(() => [null, true]))
})

test('W-HWY-25 with the ownership an open escalation goes to the new owner: the new one may answer, the old may not', async () => {
  const f = await highway()
  const alice = await person(f, 'alice', 'inject_directive', 'abort_own')
  const bob = await person(f, 'bob', 'inject_directive', 'abort_own')
  await f.worker('W', { owner: 'alice' })
  const signal = await escalate(f, 'W', 'S')
  unwrap(await f.runtime.users.deactivate('bob', { reason: 'left' }))
  await f.mark()
  heard(f)
  unwrap(await f.root.transferOwnership(f.id('W'), 'bob'))
  await f.expectAdded([['workspace_ownership_transferred', 'W', 'system'], unreceived('bob', 'S', 'user_not_active')])
  expect(heard(f)).toEqual(['S delivered bob', 'S rejected bob'])
  unwrap(await f.runtime.users.reactivate('bob', { reason: 'back' }))
  expect(heard(f)).toEqual(['S delivered bob'])
  expect((await f.run.escalations())[0]).toMatchObject({ addressee: 'bob', queued: false, rejected: false })

  for (const answer of [reply, { type: 'abort' }, { type: 'delegation' }] as const) {
    const reason = answer.type === 'delegation' ? 'missing_capability' : 'wrong_scope'
    expect(refused(await alice.answerEscalation(f.run.id, signal, answer))).toBe(`permission_denied(${reason})`)
    const capability = { envelope: 'inject_directive', abort: 'abort_own', delegation: 'abort_any' }[answer.type]
    await f.expectAdded([
      [
        'capability_denied',
        null,
        'alice',
        { user_id: 'alice', capability, action: 'resolve_escalation', target: 'W', reason },
      ],
    ])
  }
  unwrap(await bob.answerEscalation(f.run.id, signal, { type: 'delegation' }))
  await f.expectAdded([resolved('W', 'S', 'bob', { response_type: 'delegation' })])
})

test('a run takes a bounded number of escalations; one too many is refused before anything is recorded', async () => {
  const f = await highway({ timeout: null })
  await f.worker('W')
  const agent = f.agent('W')
  const { openEscalations } = kernelLimits
  while ((await f.run.escalations()).length < openEscalations) {
    const missing = openEscalations - (await f.run.escalations()).length
    const part = Array.from({ length: Math.min(missing, 1024) }, () => agent.escalate('help'))
    for (const result of await Promise.all(part)) unwrap(result)
  }
  await f.mark()
  expect(refused(await agent.escalate('help'))).toBe('limit_reached')
  await f.expectAdded([])
})

test('W-HWY-20 who may not, about what is over, without a reason and without a highway nobody is asked', async () => {
  const f = await highway()
  await person(f, 'ux')
  const d = await f.worker('D', { delegate: true })
  const w = await f.worker('W', {}, d)
  await f.worker('V')
  await f.mark()
  expect(refused(await w.consult(f.id('W'), 'why?'))).toBe('permission_denied')
  expect(refused(await d.consult(f.id('W'), 'why?'))).toBe('permission_denied')
  const denied = { capability: 'operation:consult', reason: 'permission_denied' }
  await f.expectAmong([
    ['capability_denied', 'W', 'worker', { ...denied, target: 'W' }],
    ['capability_denied', 'D', 'worker', { ...denied, target: 'W' }],
  ])
  expect(refused(await f.root.consult(f.id('W'), ''))).toBe('invalid_argument')
  unwrap(await f.root.abort(f.id('V')))
  expect(refused(await f.root.consult(f.id('V'), 'why?'))).toBe('invalid_state')
  const off = await highway({ enabled: false })
  expect(refused(await off.root.consult(off.id('R'), 'why?'))).toBe('invalid_state')
})
