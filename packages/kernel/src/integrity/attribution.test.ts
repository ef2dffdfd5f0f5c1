// An act is recorded under the name of whoever did it (§9.1, §11.7): what the runtime composes for somebody, and what
// is proven afterwards.
import { type EntryId, type Result, unwrap } from '@parley/core'
import type { GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { completedOn, gateOf, overlap, twoConflicts } from '../testing/conflicts.ts'
import { MINUTE } from '../testing/escalations.ts'
import { type Fixture, type FixtureOptions, fixture } from '../testing/fixture.ts'
import { only } from '../testing/gates.ts'
import { failedOn } from '../testing/salvages.ts'

const secret = new Uint8Array(32).fill(9)
const directive = { format: 'markdown', content: 'work' }
const GRACE = 50_000

/** With proofs: a delegate D below the root, and a worker W below that. */
async function deep(options: FixtureOptions = {}): Promise<Fixture> {
  const f = await fixture({ secret, ...options })
  await f.worker('D', { delegate: true })
  await f.worker('W', {}, f.agent('D'))
  await f.mark()
  return f
}

/** What the newest entry of a type proves: who did it, and whether what was said is theirs. */
async function proven(f: Fixture, type: string, actor?: string) {
  const entries = await f.run.entries()
  const entry = entries.findLast(each => each.event_type === type && (actor === undefined || each.actor === actor))
  expect(entry, type).toBeDefined()
  const { party, identity, message } = unwrap(await f.run.proof(entry!.id as EntryId))
  return { party, name: identity.name, identity: identity.status, message: message.status }
}

const byAgent = (f: Fixture, name: string, message = 'none') => ({
  party: 'agent',
  name: `agent:${f.id(name)}`,
  identity: 'verified',
  message,
})

test('W-TERM-02 the delegate in between may be paused, and no right is needed or used up', async () => {
  const f = await deep()
  unwrap(await f.root.grantRight('send_once', f.id('R'), f.id('W')))
  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.mark()
  unwrap(await f.root.terminate(f.id('W'), GRACE, 'enough'))
  await f.settle()
  await f.advance(GRACE + 1)
  expect(await f.state('W')).toBe('failed')
  expect((await f.added()).map(({ event_type }) => event_type)).not.toContain('port_right_consumed')
})

test('W-WS-07 the directive of a grandchild is its creator’s, also where a restart came before it', async () => {
  let binds = true
  const f = await deep({ bind: () => (binds ? undefined : new Promise<void>(() => undefined)) })
  binds = false
  void f.root.createWorkspace({ role: 'worker', parent: f.id('D'), directive })
  await f.settle()
  const created = (await f.run.entries()).findLast(each => each.event_type === 'workspace_created')!
  f.name(created.workspace!, 'G')
  binds = true
  await f.mark()
  await f.restart()
  await f.settle()
  await f.expectAmong([['envelope_created', 'R', 'system', { from: 'R', to: 'G', type: 'directive' }]])
})

test('W-SEC-17 what a delegate does to a worker of its own role is proven to be the delegate’s act', async () => {
  const f = await deep()
  const d = f.agent('D')
  expect(await proven(f, 'workspace_created', 'worker')).toEqual(byAgent(f, 'D'))
  unwrap(await d.changePriority(f.id('W'), 'critical'))
  unwrap(await d.suspend(f.id('W'), 'pause'))
  unwrap(await d.resume(f.id('W')))
  unwrap(await d.terminate(f.id('W'), GRACE, 'enough'))
  for (const type of ['priority_changed', 'suspension_started', 'suspension_resumed', 'graceful_termination_initiated'])
    expect(await proven(f, type, 'worker'), type).toEqual(byAgent(f, 'D'))
  expect(await proven(f, 'envelope_created', 'worker')).toEqual(byAgent(f, 'D', 'verified'))
  // What the worker itself says is its own, its failure too where nobody ordered it.
  unwrap(await f.checkpoint('W'))
  expect(await proven(f, 'checkpoint_created', 'worker')).toEqual(byAgent(f, 'W', 'verified'))
  await f.worker('X', {}, d)
  unwrap(await d.abort(f.id('W')))
  expect(await proven(f, 'signal_emitted', 'worker')).toEqual(byAgent(f, 'D'))
  expect(await proven(f, 'workspace_state_changed', 'worker')).toEqual(byAgent(f, 'D'))
  unwrap(await f.agent('X').failed('stuck'))
  expect(await proven(f, 'signal_emitted', 'worker')).toEqual(byAgent(f, 'X'))
})

test('W-SEC-17 where two delegates could have done it, nobody is named', async () => {
  const f = await deep()
  await f.worker('E', { delegate: true, parent: f.id('D') })
  await f.worker('X', {}, f.agent('E'))
  unwrap(await f.agent('D').abort(f.id('X')))
  expect(await proven(f, 'workspace_state_changed', 'worker')).toMatchObject({
    party: 'agent',
    name: null,
    identity: 'missing',
  })
  // The signal that goes with a suspension says which.
  await f.worker('Y', {}, f.agent('E'))
  unwrap(await f.agent('D').suspend(f.id('Y'), 'pause'))
  expect(await proven(f, 'suspension_started', 'worker')).toEqual(byAgent(f, 'D'))
})

const handedOver = (type: GateType) => only(type, { timeout: MINUTE, fallback: 'escalate_to_coordinator' })

/** What was added since the mark, as far as somebody decided it. */
async function decisions(f: Fixture) {
  const by = (await f.added()).filter(({ actor }) => actor !== 'protocol')
  return by.map(({ event_type, actor, body }) => {
    const { action, initiator, approval_source } = body as Readonly<Record<string, unknown>>
    return [event_type, actor, action ?? initiator ?? approval_source].filter(each => each !== undefined)
  })
}

test('W-HWY-10 work that the coordinator rejects at a gate that fell to it failed by the coordinator', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: handedOver('integration') } })
  await completedOn(f, { W: ['f'] })
  const gate = gateOf(await f.root.accept(f.id('W')))
  await f.advance(MINUTE + 1)
  await f.mark()
  unwrap(await f.root.answerGate(gate, 'reject'))
  expect(await decisions(f)).toEqual([
    ['gate_resolved', 'system', 'reject'],
    ['signal_emitted', 'system'],
    ['workspace_state_changed', 'system', 'coordinator'],
  ])
})

