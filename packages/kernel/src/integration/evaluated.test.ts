// Overlap under `evaluated` (W-INT-07): the runtime finds it, whatever the integrator says or leaves out.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { completedOn, contradiction } from '../testing/conflicts.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { failedOn } from '../testing/salvages.ts'

/** A is merged, B overlaps with it in f and g. */
async function overlapping(): Promise<Fixture> {
  const f = await fixture()
  await completedOn(f, { A: ['f', 'g'], B: ['f', 'g', 'h'] })
  unwrap(await f.root.accept(f.id('A')))
  await f.mark()
  return f
}

test('W-INT-07 an observation, other files and, where it is asked for, older integrations are no overlap', async () => {
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

test('W-INT-07 a report that names all of it is recorded as it is, and one that ignores older work too', async () => {
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
