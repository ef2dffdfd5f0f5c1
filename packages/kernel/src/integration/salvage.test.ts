// Salvage (W-INT-18 to -20): what of failed work can be saved, into what, and with which conflicts.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { completedOn, conflictedBy, gateOf, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { ended, only, triggered } from '../testing/gates.ts'
import { changeObjects, temporaryProfile } from '../testing/profile.ts'
import {
  failedOn,
  failedWork,
  salvageAborted,
  salvageBegun,
  salvageDetected,
  salvageResolved,
} from '../testing/salvages.ts'
import { changed, delivered, emitted } from '../testing/tasks.ts'

const answered = (gate: string, action: string, actor: string): Row =>
  ended(gate, 'integration', 'R', action, actor, { mode: 'salvage' })

/** A salvage of W, which failed with work on f; what comes next is new. */
async function begun(): Promise<Fixture> {
  const f = await fixture()
  await failedOn(f, 'W', ['f'])
  unwrap(await f.root.salvage(f.id('W')))
  await f.mark()
  return f
}

/** The same where W was led by a delegate D, which salvages it. */
async function begunBelow(): Promise<Fixture> {
  const f = await fixture()
  await f.worker('D', { delegate: true })
  await failedOn(f, 'W', ['f'], {}, f.agent('D'))
  unwrap(await f.agent('D').salvage(f.id('W')))
  await f.mark()
  return f
}

test('W-INT-18 where there is no final checkpoint the newest provisional one is salvaged', async () => {
  const f = await withWorker()
  for (const name of ['K1', 'K2']) f.name(unwrap(await f.checkpoint('W')).checkpoint, name)
  await f.bring('W', 'failed')
  await f.mark()
  unwrap(await f.root.salvage(f.id('W')))
  await f.expectAdded(salvageBegun('sig1', 'W', 'K2'))
})

