// Who is who (W-SEC-03, -06), and that an act is recorded under the name of whoever did it (§9.1, §11.7).
import { type EntryId, type Result, unwrap, type WorkspaceId } from '@parley/core'
import type { GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { completedOn, gateOf, overlap, twoConflicts } from '../testing/conflicts.ts'
import { MINUTE } from '../testing/escalations.ts'
import { type Fixture, type FixtureOptions, fixture, refused, withWorker } from '../testing/fixture.ts'
import { only } from '../testing/gates.ts'
import { unauthenticated } from '../testing/people.ts'
import { failedOn } from '../testing/salvages.ts'
import type { IdentityRequest } from './identity.ts'

const secret = new Uint8Array(32).fill(42)

test('W-SEC-03 whoever proves to be the bound agent gets the handle of its workspace, also after a restart', async () => {
  const identify = ({ role, context }: IdentityRequest) => `${String(context.agent ?? role)}#1`
  const f = await withWorker({ secret, identify }, { context: { agent: 'coder' } })
  await f.restart()
  const worker = unwrap(await f.run.attach(f.id('W'), 'coder#1'))
  expect(worker).toMatchObject({ workspace: f.id('W'), role: 'worker' })
  await f.mark()
  expect(refused(await f.run.attach(f.id('W'), 'coordinator#1'))).toBe('permission_denied(invalid_credential)')
  expect(refused(await f.run.attach(f.id('W'), 'nobody'))).toBe('permission_denied(unknown_identity)')
  expect(refused(await f.run.attach(f.id('W'), `${'x'.repeat(5000)}\ud800`))).toBe(
    'permission_denied(unknown_identity)',
  )
  await f.expectAmong([
    unauthenticated('coordinator#1', 'agent_attach', 'invalid_credential', 'W'),
    unauthenticated('nobody', 'agent_attach', 'unknown_identity', 'W'),
    ['authentication_failed', null, 'protocol'],
  ])
  expect(refused(await f.run.attach('nowhere' as WorkspaceId, 'coder#1'))).toBe('not_found')
  await f.expectAdded([])
})

test('W-SEC-06 a claim on a run that has ended is recorded in the house', async () => {
  const f = await withWorker({ secret })
  unwrap(await f.root.abort(f.id('W')))
  unwrap(await f.run.close())
  expect(refused(await f.run.attach(f.id('W'), 'mallory'))).toBe('permission_denied(unknown_identity)')
  const house = unwrap(await f.runtime.open(f.runtime.house.run))
  const last = (await house.entries()).at(-1)
  expect(last).toMatchObject({ event_type: 'authentication_failed', body: { entity: 'mallory', source: f.id('W') } })
  // Its agent still reads what it did.
  const worker = unwrap(await f.run.attach(f.id('W'), `agent:${f.id('W')}`))
  expect(unwrap(await worker.look()).status).toBe('failed')
})

test('W-WS-06 every workspace says who its agent is; nobody but the runtime supplies it', async () => {
  const asked: IdentityRequest[] = []
  const f = await fixture({
    identify: request => {
      asked.push(request)
      return `${request.role}#${asked.length}`
    },
  })
  await f.worker('W', { context: { agent: 'coder' } })
  const created = (await f.run.entries()).filter(entry => entry.event_type === 'workspace_created')
  expect(created.map(entry => (entry.body as { agent?: string }).agent)).toEqual(['coordinator#2', 'worker#3'])
  // The house was asked for first.
  expect(asked.slice(1)).toEqual([
    { run: f.run.id, workspace: f.id('R'), role: 'coordinator', task: null, context: {} },
    { run: f.run.id, workspace: f.id('W'), role: 'worker', task: null, context: { agent: 'coder' } },
  ])
  await f.mark()
  const draft = { role: 'worker', agent: 'mallory' } as never
  expect(refused(await f.root.createWorkspace(draft))).toBe('rejected(invalid_parameters)')
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['workspace_rejected'])
})

test('W-SEC-03 one identity never sits in two live workspaces, and is free again when the first has ended', async () => {
  const f = await withWorker({ identify: ({ role }) => `${role}#1` })
  const first = f.agent('W')
  const second = await f.root.createWorkspace({ role: 'worker' })
  expect(refused(second)).toBe('rejected(identity_in_use)')
  expect(second).toMatchObject({ error: { details: { workspace: first.workspace } } })
  await f.expectAdded([unauthenticated('worker#1', 'workspace_creation', 'identity_in_use', 'R')])
  expect(unwrap(await f.root.look()).children).toEqual([first.workspace])
  await f.restart()
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_in_use)')
  unwrap(await f.root.abort(first.workspace))
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('ok')
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_in_use)')
  // Another run is another matter.
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  const root = other.coordinator as AgentHandle
  unwrap(await root.started())
  expect(refused(await root.createWorkspace({ role: 'worker' }))).toBe('ok')
})

test('a host that assigns no usable agent is refused, and nothing is created', async () => {
  let answer: () => unknown = () => 'coordinator'
  const f = await fixture({ identify: () => answer() as string })
  await f.mark()
  const bad = [() => '', () => undefined, () => 'x'.repeat(257), () => '\ud800']
  for (const one of bad) {
    answer = one
    expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_invalid)')
  }
  answer = () => {
    throw new Error('no agent is free')
  }
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_invalid)')
  expect(refused(await f.runtime.start({ owner: 'ux' }))).toBe('rejected(identity_invalid)')
  await f.expectAdded([])
  answer = () => 'worker'
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('ok')
})

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
  expect(entries).toHaveLength(10)
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
