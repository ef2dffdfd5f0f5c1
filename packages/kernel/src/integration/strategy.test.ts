// Strategies of integration and the overlap that each of them finds (W-INT-06, -07, -09).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { begunBy, completedOn, contradiction, detected, mergedBy } from '../testing/conflicts.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { failedOn } from '../testing/salvages.ts'
import { decided, emitted } from '../testing/tasks.ts'

const integrate = (signal: string, source: string): Row => emitted(signal, 'R', 'integrate', 'system', { ref: source })

const closed = (source: string): Row => decided(source, 'integrating', 'closed', 'integration_succeeded')

const conflicted = (source: string): Row => decided(source, 'integrating', 'conflicted', 'conflict_detected')

const shared = (earlier: string, resources: readonly string[]) => ({
  type: 'content_overlap' as const,
  resources,
  description: `Integrated earlier, ${earlier} changed ${resources.length} of the same files.`,
})

test('W-INT-07 overlap is with every earlier integration into the target, one conflict for each source, the newest of a file', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a', 'f'], B: ['b', 'f'], C: ['c'], D: ['f', 'c', 'a', 'd', 'f'] })
  for (const source of ['A', 'B', 'C']) unwrap(await f.root.accept(f.id(source)))
  await f.mark()
  const { conflicts } = unwrap(await f.root.accept(f.id('D'), 'layered'))
  for (const [index, id] of conflicts.entries()) f.name(id, `X${index + 1}`)
  await f.expectAdded([
    integrate('sig1', 'D'),
    begunBy('D', 'layered'),
    detected('X1', 'D', 'protocol', shared(f.id('B'), ['f'])),
    detected('X2', 'D', 'protocol', shared(f.id('C'), ['c'])),
    detected('X3', 'D', 'protocol', shared(f.id('A'), ['a'])),
    conflicted('D'),
  ])
})

test('W-INT-07 work that never got merged stands in nobody’s way, and a delegate’s merges stay its own', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await completedOn(f, { C1: ['f'], C2: ['f'] }, delegate)
  await completedOn(f, { A: ['f'], B: ['f'] })
  unwrap(await delegate.accept(f.id('C1'), 'layered'))
  unwrap(await f.root.reject(f.id('A')))
  expect(unwrap(await f.root.accept(f.id('B'), 'layered')).state).toBe('closed')
  await f.mark()
  // Below the delegate the first of its own children was there before.
  const { state, conflicts } = unwrap(await delegate.accept(f.id('C2'), 'layered'))
  expect(state).toBe('conflicted')
  f.name(conflicts[0]!, 'X')
  await f.expectAmong([
    ['integration_started', 'C2', 'worker', { target: 'D', strategy: 'layered' }],
    detected('X', 'C2', 'protocol', shared(f.id('C1'), ['f'])),
    ['workspace_state_changed', 'C2', 'worker', { to_state: 'conflicted', initiator: 'worker' }],
  ])
  unwrap(await delegate.resolveConflict(f.id('C2'), conflicts[0]!, 'coordinator_resolve', 'mine'))
  await f.expectAmong([
    ['conflict_resolved', 'C2', 'worker', { conflict_id: 'X', outcome: 'closed' }],
    ['integration_completed', 'C2', 'worker', { target: 'D', result: 'conflict_resolved' }],
    ['workspace_state_changed', 'C2', 'worker', { to_state: 'closed', trigger: 'conflict_resolved' }],
  ])
})

test.each(['layered', 'evaluated'])(
  'AMB-55 W-INT-07 under %s other files are no overlap, nor, where it is asked for, what was merged before the source was created',
  async strategy => {
    const f = await fixture()
    await completedOn(f, { A: ['f'], B: ['f'] })
    unwrap(await f.root.accept(f.id('A')))
    await completedOn(f, { C: ['f'], D: ['f'], E: ['g'] })
    // The files of earlier integrations are known after a restart.
    await f.restart()
    const accept = async (name: string, how: object = {}) =>
      unwrap(await f.root.accept(f.id(name), { strategy, ...how } as never)).state
    expect(await accept('E')).toBe('closed')
    // B was created before A was merged, C and D after it.
    expect(await accept('C', { baseAware: true })).toBe('closed')
    expect(await accept('D', { baseAware: true })).toBe('conflicted')
    unwrap(await f.root.abort(f.id('D')))
    expect(await accept('B', { baseAware: true })).toBe('conflicted')
  },
)

test('W-INT-06 an observation is an empty merge under every strategy', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'] })
  unwrap(await f.root.accept(f.id('A')))
  for (const [name, how] of [
    ['O1', 'layered'],
    ['O2', { strategy: 'evaluated', result: { seen: true } }],
  ] as const) {
    await f.observer(name)
    f.name(unwrap(await f.final(name, ['f', name])).checkpoint, `K${name}`)
    unwrap(await f.agent(name).complete())
    await f.mark()
    const strategy = typeof how === 'string' ? how : how.strategy
    expect(unwrap(await f.root.accept(f.id(name), how)).state).toBe('closed')
    await f.expectAmong([begunBy(name, strategy), ['integration_completed', name, 'system'], closed(name)])
  }
  // It changed nothing that later work could overlap with.
  await completedOn(f, { B: ['O1', 'O2'] })
  expect(unwrap(await f.root.accept(f.id('B'), 'layered')).state).toBe('closed')
})