test('W-INT-18 only what has failed is salvaged, once at a time, and of its own checkpoints', async () => {
  const f = await fixture()
  await f.worker('A')
  const foreign = unwrap(await f.checkpoint('A')).checkpoint
  await failedOn(f, 'W', ['f'])
  expect(refused(await f.root.salvage(f.id('A')))).toBe('invalid_state')
  expect(refused(await f.root.salvage(f.id('R')))).toBe('invalid_state')
  expect(refused(await f.root.salvage('ws_none' as never))).toBe('not_found')
  expect(refused(await f.root.salvage(f.id('W'), { checkpoint: foreign }))).toBe('not_found')
  expect(refused(await f.root.salvage(f.id('W'), { strategy: 'guess' as never }))).toBe(
    'invalid_argument(invalid_strategy)',
  )
  expect(refused(await f.root.salvage(f.id('W'), { basis: '' }))).toBe('invalid_argument')
  expect(refused(await f.root.mergeSalvage(f.id('W')))).toBe('invalid_state')
  expect(refused(await f.root.discardSalvage(f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])
  unwrap(await f.root.salvage(f.id('W')))
  expect(refused(await f.root.salvage(f.id('W')))).toBe('invalid_state')
  // A normal integration is not meant.
  expect(refused(await f.root.accept(f.id('W')))).toBe('invalid_state')
})

test('W-INT-18 it goes into the parent, and into the root once the parent is terminal', async () => {
  const f = await fixture()
  await f.worker('D', { delegate: true })
  await failedOn(f, 'W', ['f'], {}, f.agent('D'))
  const asked = await f.root.salvage(f.id('W'))
  expect(refused(asked)).toBe('permission_denied')
  await f.expectAmong([['capability_denied', 'R', 'system', { capability: 'operation:integrate', target: 'W' }]])
  expect(unwrap(await f.agent('D').salvage(f.id('W'))).target).toBe(f.id('D'))
  await f.expectAdded([
    ...salvageBegun('sig1', 'W', 'KW', { target: 'D', actor: 'worker' }),
    delivered('sig1', 'D', 'R'),
  ])
  unwrap(await f.agent('D').discardSalvage(f.id('W')))
  await f.bring('D', 'failed')
  await f.mark()
  expect(unwrap(await f.root.salvage(f.id('W'))).target).toBe(f.id('R'))
  await f.expectAdded(salvageBegun('sig2', 'W', 'KW'))
  await f.worker('V')
  await f.mark()
  expect(refused(await f.agent('V').salvage(f.id('W')))).toBe('permission_denied')
})

test('W-INT-08 a salvage holds its target as any integration does', async () => {
  const f = await begun()
  await completedOn(f, { A: ['a'] })
  const accepting = f.root.accept(f.id('A'))
  await f.expectAdded([])
  unwrap(await f.root.mergeSalvage(f.id('W')))
  unwrap(await accepting)
  const seen = (await f.added()).map(entry => entry.event_type)
  expect(seen.slice(0, 3)).toEqual(['integration_completed', 'signal_emitted', 'integration_started'])

  // And it waits for another one.
  await completedOn(f, { B: ['b'] })
  unwrap(await f.root.beginIntegration(f.id('B')))
  await f.mark()
  const saving = f.root.salvage(f.id('W'))
  await f.expectAdded([])
  unwrap(await f.root.accept(f.id('B')))
  unwrap(await saving)
  await f.expectAmong([
    ['integration_completed', 'B', 'system'],
    ['integration_started', 'R', 'system', { source: 'W', mode: 'salvage' }],
  ])
})

test('W-INT-20 a merge that cannot be made aborts the salvage', async () => {
  const f = await begun()
  expect(unwrap(await f.root.failIntegration(f.id('W')))).toEqual({ salvage: 'aborted' })
  await f.expectAdded([salvageAborted('W', 'integration_error')])
})

test('W-INT-20 what its gate lets through begins; what it rejects changes nothing', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await failedOn(f, 'W', ['f'])
  const gate = gateOf(await f.root.salvage(f.id('W')))
  f.name(gate, 'G')
  await f.expectAmong([triggered('G', 'integration', 'R', { workspace: 'R' })])
  const shown = unwrap(await f.run.gate(gate))
  expect(shown).toMatchObject({
    subject_id: `${f.id('W')}:salvage`,
    addressee: 'ux',
    modifiable: [],
    subject: { source: f.id('W'), target: f.id('R'), mode: 'salvage', confidence: 'low' },
  })
  const user = f.runtime.user('ux')
  const changes = await user.modify(f.run.id, gate, { strategy: 'direct' })
  expect(refused(changes)).toBe('invalid_argument(modification_not_allowed)')
  unwrap(await user.reject(f.run.id, gate))
  await f.expectAdded([answered('G', 'reject', 'ux')])

  const second = gateOf(await f.root.salvage(f.id('W')))
  f.name(second, 'G2')
  await f.expectAmong([triggered('G2', 'integration', 'R', { workspace: 'R' })])
  await f.restart()
  await f.mark()
  unwrap(await f.runtime.user('ux').approve(f.run.id, second))
  await f.expectAdded([answered('G2', 'approve', 'ux'), ...salvageBegun('sig1', 'W', 'KW')])
  expect(unwrap(await f.root.mergeSalvage(f.id('W')))).toEqual({ salvage: 'merged' })
})

test('W-INT-20 a gate that nobody answers rejects, and its guard rejects what is asked again', async () => {
  const f = await fixture({ run: { highway: only('integration', { timeout: 1000, fallback: 'reject' }) } })
  await failedOn(f, 'W', ['f'])
  f.name(gateOf(await f.root.salvage(f.id('W'))), 'G')
  await f.mark()
  await f.advance(1001)
  await f.expectAdded([['gate_timeout', 'R', 'fallback'], answered('G', 'reject', 'fallback')])
  expect(refused(await f.root.salvage(f.id('W')))).toBe('rejected(gate_rejected_by_human)')
  await f.expectAdded([['gate_reentry_blocked', 'R', 'protocol']])
})

