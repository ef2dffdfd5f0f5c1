// Conflicts (W-INT-06 to -14): how they are found, settled and ended, and settled at a gate (W-INT-12, W-HWY-07 to
// -12).
import { SeededIds, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { kernelLimits } from '../limits.ts'
import {
  answered,
  begunBy,
  byRoot,
  closedConflicted,
  completedOn,
  conflictedBy,
  contradiction,
  endedConflicted,
  gateOf,
  mergedBy,
  overlap,
  settled,
  twoConflicts,
} from '../testing/conflicts.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { expired, only } from '../testing/gates.ts'
import { denial } from '../testing/topology.ts'

test('W-INT-06 the newest result that an integrator handed in is the merged state when the last conflict is settled', async () => {
  const f = await fixture()
  const [one, other] = await twoConflicts(f)
  unwrap(await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'first', { draft: 1 }))
  await f.restart()
  const gate = gateOf(await f.root.resolveConflict(f.id('W'), other, 'escalate', 'second', { draft: 2 }))
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate))
  expect(unwrap(await f.root.readResult(f.id('W')))).toEqual({ draft: 2 })
  const merge = unwrap(await f.root.look()).merges.at(-1)!
  f.name(merge.result_ref!, 'M')
  await f.expectAmong([mergedBy('W', 'evaluated', 'conflict_resolved', { result_ref: 'M' })])
})

test('W-INT-06 a resolution brings a result only where the strategy takes one', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'], W: ['f'] })
  unwrap(await f.root.accept(f.id('A')))
  const { conflicts } = unwrap(await f.root.accept(f.id('W'), 'layered'))
  await f.mark()
  const asked = (result: unknown) =>
    f.root.resolveConflict(f.id('W'), conflicts[0]!, 'coordinator_resolve', 'so', result)
  expect(refused(await asked({}))).toBe('invalid_argument')
  expect(refused(await asked(() => 1))).toBe('invalid_argument')
  await f.expectAdded([])
})

test('W-INT-07 conflicts are reported while an evaluated integration is open, and by nobody else’s strategy', async () => {
  const f = await fixture()
  await completedOn(f, { W: ['f'] })
  const report = () => f.root.reportConflicts(f.id('W'), [overlap])
  expect(refused(await report())).toBe('invalid_state')
  unwrap(await f.root.beginIntegration(f.id('W'), 'direct'))
  await f.mark()
  expect(refused(await report())).toBe('invalid_state')
  expect(refused(await f.agent('W').reportConflicts(f.id('W'), [overlap]))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'operation:integrate', 'permission_denied', 'W')])
  unwrap(await f.root.accept(f.id('W')))
  expect(refused(await report())).toBe('invalid_state')
})

test.each([
  ['an unknown type', [{ ...overlap, type: 'taste' }], 'invalid_argument(invalid_conflict_type)'],
  ['no conflict at all', [], 'invalid_argument'],
  ['no list', { 0: overlap }, 'invalid_argument'],
  ['no description', [{ ...overlap, description: '' }], 'invalid_argument'],
  ['a field too many', [{ ...overlap, severity: 1 }], 'invalid_argument'],
  ['a resource without a name', [{ ...overlap, resources: [''] }], 'invalid_argument'],
  ['too many', Array.from({ length: kernelLimits.conflicts + 1 }, () => overlap), 'limit_reached'],
  [
    'resources that are too long',
    [{ ...overlap, resources: Array.from({ length: 9 }, () => 'x'.repeat(4096)) }],
    'limit_reached',
  ],
] as const)('W-INT-07 a report with %s is refused without an entry', async (_what, conflicts, answer) => {
  const f = await fixture()
  await completedOn(f, { W: ['f'] })
  unwrap(await f.root.beginIntegration(f.id('W'), 'evaluated'))
  await f.mark()
  expect(refused(await f.root.reportConflicts(f.id('W'), conflicts as never))).toBe(answer)
  await f.expectAdded([])
  expect(await f.state('W')).toBe('integrating')
})

