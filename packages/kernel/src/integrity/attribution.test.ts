// An act is recorded under the name of whoever did it (§9.1, §11.7): what the runtime composes for somebody, and what is proven afterwards.
import { type EntryId, type GateId, type Result, unwrap } from '@parley/core'
import type { EventBody, GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { completedOn, gateOf, overlap, twoConflicts } from '../testing/conflicts.ts'
import { escalate, highway, MINUTE } from '../testing/escalations.ts'
import { type Fixture, type FixtureOptions, fixture } from '../testing/fixture.ts'
import { only } from '../testing/gates.ts'
import { person } from '../testing/people.ts'
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
  const entry = entries.findLast(
    each => each.event_type === type && (actor === undefined || each.actor === actor),
  )
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

test('WX-001 whoever asks a grandchild to wind down is the sender of the mail, and is proven to be', async () => {
  const f = await deep()
  const { envelope } = unwrap(await f.root.terminate(f.id('W'), GRACE, 'enough'))
  await f.settle()
  expect(unwrap(await f.agent('W').consume())).toMatchObject({
    id: envelope,
    from: f.id('R'),
    type: 'feedback',
  })
  const rows = (await f.added()).map(entry => f.row(entry).slice(0, 3))
  expect(rows).toEqual([
    ['graceful_termination_initiated', 'W', 'system'],
    ['envelope_created', 'R', 'system'],
    ['envelope_delivered', 'W', 'protocol'],
    ['signal_emitted', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
  const root = `agent:${f.id('R')}`
  for (const [type, message] of [
    ['graceful_termination_initiated', 'none'],
    ['envelope_created', 'verified'],
  ] as const)
    expect(await proven(f, type, 'system')).toEqual({
      party: 'coordinator',
      name: root,
      identity: 'verified',
      message,
    })
})

test('WX-001 the delegate in between may be paused, and no right is needed or used up', async () => {
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

test('WX-002 the directive of a grandchild is its creator’s, by a right that is made for it', async () => {
  const f = await deep()
  await f.worker('G', { parent: f.id('D') })
  await f.expectAmong([
    ['port_right_created', 'R', 'system', { right_type: 'send_once', target: 'G' }],
    ['envelope_created', 'R', 'system', { from: 'R', to: 'G', type: 'directive' }],
    ['port_right_consumed', 'R', 'protocol', { target: 'G' }],
  ])
  // Nothing is left of it: the coordinator still has no right to what lies below its delegate.
  expect((await f.root.send(f.mail('G', 'feedback'))).ok).toBe(false)
})

test('WX-002 so it is where a restart came before the directive', async () => {
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

test('WX-003 the word to go on after nobody answered is the fallback’s, and no delegate’s', async () => {
  const f = await highway({ fallback: 'approve', secret })
  await person(f, 'alice')
  await f.worker('D', { delegate: true })
  await f.worker('W', { owner: 'alice', parent: f.id('D') })
  await escalate(f, 'W', 'S')
  await f.mark()
  await f.advance(MINUTE + 1)
  await f.expectAmong([
    ['escalation_timeout', 'W', 'fallback'],
    ['envelope_created', 'R', 'fallback', { from: 'R', to: 'W', type: 'feedback' }],
    ['escalation_resolved', 'W', 'fallback', { response_type: 'envelope' }],
  ])
  expect((await proven(f, 'envelope_created', 'fallback')).party).toBe('runtime')
})

test('WX-004 what a delegate does to a worker of its own role is proven to be the delegate’s act', async () => {
  const f = await deep()
  const d = f.agent('D')
  expect(await proven(f, 'workspace_created', 'worker')).toEqual(byAgent(f, 'D'))
  unwrap(await d.changePriority(f.id('W'), 'critical'))
  unwrap(await d.suspend(f.id('W'), 'pause'))
  unwrap(await d.resume(f.id('W')))
  unwrap(await d.terminate(f.id('W'), GRACE, 'enough'))
  for (const type of [
    'priority_changed',
    'suspension_started',
    'suspension_resumed',
    'graceful_termination_initiated',
  ])
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

test('WX-004 where two delegates could have done it, nobody is named', async () => {
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

test('WX-005 an integration that was approved is not begun in the name of another than who asked', async () => {
  const f = await fixture({ secret, run: { owner: 'ux', highway: only('integration') } })
  await f.worker('D', { delegate: true })
  await f.worker('W', { owner: 'uy', parent: f.id('D') })
  unwrap(await f.final('W'))
  unwrap(await f.agent('W').complete())
  const asked = await f.agent('D').accept(f.id('W'))
  const gate = (asked.ok ? undefined : asked.error.details.gate) as GateId
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  unwrap(await f.runtime.user('uy').approve(f.run.id, gate))
  await f.settle()
  // The orphan is the coordinator’s now, and it has said nothing yet.
  expect((await f.added()).map(({ event_type, actor }) => [event_type, actor])).toEqual([
    ['gate_resolved', 'uy'],
  ])
  expect(await f.state('W')).toBe('integrating')
  const again = await f.root.decideIntegration(f.id('W'), 'reject')
  expect(again.ok).toBe(true)
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

test('WX-043 what the coordinator decides at a gate that fell to it is recorded as its own decision', async () => {
  const f = await fixture({ secret, run: { owner: 'ux', highway: handedOver('task_approval') } })
  unwrap(await f.root.submitGraph(['A', 'B', 'C'].map(name => ({ name, description: name }))))
  const [first, second] = await f.run.read(run => [...run.gates.keys()])
  await f.advance(MINUTE + 1)
  await f.mark()
  expect(unwrap(await f.root.answerGate(first!, 'approve'))).toMatchObject({ actor: 'system' })
  unwrap(await f.root.answerGate(second!, 'reject'))
  expect(await decisions(f)).toEqual([
    ['gate_resolved', 'system', 'approve'],
    ['task_approved', 'system', 'timeout-auto-approve'],
    ['task_status_changed', 'system'],
    ['gate_resolved', 'system', 'reject'],
    ['task_status_changed', 'system'],
  ])
  for (const type of ['gate_resolved', 'task_approved'])
    expect(await proven(f, type)).toMatchObject({ party: 'coordinator', identity: 'verified' })
  // Its silence is no decision of its own.
  await f.advance(MINUTE + 1)
  expect(await decisions(f)).toEqual([
    ['gate_resolved', 'fallback', 'reject'],
    ['task_status_changed', 'fallback'],
  ])
})

test('WX-043 work that the coordinator rejects at such a gate failed by the coordinator', async () => {
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

test('WX-044 what does not reach a person is no act of that person', async () => {
  const f = await highway({ secret, escalationQueue: 1, fallback: 'delegate_to_coordinator' })
  for (const user of ['alice', 'bob']) await person(f, user)
  for (const name of ['W1', 'W2']) await f.worker(name, { owner: 'alice' })
  await f.worker('W3', { owner: 'bob' })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  unwrap(await f.runtime.users.deactivate('bob', { reason: 'left' }))
  await f.mark()
  for (const name of ['W1', 'W2', 'W3']) await escalate(f, name, `S${name}`)
  const entries = await f.added()
  expect(entries.filter(({ actor }) => actor === 'alice' || actor === 'bob')).toEqual([])
  const denials = entries.filter(({ event_type }) => event_type === 'capability_denied')
  expect(
    denials.map(({ actor, workspace, body }) => {
      const { user_id, reason } = body as EventBody<'capability_denied'>
      return [actor, workspace, user_id, reason]
    }),
  ).toEqual([
    ['protocol', null, 'alice', 'escalation_queue_overflow'],
    ['protocol', null, 'bob', 'user_not_active'],
  ])
  expect(await proven(f, 'capability_denied')).toMatchObject({ party: 'runtime' })
})

test('WX-045 work that a person sends back at the gate failed by that person', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('conflict_resolution') } })
  const [one] = await twoConflicts(f)
  const propose = (strategy: 'coordinator_resolve' | 'agent_rework') =>
    f.root.resolveConflict(f.id('W'), one, strategy, 'so')
  const changed = gateOf(await propose('coordinator_resolve'))
  await f.mark()
  const again = { strategy: 'agent_rework', resolution: 'do it again' }
  unwrap(await f.runtime.user('ux').modify(f.run.id, changed, again))
  expect(await decisions(f)).toEqual([
    ['gate_resolved', 'ux', 'modify'],
    ['conflict_resolved', 'ux'],
    ['conflict_resolved', 'ux'],
    ['integration_aborted', 'ux'],
    ['workspace_state_changed', 'ux', 'human'],
  ])
})

test('WX-045 what a person lets the integrator do stays the integrator\u2019s', async () => {
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

test('WX-045 a person who gives up a salvage at the gate is the one who did', async () => {
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

test('WX-046 every entry of a salvage says that it is one, also those of its signal and its gates', async () => {
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

test('WX-046 an ordinary integration says nothing of the sort in its signal and its gate', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('integration') } })
  await completedOn(f, { W: ['f'] })
  const asked = gateOf(await f.root.beginIntegration(f.id('W')))
  unwrap(await f.runtime.user('ux').approve(f.run.id, asked))
  for (const { event_type, body } of await f.added())
    if (event_type !== 'integration_started') expect(body, event_type).not.toHaveProperty('mode')
})