test('W-INT-08 an approved salvage waits for the target without another gate, across a restart too', async () => {
  const f = await fixture({ run: { highway: only('integration') } })
  await completedOn(f, { A: ['a'] })
  await failedOn(f, 'W', ['f'])
  unwrap(await f.runtime.user('ux').approve(f.run.id, gateOf(await f.root.beginIntegration(f.id('A')))))
  // The target is taken: the command itself waits for the lock, before its gate.
  const asked = f.root.salvage(f.id('W'))
  await f.settle()
  unwrap(await f.root.reject(f.id('A')))
  const gate = gateOf(await asked)
  await completedOn(f, { B: ['b'] })
  unwrap(await f.runtime.user('ux').approve(f.run.id, gateOf(await f.root.beginIntegration(f.id('B')))))
  f.name(gate, 'G')
  await f.mark()
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate))
  await f.expectAdded([answered('G', 'approve', 'ux')])
  await f.restart()
  await f.mark()
  unwrap(await f.root.reject(f.id('B')))
  await f.settle()
  await f.expectAmong([
    ['integration_aborted', 'B', 'system'],
    ['integration_started', 'R', 'system', { source: 'W', mode: 'salvage' }],
  ])
})

test('W-INT-02 a salvage ends with its target, and conflicts that are open end with it', async () => {
  const f = await begunBelow()
  const [conflict] = unwrap(await f.agent('D').reportConflicts(f.id('W'), [overlap]))
  f.name(gateOf(await f.agent('D').resolveConflict(f.id('W'), conflict!, 'escalate', 'so')), 'G')
  await f.mark()
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAdded([
    salvageAborted('W', 'aborted_by_coordinator', { target: 'D' }),
    emitted('sig1', 'D', 'failed', 'system', { reason: 'aborted_by_coordinator' }),
    changed('D', 'active', 'failed', 'aborted_by_coordinator', 'system', 'coordinator'),
    delivered('sig1', 'D', 'R'),
    ['gate_resolved', null, 'protocol'],
  ])
  expect(await f.run.gates()).toEqual([])
})

test('W-INT-02 a delegate that completes gives up what it was about to save', async () => {
  const f = await begunBelow()
  unwrap(await f.agent('D').complete())
  await f.expectAdded([
    emitted('sig1', 'D', 'complete', 'worker'),
    salvageAborted('W', 'integrating', { target: 'D', actor: 'protocol' }),
    changed('D', 'active', 'integrating', 'agent_complete', 'protocol', 'worker'),
    delivered('sig1', 'D', 'R'),
  ])
})

test('W-INT-02 a run does not close over an open salvage, and a forced stop ends it', async () => {
  const f = await begun()
  expect(refused(await f.run.close())).toBe('invalid_state')
  unwrap(await f.run.stop())
  const rows = (await f.run.entries()).slice(-3).map(entry => f.row(entry).slice(0, 3))
  expect(rows).toEqual([
    ['integration_aborted', 'R', 'protocol'],
    ['system_degraded', null, 'protocol'],
    ['workspace_state_changed', 'R', 'protocol'],
  ])
})

test('W-REC-24 a salvage that a crash interrupted is open again, with its conflicts and its result', async () => {
  const f = await begun()
  const [one, other] = unwrap(await f.root.reportConflicts(f.id('W'), [overlap, { ...overlap, resources: ['g'] }]))
  unwrap(await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'kept', { kept: 1 }))
  const before = unwrap(await f.root.integration(f.id('W')))
  expect(before?.result_ref).not.toBeNull()
  await f.restart()
  expect(unwrap(await f.root.integration(f.id('W')))).toEqual(before)
  await f.mark()
  expect(unwrap(await f.root.resolveConflict(f.id('W'), other!, 'coordinator_resolve', 'too'))).toEqual({
    salvage: 'merged',
  })
  await f.expectAmong([
    ['integration_completed', 'R', 'system', { source: 'W', mode: 'salvage', result: 'conflict_resolved' }],
  ])
  expect(unwrap(await f.root.readResult(f.id('W')))).toEqual({ kept: 1 })
  // The target is free.
  await completedOn(f, { A: ['a'] })
  unwrap(await f.root.accept(f.id('A')))
})

