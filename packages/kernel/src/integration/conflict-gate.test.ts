import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import {
  answered,
  byRoot,
  closedConflicted,
  endedConflicted,
  gateOf,
  settled,
  triggered,
  twoConflicts,
} from '../testing/conflicts.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { expired, only } from '../testing/gates.ts'

test('W-INT-12 with the gate on, every proposal of the integrator is asked for first, and carried out when it is approved', async () => {
  const f = await fixture({ run: { highway: only('conflict_resolution') } })
  const [one, other] = await twoConflicts(f)
  const first = gateOf(await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'kept both'))
  const second = gateOf(await f.root.resolveConflict(f.id('W'), other, 'coordinator_resolve', 'yes'))
  f.name(first, 'G1')
  f.name(second, 'G2')
  await f.expectAmong([triggered('G1'), triggered('G2')])
  unwrap(await f.runtime.user('ux').approve(f.run.id, second))
  unwrap(await f.runtime.user('ux').approve(f.run.id, first))
  const how = (resolution: string) => ({ strategy: 'coordinator_resolve', resolution, outcome: 'closed' }) as const
  await f.expectAdded([
    answered('G2', 'approve', 'ux'),
    settled('X2', 'ux', how('yes')),
    answered('G1', 'approve', 'ux'),
    settled('X1', 'ux', how('kept both')),
    ...closedConflicted,
  ])
})

test('W-HWY-07 a rejected proposal leaves the workspace conflicted, and the next one is asked for anew', async () => {
  const f = await fixture({ run: { highway: only('conflict_resolution') } })
  const [one] = await twoConflicts(f)
  for (const [index, strategy] of (['coordinator_resolve', 'agent_rework'] as const).entries()) {
    const gate = gateOf(await f.root.resolveConflict(f.id('W'), one, strategy, 'so'))
    f.name(gate, `G${index}`)
    const [entry] = (await f.expectAmong([triggered(`G${index}`)])).filter(each => each.event_type === 'gate_triggered')
    expect(entry!.body).toMatchObject({ subject: { id: `${one}:${index}` } })
    unwrap(await f.runtime.user('ux').reject(f.run.id, gate))
    await f.expectAdded([answered(`G${index}`, 'reject', 'ux')])
    expect(await f.state('W')).toBe('conflicted')
  }
})

test('W-HWY-08 a human may choose another strategy and other words', async () => {
  const f = await fixture({ run: { highway: only('conflict_resolution') } })
  const [one, other] = await twoConflicts(f)
  const gate = gateOf(await f.root.resolveConflict(f.id('W'), one, 'agent_rework', 'again'))
  f.name(gate, 'G')
  await f.mark()
  const modifications = { strategy: 'coordinator_resolve', resolution: 'keep it' }
  unwrap(await f.runtime.user('ux').modify(f.run.id, gate, modifications))
  await f.expectAdded([
    answered('G', 'modify', 'ux', { modifications }),
    settled('X1', 'ux', { ...modifications, outcome: 'closed' }),
  ])
  const last = gateOf(await f.root.resolveConflict(f.id('W'), other, 'escalate', 'what now'))
  f.name(last, 'G2')
  await f.mark()
  const rework = { strategy: 'agent_rework', resolution: 'do it again' }
  unwrap(await f.runtime.user('ux').modify(f.run.id, last, rework))
  await f.expectAdded([
    answered('G2', 'modify', 'ux', { modifications: rework }),
    settled('X2', 'ux', { ...rework, outcome: 'failed' }),
    ...endedConflicted('sig1', {
      aborts: 'agent_rework',
      reason: 'conflict_unresolvable',
      actor: 'ux',
      initiator: 'human',
    }),
  ])
})

test.each([
  ['approve', 'coordinator_resolve', 'conflicted'],
  ['approve', 'escalate', 'conflicted'],
  ['reject', 'coordinator_resolve', 'conflicted'],
  ['reject', 'escalate', 'failed'],
] as const)('W-INT-12 when nobody answers, the fallback %s decides about %s: %s', async (fallback, strategy, state) => {
  const f = await fixture({ run: { highway: only('conflict_resolution', { timeout: 1000, fallback }) } })
  const [one] = await twoConflicts(f)
  f.name(gateOf(await f.root.resolveConflict(f.id('W'), one, strategy, 'so')), 'G')
  await f.mark()
  await f.advance(1001)
  const carriedOut = settled('X1', 'fallback', { strategy, resolution: 'so', outcome: 'closed' })
  const failed = endedConflicted('sig1', {
    aborts: 'gate_rejected_by_human',
    reason: 'conflict_unresolvable',
    actor: 'protocol',
    initiator: 'protocol',
  })
  const ruled = (conflict: string, resolution: string) =>
    settled(conflict, 'fallback', { strategy, resolution, outcome: 'failed' })
  await f.expectAdded([
    expired('G', 'conflict_resolution', 'W', fallback, 1000),
    answered('G', fallback, 'fallback'),
    ...(fallback === 'approve' ? [carriedOut] : []),
    ...(state === 'failed'
      ? [ruled('X1', 'gate_rejected_by_human'), ruled('X2', 'conflict_unresolvable'), ...failed]
      : []),
  ])
  expect(await f.state('W')).toBe(state)
  // A proposal that a fallback rejected is not held against the next one (W-HWY-04).
  if (strategy === 'coordinator_resolve' && fallback === 'reject')
    expect(refused(await f.root.resolveConflict(f.id('W'), one, strategy, 'so'))).toBe('gated')
})

test('W-HWY-10 an integrator that proposes the same again after the human’s time decides itself', async () => {
  const f = await fixture({
    run: { highway: only('conflict_resolution', { timeout: 1000, fallback: 'escalate_to_coordinator' }) },
  })
  const [one] = await twoConflicts(f)
  f.name(gateOf(await f.root.resolveConflict(f.id('W'), one, 'escalate', 'so')), 'G')
  await f.advance(1001)
  await f.mark()
  expect(unwrap(await f.root.resolveConflict(f.id('W'), one, 'escalate', 'so'))).toEqual({
    state: 'conflicted',
  })
  await f.expectAdded([
    [
      'gate_reentry_blocked',
      'W',
      'protocol',
      {
        gate_id: 'G',
        gate_type: 'conflict_resolution',
        subject_id: `${one}:0`,
        converted_to: 'approve',
      },
    ],
    answered('G', 'approve', 'fallback'),
    settled('X1', 'fallback', { strategy: 'escalate', resolution: 'so', outcome: 'closed' }),
  ])
})

test('W-HWY-12 a conflict that the integrator settles meanwhile takes its gate along', async () => {
  const f = await fixture()
  const [one] = await twoConflicts(f)
  f.name(gateOf(await f.root.resolveConflict(f.id('W'), one, 'escalate', 'so')), 'G')
  // Asked again while it waits, it is the same wait.
  expect(f.nameOf(gateOf(await f.root.resolveConflict(f.id('W'), one, 'escalate', 'so')))).toBe('G')
  await f.mark()
  unwrap(await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'mine'))
  await f.expectAdded([byRoot('X1', 'mine'), answered('G', 'reject', 'protocol', { reason: 'subject_invalidated' })])
})
