// How escalations end (W-HWY-22, -23): by a person's answer, by their fallback, with their workspace; after a restart
// too.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { escalate, highway, MINUTE, payload, reply, resolved } from '../testing/escalations.ts'
import { refused } from '../testing/fixture.ts'
import { person } from '../testing/people.ts'

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