test('W-INT-06 the result of an evaluated merge is stored as the merged state, and is no checkpoint', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'] })
  const result = { tree: 'abc', notes: ['kept both'] }
  unwrap(await f.root.beginIntegration(f.id('A'), 'evaluated'))
  expect(unwrap(await f.root.accept(f.id('A'), { result })).state).toBe('closed')
  const merge = unwrap(await f.root.look()).merges[0]
  expect(merge).toMatchObject({ source: f.id('A'), strategy: 'evaluated' })
  f.name(merge!.result_ref!, 'M')
  await f.expectAdded([
    integrate('sig1', 'A'),
    begunBy('A', 'evaluated'),
    mergedBy('A', 'evaluated', 'success', { result_ref: 'M' }),
    closed('A'),
  ])
  expect(unwrap(await f.root.readResult(f.id('A')))).toEqual(result)
  expect(unwrap(await f.root.integration(f.id('A')))).toMatchObject({
    result: 'success',
    result_ref: merge!.result_ref,
  })
  await f.restart()
  expect(unwrap(await f.root.readResult(f.id('A')))).toEqual(result)
})

test.each([
  ['a result under direct', { result: 1 }],
  ['a result under layered', { strategy: 'layered', result: 1 }],
  ['a result that is no JSON', { strategy: 'evaluated', result: () => 1 }],
  ['an empty basis', { basis: '' }],
  ['a basis that is too long', { basis: 'x'.repeat(257) }],
  ['a filter that is neither on nor off', { strategy: 'layered', baseAware: 'yes' }],
] as const)('W-INT-06 %s is refused without an entry', async (_what, how) => {
  const f = await fixture()
  await completedOn(f, { A: ['f'] })
  expect(refused(await f.root.accept(f.id('A'), how as never))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(await f.state('A')).toBe('integrating')
})

test('W-INT-09 the place in the order and its basis are recorded where the integrator names one', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['a'], B: ['b'], C: ['c'] })
  unwrap(await f.root.accept(f.id('A'), { basis: 'dependencies' }))
  unwrap(await f.root.accept(f.id('B')))
  unwrap(await f.root.beginIntegration(f.id('C'), { strategy: 'layered', basis: 'priority' }))
  await f.expectAmong([
    begunBy('A', 'direct', { order_index: 1, order_basis: 'dependencies' }),
    begunBy('B', 'direct'),
    begunBy('C', 'layered', { order_index: 3, order_basis: 'priority' }),
  ])
  expect(unwrap(await f.root.look(f.id('C'))).integration).toMatchObject({ order_index: 3, order_basis: 'priority' })
})

test('W-INT-07 however much overlaps, what is recorded of it is bounded', async () => {
  const f = await fixture()
  const names = Array.from({ length: kernelLimits.conflicts + 2 }, (_, index) => `W${index}`)
  const own = (name: string) => Array.from({ length: 12 }, (_, index) => `${name}/${index}${'x'.repeat(3500)}`)
  await completedOn(f, Object.fromEntries(names.map(name => [name, own(name)])))
  for (const name of names) unwrap(await f.root.accept(f.id(name)))
  await completedOn(f, { Z: names.flatMap(own) })
  const { conflicts } = unwrap(await f.root.accept(f.id('Z'), 'layered'))
  expect(conflicts).toHaveLength(kernelLimits.conflicts)
  const record = unwrap(await f.root.integration(f.id('Z')))!
  const [first, last] = [record.conflicts[0]!, record.conflicts.at(-1)!]
  expect([first.resources.length, last.resources.length]).toEqual([9, 9])
  expect(first.description).toContain('changed 12 of the same files. 3 more are not named here.')
  expect(last.description).toContain('changed 36 of the same files. 27 more are not named here.')
})

test('W-INT-07 a report that names all of it is recorded as it is, and one that ignores older work too', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f', 'g'], B: ['f', 'g', 'h'] })
  unwrap(await f.root.accept(f.id('A')))
  await completedOn(f, { C: ['f'] })
  const report = async (name: string, resources: string[], options = {}) => {
    unwrap(await f.root.beginIntegration(f.id(name), 'evaluated'))
    const found = { type: 'content_overlap', resources, description: 'both changed it' } as const
    return unwrap(await f.root.reportConflicts(f.id(name), [found], options))
  }
  expect(await report('B', ['g', 'f', 'elsewhere'])).toHaveLength(1)
  unwrap(await f.root.abort(f.id('B')))
  // A was merged before C was created.
  expect(await report('C', ['g'], { baseAware: true })).toHaveLength(1)
  const unclear = f.root.reportConflicts(f.id('C'), [contradiction], { baseAware: 'yes' as never })
  expect(refused(await unclear)).toBe('invalid_state')
})

test('W-INT-20 what the integrator of a salvage reports is joined by the overlap that it does not name', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'] })
  unwrap(await f.root.accept(f.id('A')))
  const reported: Row = ['conflict_detected', 'R', 'system', { conflict_type: 'semantic_contradiction' }]
  const found: Row = ['conflict_detected', 'R', 'protocol', { resources: ['f'] }]
  for (const [name, how, rows] of [
    ['V', {}, [reported, found]],
    ['W', { baseAware: true }, [reported]],
  ] as const) {
    await failedOn(f, name, ['f'])
    unwrap(await f.root.salvage(f.id(name)))
    await f.mark()
    expect(unwrap(await f.root.reportConflicts(f.id(name), [contradiction], how))).toHaveLength(rows.length)
    expect(await f.expectAmong(rows)).toHaveLength(rows.length)
    unwrap(await f.root.discardSalvage(f.id(name)))
  }
})
