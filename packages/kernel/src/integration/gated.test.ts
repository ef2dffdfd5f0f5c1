import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { begunBy, completedOn, gateOf, mergedBy, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { ended, expired, only, triggered } from '../testing/gates.ts'
import { aborted, changed, decided, delivered, emitted, started } from '../testing/tasks.ts'

const answered = (gate: string, source: string | null, action: string, actor: string, extra: object = {}): Row =>
  ended(gate, 'integration', source, action, actor, extra)

const begun = (signal: string, source: string, strategy = 'direct', extra: object = {}): readonly Row[] => [
  emitted(signal, 'R', 'integrate', 'system', { ref: source }),
  begunBy(source, strategy, extra),
]

const closed = (source: string): Row => decided(source, 'integrating', 'closed', 'integration_succeeded')

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
  await f.expectAdded([
    answered('GB', 'B', 'approve', 'ux'),
    ...begun('sig1', 'B'),
    mergedBy('B', 'direct'),
    closed('B'),
  ])
  unwrap(await ux(f).approve(f.run.id, gate))
  await f.expectAdded([answered('GA', 'A', 'approve', 'ux'), ...begun('sig2', 'A')])
  // What was begun is accepted without being asked for again.
  unwrap(await f.root.accept(f.id('A')))
  await f.expectAdded([mergedBy('A', 'direct'), closed('A')])
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
    closed('A'),
  ])
  expect(unwrap(await f.root.readResult(f.id('A')))).toEqual({ tree: 1 })
})

test('W-INT-15 a rejected gate fails the workspace without an integration', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'] })
  const gate = await waiting(f, 'A')
  unwrap(await ux(f).reject(f.run.id, gate))
  const reason = 'gate_rejected_by_human'
  await f.expectAdded([
    answered('GA', 'A', 'reject', 'ux'),
    emitted('sig1', 'A', 'failed', 'protocol', { reason }),
    changed('A', 'integrating', 'failed', reason, 'ux', 'human'),
    delivered('sig1', 'A', 'R'),
  ])
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

test('W-HWY-08 a human may choose another strategy', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['f'], B: ['f'] })
  unwrap(await ux(f).approve(f.run.id, await waiting(f, 'A')))
  const gate = await waiting(f, 'B')
  const modifications = { strategy: 'layered' }
  unwrap(await ux(f).modify(f.run.id, gate, modifications))
  await f.expectAmong([
    answered('GB', 'B', 'modify', 'ux', { modifications }),
    begunBy('B', 'layered'),
    ['conflict_detected', 'B', 'protocol'],
    decided('B', 'integrating', 'conflicted', 'conflict_detected'),
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
      mergedBy('B', 'direct'),
      closed('B'),
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
  await f.expectAdded([mergedBy('A', 'direct'), closed('A')])
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
  await f.expectAdded([
    mergedBy('A', 'direct'),
    closed('A'),
    ...begun('sig1', 'B'),
    mergedBy('B', 'direct'),
    closed('B'),
  ])
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
  }
})
