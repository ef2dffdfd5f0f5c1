// Integrations that wait: for the lock of their target (W-INT-08), and at a gate.
import { type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelDefaults } from '../limits.ts'
import { begunBy, completedOn, gateOf, mergedBy, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { ended, expired, only, triggered } from '../testing/gates.ts'
import { aborted, completed, decided, delivered, emitted, started } from '../testing/tasks.ts'

const answered = (gate: string, source: string | null, action: string, actor: string, extra: object = {}): Row =>
  ended(gate, 'integration', source, action, actor, extra)

const begun = (signal: string, source: string, strategy = 'direct', extra: object = {}): readonly Row[] => [
  emitted(signal, 'R', 'integrate', 'system', { ref: source }),
  begunBy(source, strategy, extra),
]

/** The gate that accepting or beginning an integration waits for, named G<source>. */
async function waiting(f: Fixture, source: string, how: 'begin' | 'accept' = 'accept') {
  const asked = how === 'begin' ? f.root.beginIntegration(f.id(source)) : f.root.accept(f.id(source))
  const gate = gateOf(await asked)
  f.name(gate, `G${source}`)
  await f.expectAmong([triggered(`G${source}`, 'integration', source, { workspace: source })])
  return gate
}

const ux = (f: Fixture) => f.runtime.user('ux')

test('W-INT-02 the gate comes before everything else, and holds no lock', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'], B: ['b'] })
  const gate = await waiting(f, 'A', 'begin')
  expect(unwrap(await f.root.look(f.id('A'))).integration).toBeNull()
  // Asked again, it is the same wait.
  expect(gateOf(await f.root.beginIntegration(f.id('A')))).toBe(gate)
  await f.expectAdded([])
  const other = await waiting(f, 'B')
  unwrap(await ux(f).approve(f.run.id, other))
  await f.expectAdded([answered('GB', 'B', 'approve', 'ux'), ...begun('sig1', 'B'), ...closed('B')])
  unwrap(await ux(f).approve(f.run.id, gate))
  await f.expectAdded([answered('GA', 'A', 'approve', 'ux'), ...begun('sig2', 'A')])
  // What was begun is accepted without being asked for again.
  unwrap(await f.root.accept(f.id('A')))
  await f.expectAdded([...closed('A')])
})

test('W-INT-02 what else was said of a merge survives the gate, and a restart', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'] })
  const how = { strategy: 'evaluated', basis: 'priority', result: { tree: 1 } } as const
  const gate = gateOf(await f.root.accept(f.id('A'), how))
  f.name(gate, 'GA')
  await f.restart()
  await f.mark()
  unwrap(await ux(f).approve(f.run.id, gate))
  f.name(unwrap(await f.root.look()).merges[0]!.result_ref!, 'M')
  await f.expectAdded([
    answered('GA', 'A', 'approve', 'ux'),
    ...begun('sig1', 'A', 'evaluated', { order_index: 1, order_basis: 'priority' }),
    mergedBy('A', 'evaluated', 'success', { result_ref: 'M' }),
    decided('A', 'integrating', 'closed', 'integration_succeeded'),
  ])
  expect(unwrap(await f.root.readResult(f.id('A')))).toEqual({ tree: 1 })
})

test('AMB-18 revise and reject are not gated, and take the gate with them', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'] })
  await waiting(f, 'A')
  unwrap(await f.root.revise(f.id('A')))
  const reason = 'revision_required'
  await f.expectAdded([
    emitted('sig1', 'R', 'integrate', 'system', { ref: 'A' }),
    started('A', 'KA'),
    aborted('A', reason),
    emitted('sig2', 'A', 'failed', 'system', { reason }),
    decided('A', 'integrating', 'failed', reason),
    delivered('sig2', 'A', 'R'),
    answered('GA', null, 'reject', 'protocol', { reason: 'subject_invalidated' }),
  ])
})

