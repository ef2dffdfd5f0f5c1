import { unwrap } from '@parley/core'
import { GATE_TYPES, type GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { ended, expired, gateOf, only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'

/** The entry that shows that what waited was carried out. */
const EFFECT: { readonly [Type in GateType]: string } = {
  task_approval: 'task_approved',
  workspace_create: 'workspace_created',
  envelope_delivery: 'envelope_delivered',
  integration: 'integration_started',
  conflict_resolution: 'conflict_resolved',
  workspace_abort: 'workspace_state_changed',
}

test.each(GATE_TYPES)('W-HWY-16 a %s gate waits over a restart, and a late answer still works', async type => {
  const bound: string[] = []
  const f = await fixture({
    run: { owner: 'ux', highway: only(type) },
    bind: agent => void bound.push(agent.workspace),
  })
  await prepare(f, type)
  const { under } = await TRANSITIONS[type](f)
  const [gate] = await waiting(f)
  await f.restart(() => f.clock.advance(60 * 60_000))
  // Whoever asks how it ended may ask in another process than the one that was told to wait.
  const settled = f.run.settled(gate!)
  await f.mark()
  bound.length = 0
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate!))
  const added = await f.expectAmong([ended('G1', type, under, 'approve', 'ux')])
  expect(added.map(each => each.event_type)).toContain(EFFECT[type])
  expect(unwrap(await settled)).toMatchObject({ gate, action: 'approve', actor: 'ux' })
  expect(refused(await f.runtime.user('ux').approve(f.run.id, gate!))).toBe('invalid_state(gate_not_pending)')
  // A workspace that the gate let through has its agent.
  expect(bound).toHaveLength(type === 'workspace_create' ? 1 : 0)
})

test('W-REC-20 the time of a gate goes on while the runtime is away, and the guard is remembered', async () => {
  const f = await fixture({
    run: { owner: 'ux', highway: only('workspace_abort', { timeout: 1000, fallback: 'reject' }) },
  })
  await f.worker('W')
  await f.worker('V')
  gateOf(f, await f.root.abort(f.id('W')))
  await f.restart(() => f.clock.advance(600))
  await f.mark()
  await f.advance(399)
  await f.expectAdded([])
  await f.advance(2)
  await f.expectAdded([
    expired('G1', 'workspace_abort', 'W', 'reject', 1000),
    ended('G1', 'workspace_abort', 'W', 'reject', 'fallback'),
  ])
  gateOf(f, await f.root.abort(f.id('V')), 'G2')
  await f.mark()
  await f.restart(() => f.clock.advance(5000))
  await f.expectAmong([
    ['gate_timeout', 'V', 'fallback', { gate_id: 'G2', fallback_action: 'reject' }],
    ended('G2', 'workspace_abort', 'V', 'reject', 'fallback'),
  ])
  unwrap(await f.root.abort(f.id('V')))
  await f.expectAdded([['gate_reentry_blocked', 'V', 'protocol']])
  expect(await f.state('V')).toBe('active')
})

test('W-HWY-10 a gate that fell to the coordinator is still its own after a restart', async () => {
  const highway = only('workspace_abort', { timeout: 1000, fallback: 'escalate_to_coordinator' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  await f.worker('W')
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.advance(1001)
  await f.restart()
  expect((await f.run.gates()).map(each => [each.id, each.handed_over])).toEqual([[gate, true]])
  unwrap(await f.root.answerGate(gate, 'approve'))
  expect(await f.state('W')).toBe('failed')
})