test('W-SEC-09 a checkpoint that was changed in the store is not salvaged', async () => {
  const f = await fixture({ profile: temporaryProfile() })
  await f.workspace('W', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await f.agent('W').receive())
  f.name(unwrap(await f.final('W', ['f'])).checkpoint, 'KW')
  unwrap(await f.agent('W').failed('broke'))
  unwrap(await f.root.salvage(f.id('W')))
  await f.restart(() => changeObjects(f, 'checkpoint', data => data.replace('"intent":"show', '"intent":"hide')))
  await f.mark()
  const flagged: readonly Row[] = [
    ['integrity_violation', null, 'protocol'],
    salvageAborted('W', 'integrity_violation', { actor: 'protocol' }),
  ]
  expect(refused(await f.root.mergeSalvage(f.id('W')))).toBe('rejected(integrity_violation)')
  await f.expectAdded(flagged)
  expect(refused(await f.root.salvage(f.id('W')))).toBe('rejected(integrity_violation)')
  await f.expectAdded([...salvageBegun('sig1', 'W', 'KW'), ...flagged])
})

test('W-INT-11 what is integrated afterwards sees the files that a salvage changed', async () => {
  const f = await fixture()
  await failedOn(f, 'W', ['f'])
  await completedOn(f, { A: ['f'] })
  unwrap(await f.root.salvage(f.id('W')))
  unwrap(await f.root.mergeSalvage(f.id('W')))
  expect(unwrap(await f.root.accept(f.id('A'), 'layered')).state).toBe('conflicted')
  expect(await f.state('A')).toBe('conflicted')
  await f.mark()
  // Conflicts of the one are not those of the other.
  expect(unwrap(await f.root.integration(f.id('W')))?.conflicts).toEqual([])
})

test('W-INT-20 a workspace that failed in conflict keeps that record, and its salvage has its own', async () => {
  const f = await fixture()
  await completedOn(f, { W: ['f'] })
  const [one] = await conflictedBy(f, 'W', [overlap])
  unwrap(await f.root.resolveConflict(f.id('W'), one!, 'agent_rework', 'again'))
  unwrap(await f.root.salvage(f.id('W')))
  await f.mark()
  expect(unwrap(await f.root.reportConflicts(f.id('W'), [overlap]))).toHaveLength(1)
  expect(refused(await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'x'))).toBe(
    'invalid_state(conflict_not_open)',
  )
  const kept = await f.run.read(run => run.workspaces.get(f.id('W'))?.conflicts?.map(each => each.outcome))
  expect(kept).toEqual(['failed'])
})

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
  const rejected = { strategy: 'escalate', resolution: 'gate_rejected_by_human', outcome: 'failed' } as const
  await f.expectAmong([
    ['gate_resolved', 'R', 'ux', { gate_id: 'G', action: 'reject' }],
    salvageResolved('X1', 'W', 'ux', { type: 'content_overlap', ...rejected }),
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
  const why = { reason: 'subject_invalidated', mode: 'salvage' }
  await f.expectAdded([
    salvageAborted('W', 'not_usable'),
    ended('G', 'conflict_resolution', 'R', 'reject', 'protocol', why),
  ])
})

test('W-INT-20 only the integrator of the salvage settles its conflicts, in words that fit', async () => {
  const f = await fixture()
  const [one] = await meets(f)
  await f.worker('V')
  await f.mark()
  const settle = (by: AgentHandle, conflict: string, strategy: string) =>
    by.resolveConflict(f.id('W'), conflict, strategy as never, 'x')
  const asked = [
    await settle(f.agent('V'), one!, 'coordinator_resolve'),
    await f.agent('V').reportConflicts(f.id('W'), [overlap]),
    await settle(f.root, one!, 'guess'),
    await settle(f.root, 'conflict_none', 'coordinator_resolve'),
  ]
  expect(asked.map(refused)).toEqual([
    'permission_denied',
    'permission_denied',
    'invalid_argument(invalid_strategy)',
    'invalid_state(conflict_not_open)',
  ])
})