test.each([false, true])(
  'W-INT-08 what is approved while another integration is open begins when that has ended (restarted: %s)',
  async restarted => {
    const f = await fixture({ run: { highway: only('integration') } })
    await completedOn(f, { A: ['a'], B: ['b'], C: ['c'] })
    const gates = { B: await waiting(f, 'B'), C: await waiting(f, 'C', 'begin') }
    const first = gateOf(await f.root.beginIntegration(f.id('A'), 'evaluated'))
    unwrap(await ux(f).approve(f.run.id, first))
    const [conflict] = unwrap(await f.root.reportConflicts(f.id('A'), [overlap]))
    await f.mark()
    unwrap(await ux(f).approve(f.run.id, gates.B))
    unwrap(await ux(f).approve(f.run.id, gates.C))
    await f.expectAdded([answered('GB', 'B', 'approve', 'ux'), answered('GC', 'C', 'approve', 'ux')])
    if (restarted) await f.restart()
    await f.mark()
    expect(await f.state('B')).toBe('integrating')
    unwrap(await f.root.resolveConflict(f.id('A'), conflict!, 'coordinator_resolve', 'so'))
    await f.expectAmong([
      mergedBy('A', 'evaluated', 'conflict_resolved'),
      ...begun('sig1', 'B'),
      ...closed('B'),
      ...begun('sig2', 'C'),
    ])
    expect(await f.run.read(run => run.approved.size)).toBe(0)
  },
)

test('W-INT-08 what was approved and then aborted does not begin', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'], B: ['b'] })
  const gate = await waiting(f, 'B')
  unwrap(await ux(f).approve(f.run.id, await waiting(f, 'A', 'begin')))
  unwrap(await ux(f).approve(f.run.id, gate))
  unwrap(await f.root.abort(f.id('B')))
  expect(await f.run.read(run => run.approved.size)).toBe(0)
  await f.mark()
  unwrap(await f.root.accept(f.id('A')))
  await f.expectAdded([...closed('A')])
})

test('W-INT-08 an integrator that asks again for what was approved is not stopped again', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'], B: ['b'] })
  const gate = await waiting(f, 'B', 'begin')
  unwrap(await ux(f).approve(f.run.id, await waiting(f, 'A', 'begin')))
  unwrap(await ux(f).approve(f.run.id, gate))
  const again = f.root.accept(f.id('B'))
  await f.settle()
  await f.mark()
  unwrap(await f.root.accept(f.id('A')))
  expect(refused(await again)).toBe('ok')
  await f.expectAdded([...closed('A'), ...begun('sig1', 'B'), ...closed('B')])
})

test('W-HWY-09 a fallback that approves merges, one that rejects fails', async () => {
  for (const [fallback, state] of [
    ['approve', 'closed'],
    ['reject', 'failed'],
  ] as const) {
    const f = await fixture({ run: { highway: only('integration', { timeout: 1000, fallback }) } })
    await completedOn(f, { A: ['a'] })
    await waiting(f, 'A')
    await f.advance(1001)
    await f.expectAmong([expired('GA', 'integration', 'A', fallback, 1000), answered('GA', 'A', fallback, 'fallback')])
    expect(await f.state('A')).toBe(state)
    // The reason is the same as that of a rejection by a human.
    if (fallback === 'reject')
      expect((await f.run.entries()).at(-2)?.body).toMatchObject({
        reason: 'gate_rejected_by_human',
        initiator: 'protocol',
      })
  }
})

/** A command whose answer can be looked at before it has come. */
function asked(answer: Promise<Result<unknown>>): {
  readonly answer: Promise<Result<unknown>>
  state: string
} {
  const watched = { answer, state: 'waiting' }
  void answer.then(result => {
    watched.state = refused(result)
  })
  return watched
}

const closed = (source: string): readonly Row[] => [
  completed(source),
  decided(source, 'integrating', 'closed', 'integration_succeeded'),
]

async function merged(f: Fixture): Promise<readonly string[]> {
  return unwrap(await f.root.look()).merges.map(({ source }) => f.nameOf(source))
}

