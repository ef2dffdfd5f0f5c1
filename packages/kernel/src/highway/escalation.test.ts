// Escalations (W-HWY-20 to -23): who may ask, whom it reaches where that person is away, and how they end.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import {
  escalate,
  heard,
  highway,
  MINUTE,
  payload,
  received,
  reply,
  resolved,
  unreceived,
} from '../testing/escalations.ts'
import { refused } from '../testing/fixture.ts'
import { person, userDenial } from '../testing/people.ts'

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
    await f.expectAdded([userDenial('alice', 'resolve_escalation', capability, reason)])
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

test('W-HWY-23 an answer by envelope needs inject_directive, an abort abort_own; being addressee is enough to delegate', async () => {
  const f = await highway()
  const alice = await person(f, 'alice')
  const carol = await person(f, 'carol', 'inject_directive_any', 'abort_any')
  for (const name of ['W1', 'W2', 'W3']) await f.worker(name, { owner: 'alice' })
  const [s1, s2, s3] = [await escalate(f, 'W1', 'S1'), await escalate(f, 'W2', 'S2'), await escalate(f, 'W3', 'S3')]
  expect(refused(await alice.answerEscalation(f.run.id, s1, reply))).toBe('permission_denied(missing_capability)')
  expect(refused(await alice.answerEscalation(f.run.id, s1, { type: 'abort' }))).toBe(
    'permission_denied(missing_capability)',
  )
  unwrap(await alice.answerEscalation(f.run.id, s1, { type: 'delegation' }))
  unwrap(await carol.answerEscalation(f.run.id, s2, { type: 'delegation' }))
  unwrap(await carol.answerEscalation(f.run.id, s3, { type: 'abort' }))
  expect(await f.state('W3')).toBe('failed')
  for (const bad of [undefined, {}, { type: 'shrug' }, { type: 'envelope' }, { type: 'abort', payload }])
    expect(refused(await carol.answerEscalation(f.run.id, s1, bad as never))).toBe('invalid_argument(invalid_decision)')
})

test('an escalation, its queue and its deadline survive a restart', async () => {
  const f = await highway({ fallback: 'reject' })
  await person(f, 'alice', 'inject_directive')
  for (const name of ['W1', 'W2']) await f.worker(name, { owner: 'alice' })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  const s1 = await escalate(f, 'W1', 'S1')
  await f.advance(MINUTE / 2)
  await escalate(f, 'W2', 'S2')
  const before = await f.run.escalations()
  await f.restart()
  expect(await f.run.escalations()).toEqual(before)
  unwrap(await f.runtime.users.resume('alice', { reason: 'back' }))
  unwrap(await f.runtime.user('alice').answerEscalation(f.run.id, s1, reply))
  await f.settle()
  await f.mark()
  await f.advance(MINUTE + 1)
  await f.expectAmong([['escalation_timeout', 'W2', 'fallback', { signal_id: 'S2' }]])
  expect([await f.state('W1'), await f.state('W2')]).toEqual(['blocked', 'failed'])
})

test('an answer that waits for its workspace holds the clock, ends the escalation on arrival, and is the only one', async () => {
  const f = await highway({ fallback: 'reject' })
  const alice = await person(f, 'alice', 'inject_directive', 'abort_own')
  await f.worker('W', { owner: 'alice' })
  const signal = await escalate(f, 'W', 'S')
  unwrap(await f.root.suspend(f.id('W'), 'wait'))
  const { envelope } = unwrap(await alice.answerEscalation(f.run.id, signal, reply)) as { envelope: string }
  f.name(envelope, 'E')
  expect((await f.run.escalations())[0]).toMatchObject({ answered: true, deadline: null })
  expect(refused(await alice.answerEscalation(f.run.id, signal, { type: 'abort' }))).toBe(
    'invalid_state(escalation_not_pending)',
  )
  await f.restart()
  await f.advance(2 * MINUTE)
  expect(await f.state('W')).toBe('suspended')
  await f.mark()
  unwrap(await f.root.resume(f.id('W')))
  await f.expectAmong([
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E' }],
    resolved('W', 'S', 'alice', { response_type: 'envelope', response_ref: 'E' }),
  ])
  expect(await f.run.escalations()).toEqual([])
})

test('an answer that never arrives leaves the question open, and its time goes on', async () => {
  const f = await highway({ fallback: 'delegate_to_coordinator' })
  const alice = await person(f, 'alice', 'inject_directive')
  await f.worker('W', { owner: 'alice' })
  const signal = unwrap(await f.agent('W').escalate('help')).signal!
  f.name(signal, 'S')
  unwrap(await f.root.suspend(f.id('W'), 'wait'))
  unwrap(await alice.answerEscalation(f.run.id, signal, reply))
  await f.advance(2 * MINUTE)
  expect(await f.state('W')).toBe('suspended')
  await f.mark()
  // It finishes in the breath in which its mail would come.
  const [resumed, completed] = await Promise.all([f.root.resume(f.id('W')), f.agent('W').complete()])
  unwrap(resumed)
  unwrap(completed)
  await f.expectAmong([
    ['envelope_undeliverable', 'R', 'protocol', { to: 'W', reason: 'integrating' }],
    ['escalation_timeout', 'W', 'fallback', { signal_id: 'S' }],
    resolved('W', 'S', 'fallback', { response_type: 'delegation' }),
  ])
})

test('escalations end with their workspace', async () => {
  const f = await highway()
  const alice = await person(f, 'alice', 'inject_directive')
  await f.worker('W', { owner: 'alice' })
  const signal = await escalate(f, 'W', 'S')
  unwrap(await f.root.abort(f.id('W')))
  expect(await f.run.escalations()).toEqual([])
  expect(refused(await alice.answerEscalation(f.run.id, signal, reply))).toBe('invalid_state(escalation_not_pending)')
})