test('W-INT-12 what does not fit is refused without an entry', async () => {
  const f = await fixture()
  const [one] = await twoConflicts(f)
  await f.worker('V')
  await f.mark()
  const resolve = (conflict: string, strategy: string, resolution: unknown = 'so', source = f.id('W')) =>
    f.root.resolveConflict(source, conflict, strategy as never, resolution as never)
  const answers = [
    await resolve(one, 'human_escalate'),
    await resolve(one, 'timeout'),
    await resolve(one, 'coordinator_resolve', ''),
    await resolve(one, 'coordinator_resolve', 7),
    await resolve(one, 'coordinator_resolve', 'x'.repeat(8193)),
    await resolve('conflict_unknown', 'coordinator_resolve'),
    await resolve(one, 'coordinator_resolve', 'so', f.id('V')),
    await f.root.failIntegration(f.id('W')),
    await f.root.reportConflicts(f.id('W'), [overlap]),
  ]
  expect(answers.map(refused)).toEqual([
    'invalid_argument(invalid_strategy)',
    'invalid_argument(invalid_strategy)',
    'invalid_argument',
    'invalid_argument',
    'invalid_argument',
    'invalid_state(conflict_not_open)',
    'invalid_state(conflict_not_open)',
    'invalid_state',
    'invalid_state',
  ])
  await f.expectAdded([])
  unwrap(await resolve(one, 'coordinator_resolve'))
  expect(refused(await resolve(one, 'coordinator_resolve'))).toBe('invalid_state(conflict_not_open)')
  expect(refused(await f.agent('V').resolveConflict(f.id('W'), one, 'escalate', 'so'))).toBe('permission_denied')
})

test('W-INT-02 conflicts that are open when the work is aborted end with it, without a resolution', async () => {
  const f = await fixture()
  const [one] = await twoConflicts(f)
  const reason = 'aborted_by_coordinator'
  unwrap(await f.root.abort(f.id('W')))
  await f.expectAdded([
    ...endedConflicted('sig1', { aborts: reason, reason, actor: 'system', initiator: 'coordinator' }),
  ])
  const late = await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'late')
  expect(refused(late)).toBe('invalid_state(conflict_not_open)')
  expect(unwrap(await f.root.integration(f.id('W')))).toMatchObject({
    aborted: reason,
    result: null,
    conflicts: [{ outcome: null }, { outcome: null }],
  })
})

test('W-INT-08 the target stays locked while conflicts are open, across a restart too', async () => {
  const f = await fixture()
  const [one, other] = await twoConflicts(f)
  await completedOn(f, { B: ['b'] })
  await f.restart()
  await f.mark()
  let state = 'waiting'
  const waiting = f.root.accept(f.id('B')).then(answer => {
    state = refused(answer)
  })
  unwrap(await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'so'))
  await f.settle()
  expect(state).toBe('waiting')
  await f.expectAdded([byRoot('X1', 'so')])
  unwrap(await f.root.resolveConflict(f.id('W'), other, 'coordinator_resolve', 'so'))
  await waiting
  expect(state).toBe('ok')
  await f.expectAmong([...closedConflicted, begunBy('B', 'direct'), mergedBy('B', 'direct')])
})

test('W-WS-14 the last conflict is not settled above a child at work; the others are, and rework is possible', async () => {
  const f = await fixture()
  const delegate = await f.worker('W', { delegate: true })
  unwrap(await f.final('W'))
  unwrap(await delegate.complete())
  const [one, other] = await conflictedBy(f, 'W', [overlap, contradiction])
  // A child that was at work all along: creation is refused by now, so its entry is folded in here.
  const run = await f.run.read(state => structuredClone(state))
  const created = (await f.run.entries()).find(
    entry => entry.event_type === 'workspace_created' && entry.workspace === f.id('W'),
  )!
  evolve(run, {
    ...created,
    body: { ...created.body, workspace_id: 'ws_child', parent: f.id('W'), delegate: false, directive: null } as never,
  })
  const ask = (conflict: string, strategy: string) =>
    decide(
      run,
      { type: 'resolve_conflict', caller: f.root.workspace, source: f.id('W'), conflict, strategy, resolution: 'so' },
      { now: 1_772_355_999_000_000 as Ticks, ids: new SeededIds(1) },
    )
  const first = ask(one!, 'coordinator_resolve')
  expect(unwrap(first.result)).toEqual({ state: 'conflicted' })
  for (const entry of first.entries) evolve(run, entry)
  for (const strategy of ['coordinator_resolve', 'escalate']) {
    const last = ask(other!, strategy)
    expect(refused(last.result)).toBe('invalid_state')
    expect([last.entries, last.objects]).toEqual([[], []])
  }
  const rework = ask(other!, 'agent_rework')
  expect(unwrap(rework.result)).toEqual({ state: 'failed' })
  expect(rework.entries.map(entry => entry.event_type)).toContain('integration_aborted')
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
  expect(unwrap(await f.root.resolveConflict(f.id('W'), one, 'escalate', 'so'))).toEqual({ state: 'conflicted' })
  await f.expectAdded([
    [
      'gate_reentry_blocked',
      'W',
      'protocol',
      { gate_id: 'G', gate_type: 'conflict_resolution', subject_id: `${one}:0`, converted_to: 'approve' },
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