test('W-INT-08 integrations that wait go on in the order in which they were asked for, before any that is asked later', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a'], B: ['b'], C: ['c'], D: ['d'] })
  unwrap(await f.root.beginIntegration(f.id('A')))
  const b = asked(f.root.accept(f.id('B')))
  await f.settle()
  const c = asked(f.root.accept(f.id('C')))
  await f.settle()
  await f.mark()
  // D is asked for together with the end of A: the lock is free at that moment, and B has waited longer.
  const answers = await Promise.all([f.root.accept(f.id('A')), f.root.accept(f.id('D')), b.answer, c.answer])
  expect(answers.map(refused)).toEqual(['ok', 'ok', 'ok', 'ok'])
  await f.expectAdded([
    ...closed('A'),
    ...['B', 'C', 'D'].flatMap((name, at) => [...begun(`sig${at + 1}`, name), ...closed(name)]),
  ])
  expect(await merged(f)).toEqual(['A', 'B', 'C', 'D'])
})

test('W-INT-08 a judgement waits for the lock as well, and targets do not wait for each other', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a'], B: ['b'] })
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('C', {}, delegate)
  await f.bring('C', 'integrating')
  unwrap(await f.root.beginIntegration(f.id('A')))
  const judged = asked(f.root.reject(f.id('B')))
  unwrap(await delegate.accept(f.id('C')))
  await f.settle()
  expect(judged.state).toBe('waiting')
  expect([await f.state('B'), await f.state('C')]).toEqual(['integrating', 'closed'])
  unwrap(await f.root.failIntegration(f.id('A')))
  unwrap(await judged.answer)
  expect([await f.state('A'), await f.state('B')]).toEqual(['failed', 'failed'])
})

test('W-INT-08 an integration that waited learns that its source is gone', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a'], B: ['b'] })
  unwrap(await f.root.beginIntegration(f.id('A')))
  const waiting = asked(f.root.beginIntegration(f.id('B')))
  unwrap(await f.root.abort(f.id('B')))
  await f.settle()
  await f.mark()
  unwrap(await f.root.accept(f.id('A')))
  expect(refused(await waiting.answer)).toBe('invalid_state')
  await f.expectAdded([...closed('A')])
})

test('W-INT-08 an integration does not wait for one that never became durable', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a'], B: ['b'] })
  f.disks.trail.fail('write', { times: 1_000_000 })
  const first = f.root.beginIntegration(f.id('A'))
  const second = asked(f.root.beginIntegration(f.id('B')))
  expect(refused(await first)).toBe('trail_unavailable')
  f.disks.trail.mend()
  await f.advance(kernelDefaults.degradedRetry)
  unwrap(await second.answer)
  await f.expectAdded([...begun('sig1', 'B')])
  expect(unwrap(await f.root.look(f.id('A'))).integration).toBeNull()
})

test.each(['stop', 'fail'] as const)(
  'W-LIFE-13 an integration that waits when the run ends (%s) is refused as too late',
  async end => {
    const f = await fixture()
    await completedOn(f, { A: ['a'], B: ['b'] })
    unwrap(await f.root.beginIntegration(f.id('A')))
    const waiting = asked(f.root.beginIntegration(f.id('B')))
    await f.settle()
    expect(waiting.state).toBe('waiting')
    if (end === 'stop') unwrap(await f.run.stop())
    else unwrap(await f.root.failed('no'))
    expect(refused(await waiting.answer)).toBe('invalid_state')
    const entries = (await f.run.entries()).map(entry => [entry.event_type, entry.workspace])
    expect(entries.at(-1)).toEqual(['workspace_state_changed', f.root.workspace])
  },
)

test('W-LIFE-13 an integration that is asked for while the last entry is on its way to disk is too late', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a'] })
  const stopped = f.run.stop()
  // The stop is decided in the next microtask; the disk takes longer.
  await Promise.resolve()
  await Promise.resolve()
  const late = f.root.accept(f.id('A'))
  unwrap(await stopped)
  expect(refused(await late)).toBe('invalid_state')
  expect((await f.added()).map(entry => entry.event_type)).not.toContain('integration_started')
})
