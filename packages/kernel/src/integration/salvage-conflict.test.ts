// Conflicts in salvage (W-INT-20, AMB-34): on record, settled as always, and no state or task moves.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { completedOn, gateOf, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { only } from '../testing/gates.ts'
import { failedWork, salvageAborted, salvageBegun, salvageDetected, salvageResolved } from '../testing/salvages.ts'

const closedBy = (strategy: string, resolution: string) =>
  ({ type: 'content_overlap', strategy, resolution, outcome: 'closed' }) as const

/** A salvage of W, which failed on a file that A has changed since, with these conflicts X1, X2, … */
async function meets(f: Fixture, found = [overlap]): Promise<readonly string[]> {
  await failedWork(f)
  await completedOn(f, { A: ['f'] })
  unwrap(await f.root.accept(f.id('A')))
  await f.mark()
  const begun = unwrap(await f.root.salvage(f.id('W')))
  expect(begun.overlaps).toMatchObject([{ type: 'content_overlap', resources: ['f'] }])
  await f.expectAdded(salvageBegun('sig1', 'W', 'K1'))
  const ids = unwrap(await f.root.reportConflicts(f.id('W'), found))
  for (const [index, id] of ids.entries()) f.name(id, `X${index + 1}`)
  await f.expectAdded(found.map((each, index) => salvageDetected(`X${index + 1}`, 'W', each)))
  return ids
}

async function states(f: Fixture) {
  return f.run.read(run => ({
    states: [...run.workspaces.values()].map(each => [each.id, each.status]),
    tasks: [...run.tasks.values()].map(each => [each.id, each.status, each.workspace, each.checkpoint]),
  }))
}

test('W-INT-20 the owner of the failed work is asked, and may end the salvage', async () => {
  const f = await fixture()
  const [one] = await meets(f)
  const before = await states(f)
  const asked = gateOf(await f.root.resolveConflict(f.id('W'), one!, 'escalate', 'mine'))
  f.name(asked, 'G')
  const gate: Row = ['gate_triggered', 'R', 'protocol', { gate_id: 'G', workspace: 'R', addressee: 'ux' }]
  await f.expectAmong([gate])
  unwrap(await f.runtime.user('ux').reject(f.run.id, asked))
  await f.expectAmong([
    ['gate_resolved', 'R', 'ux', { gate_id: 'G', action: 'reject' }],
    salvageResolved('X1', 'W', 'ux', {
      type: 'content_overlap',
      strategy: 'escalate',
      resolution: 'gate_rejected_by_human',
      outcome: 'failed',
    }),
    salvageAborted('W', 'gate_rejected_by_human', { actor: 'ux' }),
  ])
  expect(await states(f)).toEqual(before)
})

test('W-INT-20 what the owner approves is merged; a proposal that is rejected leaves the salvage open', async () => {
  const f = await fixture({ run: { highway: only('conflict_resolution') } })
  const [one] = await meets(f)
  const first = gateOf(await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'so', { made: 1 }))
  unwrap(await f.runtime.user('ux').reject(f.run.id, first))
  expect(unwrap(await f.root.integration(f.id('W')))).toMatchObject({ result: null, aborted: null })
  const second = gateOf(await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'or so'))
  expect(unwrap(await f.run.gate(second)).subject_id).toBe(`${one}:1`)
  f.name(second, 'G')
  await f.mark()
  unwrap(await f.runtime.user('ux').modify(f.run.id, second, { resolution: 'like this' }))
  await f.expectAmong([
    ['gate_resolved', 'R', 'ux', { gate_id: 'G', action: 'modify' }],
    salvageResolved('X1', 'W', 'ux', closedBy('coordinator_resolve', 'like this')),
    ['integration_completed', 'R', 'system', { mode: 'salvage', result: 'conflict_resolved' }],
  ])
  expect(unwrap(await f.root.readResult(f.id('W')))).toEqual({ made: 1 })
})

test('W-HWY-12 a gate about a conflict ends with its salvage', async () => {
  const f = await fixture()
  const [one] = await meets(f)
  f.name(gateOf(await f.root.resolveConflict(f.id('W'), one!, 'escalate', 'mine')), 'G')
  await f.mark()
  unwrap(await f.root.discardSalvage(f.id('W')))
  await f.expectAdded([
    salvageAborted('W', 'not_usable'),
    [
      'gate_resolved',
      'R',
      'protocol',
      {
        gate_id: 'G',
        gate_type: 'conflict_resolution',
        action: 'reject',
        reason: 'subject_invalidated',
        actor: 'protocol',
        mode: 'salvage',
      },
    ],
  ])
})

test('W-INT-20 only the integrator of the salvage settles its conflicts, in words that fit', async () => {
  const f = await fixture()
  const [one] = await meets(f)
  await f.worker('V')
  await f.mark()
  expect(refused(await f.agent('V').resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'x'))).toBe(
    'permission_denied',
  )
  expect(refused(await f.agent('V').reportConflicts(f.id('W'), [overlap]))).toBe('permission_denied')
  expect(refused(await f.root.resolveConflict(f.id('W'), one!, 'guess' as never, 'x'))).toBe(
    'invalid_argument(invalid_strategy)',
  )
  expect(refused(await f.root.resolveConflict(f.id('W'), 'conflict_none', 'coordinator_resolve', 'x'))).toBe(
    'invalid_state(conflict_not_open)',
  )
})
