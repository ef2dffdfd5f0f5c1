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
  detected,
  endedConflicted,
  gateOf,
  mergedBy,
  overlap,
  resolved,
  settled,
  triggered,
  twoConflicts,
} from '../testing/conflicts.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { aborted, changed, decided, emitted, finished, graphOf } from '../testing/tasks.ts'

test('WM-084 an evaluated merge closes once each of its conflicts is settled, one of them by the owner', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { T: {} })
  await finished(f, 'W', id('T'))
  f.name(unwrap(await f.root.look(f.id('W'))).deliverable!, 'KW')
  await f.mark()
  unwrap(await f.root.beginIntegration(f.id('W'), 'evaluated'))
  const ids = unwrap(await f.root.reportConflicts(f.id('W'), [overlap, contradiction]))
  const [one, other] = ids as [string, string]
  f.name(one, 'X1')
  f.name(other, 'X2')
  await f.expectAdded([
    emitted('sig1', 'R', 'integrate', 'system', { ref: 'W' }),
    begunBy('W', 'evaluated'),
    detected('X1', 'W', 'system', overlap),
    detected('X2', 'W', 'system', contradiction),
    decided('W', 'integrating', 'conflicted', 'conflict_detected'),
  ])

  expect(unwrap(await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'kept both'))).toEqual({
    state: 'conflicted',
  })
  await f.expectAdded([byRoot('X1', 'kept both')])
  // It cannot be closed while one is open.
  expect(refused(await f.root.accept(f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])

  const gate = gateOf(await f.root.resolveConflict(f.id('W'), other, 'escalate', 'say yes'))
  f.name(gate, 'G')
  await f.expectAmong([triggered('G')])
  expect(await f.state('W')).toBe('conflicted')
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate))
  await f.expectAdded([
    answered('G', 'approve', 'ux'),
    settled('X2', 'ux', { strategy: 'escalate', resolution: 'say yes', outcome: 'closed' }),
    ...closedConflicted,
  ])
  const entries = (await f.run.entries()).map(entry => entry.event_type)
  expect(entries.filter(type => type === 'checkpoint_created')).toHaveLength(1)
  expect(unwrap(await f.root.integration(f.id('W')))).toMatchObject({
    result: 'conflict_resolved',
    conflicts: [
      { conflict_id: one, strategy: 'coordinator_resolve', resolution: 'kept both', outcome: 'closed' },
      { conflict_id: other, strategy: 'escalate', resolution: 'say yes', outcome: 'closed' },
    ],
  })
})

test('WM-085 work that one conflict sends back fails as a whole, and nothing new begins by itself', async () => {
  const f = await fixture()
  const [one] = await twoConflicts(f)
  const sent = await f.root.resolveConflict(f.id('W'), one, 'agent_rework', 'start from the new f')
  expect(unwrap(sent)).toEqual({ state: 'failed' })
  await f.expectAdded([
    settled('X1', 'system', {
      strategy: 'agent_rework',
      resolution: 'start from the new f',
      outcome: 'failed',
    }),
    settled('X2', 'system', {
      strategy: 'agent_rework',
      resolution: 'conflict_unresolvable',
      outcome: 'failed',
    }),
    ...endedConflicted('sig1', {
      aborts: 'agent_rework',
      reason: 'conflict_unresolvable',
      actor: 'system',
      initiator: 'coordinator',
    }),
  ])
  expect(await f.run.read(run => run.workspaces.size)).toBe(2)
})

test('WM-085 an owner who rejects what was escalated ends the work', async () => {
  const f = await fixture()
  const [one, other] = await twoConflicts(f)
  const gate = gateOf(await f.root.resolveConflict(f.id('W'), other, 'escalate', 'say yes'))
  f.name(gate, 'G')
  await f.mark()
  unwrap(await f.runtime.user('ux').reject(f.run.id, gate))
  await f.expectAdded([
    answered('G', 'reject', 'ux'),
    settled('X2', 'ux', { strategy: 'escalate', resolution: 'gate_rejected_by_human', outcome: 'failed' }),
    settled('X1', 'ux', { strategy: 'escalate', resolution: 'conflict_unresolvable', outcome: 'failed' }),
    ...endedConflicted('sig1', {
      aborts: 'gate_rejected_by_human',
      reason: 'conflict_unresolvable',
      actor: 'ux',
      initiator: 'human',
    }),
  ])
  expect(refused(await f.root.resolveConflict(f.id('W'), one, 'coordinator_resolve', 'late'))).toBe(
    'invalid_state(conflict_not_open)',
  )
  expect(await f.run.read(run => run.workspaces.size)).toBe(2)
})

