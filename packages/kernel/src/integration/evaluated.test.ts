// Overlap under `evaluated` (W-INT-07): the runtime finds it, whatever the integrator says or leaves out.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { begunBy, completedOn, contradiction, detected, mergedBy, resolved } from '../testing/conflicts.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { failedOn, salvageMerged } from '../testing/salvages.ts'
import { decided, emitted } from '../testing/tasks.ts'

const conflicted: Row = decided('B', 'integrating', 'conflicted', 'conflict_detected')
const closed: Row = decided('B', 'conflicted', 'closed', 'conflict_resolved')

const shared = (earlier: string, resources: readonly string[]) => ({
  type: 'content_overlap' as const,
  resources,
  description: `Integrated earlier, ${earlier} changed ${resources.length} of the same files.`,
})

/** A is merged, B overlaps with it in f and g. */
async function overlapping(): Promise<Fixture> {
  const f = await fixture()
  await completedOn(f, { A: ['f', 'g'], B: ['f', 'g', 'h'] })
  unwrap(await f.root.accept(f.id('A')))
  await f.mark()
  return f
}

test.each(['at once', 'after it was begun'])(
  'WX-031 an evaluated merge of overlapping work stops at the overlap, and keeps its result: accepted %s',
  async how => {
    const f = await overlapping()
    const result = { tree: 'both' }
    if (how !== 'at once') unwrap(await f.root.beginIntegration(f.id('B'), 'evaluated'))
    const outcome = unwrap(await f.root.accept(f.id('B'), { strategy: 'evaluated', result }))
    expect(outcome).toEqual({ state: 'conflicted', conflicts: [expect.stringMatching(/^conflict_/)] })
    const [conflict] = outcome.conflicts
    f.name(conflict!, 'X')
    await f.expectAdded([
      emitted('sig1', 'R', 'integrate', 'system', { ref: 'B' }),
      begunBy('B', 'evaluated'),
      detected('X', 'B', 'protocol', shared(f.id('A'), ['f', 'g'])),
      conflicted,
    ])
    await f.restart()
    const settled = await f.root.resolveConflict(f.id('B'), conflict!, 'coordinator_resolve', 'both')
    expect(unwrap(settled)).toEqual({ state: 'closed' })
    const { result_ref } = unwrap(await f.root.integration(f.id('B')))!
    f.name(result_ref!, 'M')
    await f.expectAmong([
      resolved('X', 'B', 'system', {
        type: 'content_overlap',
        strategy: 'coordinator_resolve',
        resolution: 'both',
        outcome: 'closed',
      }),
      mergedBy('B', 'evaluated', 'conflict_resolved', { result_ref: 'M' }),
      closed,
    ])
    expect(unwrap(await f.root.readResult(f.id('B')))).toEqual(result)
  },
)

test('WX-031 an observation, other files and, where it is asked for, older integrations are no overlap', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'] })
  unwrap(await f.root.accept(f.id('A')))
  await completedOn(f, { B: ['g'], C: ['f'], D: ['f'] })
  const accept = async (name: string, how: object = {}) =>
    unwrap(await f.root.accept(f.id(name), { strategy: 'evaluated', ...how })).state
  expect(await accept('B')).toBe('closed')
  expect(await accept('C', { baseAware: true })).toBe('closed')
  expect(await accept('D', { baseAware: true })).toBe('conflicted')
})

test('WX-032 beside what the integrator reports, the runtime records the overlap that no report names', async () => {
  const f = await overlapping()
  unwrap(await f.root.beginIntegration(f.id('B'), 'evaluated'))
  await f.mark()
  const named = { type: 'content_overlap', resources: ['f'], description: 'both changed f' } as const
  const ids = unwrap(await f.root.reportConflicts(f.id('B'), [named, contradiction]))
  for (const [index, id] of ids.entries()) f.name(id, `X${index + 1}`)
  // The contradiction names g too, but it does not speak of an overlap.
  await f.expectAdded([
    detected('X1', 'B', 'system', named),
    detected('X2', 'B', 'system', contradiction),
    detected('X3', 'B', 'protocol', shared(f.id('A'), ['g'])),
    conflicted,
  ])
  for (const id of ids.slice(0, 2))
    unwrap(await f.root.resolveConflict(f.id('B'), id, 'coordinator_resolve', 'both'))
  expect(await f.state('B')).toBe('conflicted')
  unwrap(await f.root.resolveConflict(f.id('B'), ids[2]!, 'coordinator_resolve', 'both'))
  expect(await f.state('B')).toBe('closed')
})

test('WX-032 a report that names all of it is recorded as it is, and one that ignores older work too', async () => {
  const f = await overlapping()
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

test('WX-033 a salvage of overlapping work is recorded and settled first, and touches no state', async () => {
  const f = await fixture()
  await completedOn(f, { A: ['f'] })
  unwrap(await f.root.accept(f.id('A')))
  await failedOn(f, 'W', ['f'])
  unwrap(await f.root.salvage(f.id('W')))
  await f.mark()
  expect(unwrap(await f.root.mergeSalvage(f.id('W'), { kept: 1 }))).toEqual({ salvage: 'open' })
  const [conflict] = unwrap(await f.root.integration(f.id('W')))!.conflicts
  f.name(conflict!.conflict_id, 'X')
  const [type, , actor, body] = detected('X', 'W', 'protocol', shared(f.id('A'), ['f']))
  await f.expectAdded([[type, 'R', actor, { ...body, mode: 'salvage' }]])
  expect(await f.state('W')).toBe('failed')
  expect(refused(await f.root.mergeSalvage(f.id('W')))).toBe('invalid_state')
  await f.restart()
  const resolve = f.root.resolveConflict(f.id('W'), conflict!.conflict_id, 'coordinator_resolve', 'both')
  expect(unwrap(await resolve)).toEqual({ salvage: 'merged' })
  const { result_ref } = unwrap(await f.root.integration(f.id('W')))!
  f.name(result_ref!, 'M')
  await f.expectAmong([salvageMerged('W', { result: 'conflict_resolved', result_ref: 'M' })])
  expect(unwrap(await f.root.readResult(f.id('W')))).toEqual({ kept: 1 })
})

test('WX-033 what the integrator of a salvage reports is joined by the overlap that it does not name', async () => {
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