test('W-INT-13 what a person lets the integrator do stays the integrator\u2019s', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('conflict_resolution') } })
  const [one] = await twoConflicts(f)
  const gate = gateOf(await f.root.resolveConflict(f.id('W'), one, 'agent_rework', 'so'))
  await f.mark()
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate))
  expect(await decisions(f)).toEqual([
    ['gate_resolved', 'ux', 'approve'],
    ['conflict_resolved', 'ux'],
    ['conflict_resolved', 'ux'],
    ['integration_aborted', 'system'],
    ['signal_emitted', 'system'],
    ['workspace_state_changed', 'system', 'coordinator'],
  ])
})

test('W-INT-20 a person who gives up a salvage at the gate is the one who did', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('conflict_resolution') } })
  await failedOn(f, 'W', ['f'])
  unwrap(await f.root.salvage(f.id('W')))
  const [one] = unwrap(await f.root.reportConflicts(f.id('W'), [overlap]))
  const asked: Result<unknown> = await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'so')
  await f.mark()
  unwrap(await f.runtime.user('ux').modify(f.run.id, gateOf(asked), { strategy: 'agent_rework' }))
  expect(await decisions(f)).toEqual([
    ['gate_resolved', 'ux', 'modify'],
    ['conflict_resolved', 'ux'],
    ['integration_aborted', 'ux'],
  ])
})

test('W-INT-19 every entry of a salvage says that it is one, also those of its signal and its gates', async () => {
  const gates = { task_approval: false, integration: true, conflict_resolution: true }
  const gate_overrides = { integration: { timeout: MINUTE, fallback: 'escalate_to_coordinator' } } as const
  const gate_defaults = { timeout: null, fallback: 'reject' } as const
  const f = await fixture({ run: { owner: 'ux', highway: { gates, gate_defaults, gate_overrides } } })
  await failedOn(f, 'W', ['f'])
  const asked = gateOf(await f.root.salvage(f.id('W')))
  await f.advance(MINUTE + 1)
  unwrap(await f.root.answerGate(asked, 'approve'))
  const [one] = unwrap(await f.root.reportConflicts(f.id('W'), [overlap]))
  const settling: Result<unknown> = await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'so')
  unwrap(await f.runtime.user('ux').approve(f.run.id, gateOf(settling)))
  const entries = await f.added()
  expect(entries.map(({ event_type }) => event_type)).toEqual([
    'gate_triggered',
    'gate_timeout',
    'gate_resolved',
    'signal_emitted',
    'integration_started',
    'conflict_detected',
    'gate_triggered',
    'gate_resolved',
    'conflict_resolved',
    'integration_completed',
  ])
  for (const { event_type, body } of entries) expect(body, event_type).toMatchObject({ mode: 'salvage' })
})

test('W-INT-19 an ordinary integration says nothing of the sort in its signal and its gate', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('integration') } })
  await completedOn(f, { W: ['f'] })
  const asked = gateOf(await f.root.beginIntegration(f.id('W')))
  unwrap(await f.runtime.user('ux').approve(f.run.id, asked))
  for (const { event_type, body } of await f.added())
    if (event_type !== 'integration_started') expect(body, event_type).not.toHaveProperty('mode')
})