test('WM-086 conflicts that outlast the workspace’s time fail it, and the gate that waits goes with it', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { T: {} })
  await f.worker('W', { task: id('T'), directive: null, timeout: 20_000 })
  unwrap(await f.agent('W').started())
  await f.advance(15_000)
  await f.bring('W', 'integrating')
  // Nobody counts the time until it is looked at.
  await f.advance(60_000)
  const [one, other] = await conflictedBy(f, 'W', [overlap, contradiction])
  unwrap(await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'kept both'))
  f.name(gateOf(await f.root.resolveConflict(f.id('W'), other!, 'escalate', 'say yes')), 'G')
  await f.mark()
  await f.advance(4_900)
  await f.expectAdded([])
  await f.advance(101)
  await f.expectAdded([
    settled('X2', 'protocol', { strategy: 'timeout', resolution: 'conflict_timeout', outcome: 'failed' }),
    ...endedConflicted('sig1', {
      aborts: 'conflict_timeout',
      reason: 'conflict_timeout',
      actor: 'protocol',
      initiator: 'protocol',
    }),
    // W is over: what follows is filed under nobody (W-TRAIL-08).
    [
      'gate_resolved',
      null,
      'protocol',
      {
        gate_id: 'G',
        gate_type: 'conflict_resolution',
        action: 'reject',
        actor: 'protocol',
        reason: 'subject_invalidated',
      },
    ],
  ])
})

test('W-INT-15 conflicts of a layered merge that the integrator settles itself', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'], B: ['g'], W: ['f', 'g'] })
  for (const source of ['A', 'B']) unwrap(await f.root.accept(f.id(source)))
  await f.mark()
  const { conflicts } = unwrap(await f.root.accept(f.id('W'), 'layered'))
  for (const [index, id] of conflicts.entries()) f.name(id, `X${index + 1}`)
  for (const [index, id] of conflicts.entries())
    unwrap(await f.root.resolveConflict(f.id('W'), id, 'coordinator_resolve', `merged ${index + 1}`))
  const type = 'content_overlap'
  const how = (resolution: string) => ({
    type,
    strategy: 'coordinator_resolve',
    resolution,
    outcome: 'closed' as const,
  })
  await f.expectAdded([
    emitted('sig1', 'R', 'integrate', 'system', { ref: 'W' }),
    begunBy('W', 'layered'),
    ['conflict_detected', 'W', 'protocol'],
    ['conflict_detected', 'W', 'protocol'],
    decided('W', 'integrating', 'conflicted', 'conflict_detected'),
    resolved('X1', 'W', 'system', how('merged 1')),
    resolved('X2', 'W', 'system', how('merged 2')),
    mergedBy('W', 'layered', 'conflict_resolved'),
    decided('W', 'conflicted', 'closed', 'conflict_resolved'),
  ])
  // What came of it stands in the way of what comes next.
  await completedOn(f, { C: ['f'] })
  expect(unwrap(await f.root.accept(f.id('C'), 'layered')).state).toBe('conflicted')
})

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
  await f.expectAdded([
    [
      'capability_denied',
      'W',
      'worker',
      {
        user_id: null,
        capability: 'operation:integrate',
        action: 'integrate',
        target: 'W',
        reason: 'permission_denied',
      },
    ],
  ])
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
  ]
  expect(answers.map(refused)).toEqual([
    'invalid_argument(invalid_strategy)',
    'invalid_argument(invalid_strategy)',
    'invalid_argument',
    'invalid_argument',
    'invalid_argument',
    'invalid_state(conflict_not_open)',
    'invalid_state(conflict_not_open)',
  ])
  await f.expectAdded([])
  unwrap(await resolve(one, 'coordinator_resolve'))
  expect(refused(await resolve(one, 'coordinator_resolve'))).toBe('invalid_state(conflict_not_open)')
  expect(refused(await f.agent('V').resolveConflict(f.id('W'), one, 'escalate', 'so'))).toBe(
    'permission_denied',
  )
})

test('W-LIFE-09 nothing leads out of conflicted but its resolution, an abort and time', async () => {
  const f = await fixture()
  await twoConflicts(f)
  const attempts = [
    f.root.beginIntegration(f.id('W'), 'evaluated'),
    f.root.accept(f.id('W')),
    f.root.revise(f.id('W')),
    f.root.reject(f.id('W')),
    f.root.failIntegration(f.id('W')),
    f.root.reportConflicts(f.id('W'), [overlap]),
    f.root.suspend(f.id('W'), 'no'),
    f.root.resume(f.id('W')),
  ]
  expect((await Promise.all(attempts)).map(refused)).toEqual(attempts.map(() => 'invalid_state'))
  await f.expectAdded([])
  expect(await f.state('W')).toBe('conflicted')
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

test('W-INT-02 conflicts below a delegate that fails end with the cascade', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.workspace('C', { directive: { format: 'markdown', content: 'part' } }, delegate)
  await f.settle()
  unwrap(await f.final('C'))
  unwrap(await child.complete())
  unwrap(await delegate.beginIntegration(child.workspace, 'evaluated'))
  unwrap(await delegate.reportConflicts(child.workspace, [overlap]))
  await f.mark()
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAmong([
    decided('D', 'active', 'failed', 'aborted_by_coordinator'),
    aborted('C', 'parent_failed', 'protocol', 'D'),
    changed('C', 'conflicted', 'failed', 'parent_failed', 'protocol', 'protocol'),
  ])
  expect((await f.run.entries()).map(entry => entry.event_type)).not.toContain('conflict_resolved')
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
    body: { ...created.body, workspace_id: 'ws_child', parent: f.id('W'), delegate: false } as never,
  })
  const ask = (conflict: string, strategy: string) =>
    decide(
      run,
      {
        type: 'resolve_conflict',
        caller: f.root.workspace,
        source: f.id('W'),
        conflict,
        strategy,
        resolution: 'so',
      },
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
