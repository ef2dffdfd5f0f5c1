// Gates: how they are configured, what waits, what their fallback does, and what is left of them after a restart.
import { createHash } from 'node:crypto'
import { canonicalize, type ObjectId, unwrap } from '@parley/core'
import { type EventBody, GATE_TYPES, type GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { fixture, refused, withWorker } from '../testing/fixture.ts'
import { ended, gateOf, only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'
import { graphOf } from '../testing/tasks.ts'
import { expandHighway, type Highway } from './config.ts'

/** The gates that are on, as the table of W-HWY-14 says them, and the escalation. */
function told({ gates, escalation, visibility, injection }: Highway): Record<string, unknown> {
  const on = GATE_TYPES.filter(type => gates[type].on)
  return {
    ...Object.fromEntries(on.map(type => [type, [gates[type].timeout, gates[type].fallback]])),
    escalation: [escalation.enabled, escalation.timeout, escalation.fallback],
    open: [visibility, injection],
  }
}

test('W-HWY-01 a configuration that says what nobody knows is refused as a whole: no run, no entry', async () => {
  for (const unknown of [
    { gate_overrides: { integration: { fallback: 'retry' } } },
    { escalation: { fallback: 'escalate_to_coordinator' } },
    { gate: {} },
    7,
  ]) {
    const f = await fixture()
    expect(refused(await f.runtime.start({ owner: 'ux', highway: unknown as never }))).toBe('invalid_argument')
    expect(f.runtime.active).toEqual([f.run.id])
  }
})

test('W-HWY-15 explicit fields replace the values of a preset one by one, per gate type', () => {
  const highway = unwrap(
    expandHighway({
      preset: 'supervised',
      visibility: false,
      injection: false,
      gates: { task_approval: false, workspace_abort: true },
      gate_defaults: { timeout: 1000 },
      gate_overrides: { workspace_abort: { fallback: 'approve' } },
      escalation: { timeout: null },
    }),
  )
  expect(told(highway)).toEqual({
    integration: [1000, 'escalate_to_coordinator'],
    workspace_abort: [1000, 'approve'],
    escalation: [true, null, 'reject'],
    open: [false, false],
  })
})

test('W-HWY-14 what the presets mean by short and medium is configurable', () => {
  const times = { short: 10, medium: 20 }
  expect(told(unwrap(expandHighway({ preset: 'autonomous', times })))).toMatchObject({
    task_approval: [10, 'approve'],
    escalation: [true, 10, 'delegate_to_coordinator'],
  })
  expect(told(unwrap(expandHighway({ times: { medium: 20 } })))).toMatchObject({
    task_approval: [20, 'escalate_to_coordinator'],
  })
})

test('W-CLOCK-08 a time that is no positive whole number is refused as a duration (the configuration part)', () => {
  for (const highway of [
    { gate_defaults: { timeout: -1 } },
    { gate_overrides: { integration: { timeout: 1.5 } } },
    { escalation: { timeout: 0 } },
    { times: { short: -1 } },
  ])
    expect(refused(expandHighway(highway))).toBe('invalid_argument(invalid_duration)')
})

test('W-HWY-01 a run keeps its configuration over a restart; one without a highway stores nothing', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: { preset: 'supervised', injection: false } } })
  const before = await f.run.read(run => run.highway)
  expect(before).toEqual(unwrap(expandHighway({ preset: 'supervised', injection: false })))
  await f.restart()
  expect(await f.run.read(run => run.highway)).toEqual(before)
  const off = await fixture()
  await graphOf(off, { T: {} })
  expect(await off.run.read(run => [run.highway.enabled, run.gates.size])).toEqual([false, 0])
  expect((await off.run.entries()).some(entry => entry.event_type.startsWith('gate_'))).toBe(false)
})

test('W-HWY-06 each addressee has a queue of their own', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  for (const [name, owner] of Object.entries({ A: 'alice', B: 'bob', A2: 'alice' })) await f.worker(name, { owner })
  for (const name of ['A', 'B', 'A2']) gateOf(f, await f.root.abort(f.id(name)), `G${name}`)
  expect((await f.run.gates()).map(each => [each.addressee, each.queue_position])).toEqual([
    ['alice', 0],
    ['bob', 0],
    ['alice', 1],
  ])
})

test('W-HWY-03 asking again for what waits opens no second gate', async () => {
  const f = await withWorker({ run: { owner: 'ux', highway: only('workspace_abort') } })
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.mark()
  expect(gateOf(f, await f.root.abort(f.id('W')))).toBe(gate)
  await f.expectAdded([])
})

test('W-HWY-03 later envelopes of a channel wait behind one at its gate, other channels go on, injected mail is not gated', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('envelope_delivery') } })
  await f.workspace('W')
  await f.workspace('W2')
  const first = unwrap(await f.root.send(f.mail('W', 'feedback')))
  const second = unwrap(await f.root.send(f.mail('W', 'feedback')))
  const other = unwrap(await f.root.send(f.mail('W2', 'feedback')))
  const ux = f.runtime.user('ux')
  unwrap(await ux.approve(f.run.id, second.gate!))
  unwrap(await ux.approve(f.run.id, other.gate!))
  await f.settle()
  expect(await f.run.read(run => run.envelopes.get(second.envelope)?.status)).toBe('validated')
  expect(await f.run.read(run => run.envelopes.get(other.envelope)?.status)).toBe('acknowledged')
  await f.mark()
  unwrap(await ux.approve(f.run.id, first.gate!))
  f.name(first.envelope, 'E1')
  f.name(second.envelope, 'E2')
  await f.expectAmong([
    ['gate_resolved', 'W', 'ux'],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E1' }],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E2' }],
  ])
  const injected = unwrap(await ux.inject(f.run.id, f.mail('W', 'feedback')))
  expect(injected.gate).toBeUndefined()
  await f.settle()
  expect(await f.run.read(run => run.envelopes.get(injected.envelope)?.status)).toBe('acknowledged')
})

test('while as many gates wait as may, nothing that could open another is begun; an answer makes room', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const tasks = Array.from({ length: kernelLimits.submittedTasks }, () => ({ name: 'T', description: 'do it' }))
  for (let size = 0; size < kernelLimits.pendingGates; size += tasks.length) unwrap(await f.root.submitGraph(tasks))
  await f.mark()
  const one = [{ name: 'T', description: 'do it' }]
  expect(refused(await f.root.submitGraph(one))).toBe('limit_reached')
  await f.expectAdded([])
  // What this run does not gate goes on.
  await f.worker('W')
  unwrap(await f.root.abort(f.id('W')))
  const [gate] = await f.run.read(run => [...run.gates.keys()])
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate!))
  unwrap(await f.root.submitGraph(one))
})

/** Stamps run a little ahead of the clock, which stands still while a test writes. */
const PERIOD = 100
const PASSED = PERIOD + 1

/** The abort of W waits at G1, which has fallen to the coordinator. */
async function fallen() {
  const highway = only('workspace_abort', { timeout: PERIOD, fallback: 'escalate_to_coordinator' })
  const f = await withWorker({ run: { owner: 'ux', highway } })
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.advance(PASSED)
  await f.mark()
  return { f, gate }
}

test('W-HWY-06 what fell to the coordinator stands in nobody’s queue', async () => {
  const { f } = await fallen()
  await f.worker('V')
  gateOf(f, await f.root.abort(f.id('V')), 'GV')
  await f.expectAmong([['gate_triggered', 'V', 'protocol', { gate_id: 'GV', queue_position: 0 }]])
})

test('W-HWY-10 a human who answers late is still in time while the coordinator is silent', async () => {
  const { f, gate } = await fallen()
  unwrap(await f.runtime.user('ux').reject(f.run.id, gate))
  await f.expectAdded([ended('G1', 'workspace_abort', 'W', 'reject', 'ux')])
  await f.advance(3 * PERIOD)
  await f.expectAdded([])
})

test('W-HWY-11 a creation for the same attempt of a task that a fallback rejected stays rejected', async () => {
  const highway = only('workspace_create', { timeout: PERIOD, fallback: 'reject' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  const graph = await graphOf(f, { T: {} })
  const create = () => f.root.createWorkspace({ role: 'worker', task: graph.id('T') })
  gateOf(f, await create())
  await f.advance(PASSED)
  await f.mark()
  expect(refused(await create())).toBe('rejected(gate_rejected_by_human)')
  await f.expectAdded([
    ['gate_reentry_blocked', 'R', 'protocol'],
    ['workspace_rejected', 'R', 'protocol', { reason: 'gate_rejected_by_human', capacity_details: {} }],
  ])
})

/** The entry that shows that what waited was carried out. */
const EFFECT: { readonly [Type in GateType]: string } = {
  task_approval: 'task_approved',
  workspace_create: 'workspace_created',
  envelope_delivery: 'envelope_delivered',
  integration: 'integration_started',
  conflict_resolution: 'conflict_resolved',
  workspace_abort: 'workspace_state_changed',
}

test.each(GATE_TYPES)(
  'W-HWY-04 W-HWY-16 a %s gate waits over a restart with its whole subject, and a late answer still works',
  async type => {
    const bound: string[] = []
    const f = await fixture({
      run: { owner: 'ux', highway: only(type) },
      bind: agent => void bound.push(agent.workspace),
    })
    await prepare(f, type)
    const { under } = await TRANSITIONS[type](f)
    const [gate] = await waiting(f)
    const [before] = await f.run.gates()
    const { subject } = (await f.added()).find(each => each.event_type === 'gate_triggered')!
      .body as EventBody<'gate_triggered'>
    expect(before!.subject).toBeDefined()
    expect(subject.digest).toBe(createHash('sha256').update(canonicalize(before!.subject)).digest('hex'))
    expect(JSON.stringify(await f.run.entries())).not.toContain('keep both')
    await f.restart(() => f.clock.advance(60 * 60_000))
    expect(await f.run.gates()).toEqual([before])
    expect(unwrap(await f.run.gate(gate!))).toEqual(before)
    expect(unwrap(await f.run.object(gate as string as ObjectId))?.kind).toBe('gate')
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
  },
)

test('W-REC-20 what a gate decided while the runtime was away is remembered', async () => {
  const highway = only('workspace_abort', { timeout: 1000, fallback: 'reject' })
  const f = await withWorker({ run: { owner: 'ux', highway } })
  gateOf(f, await f.root.abort(f.id('W')))
  await f.mark()
  await f.restart(() => f.clock.advance(5000))
  await f.expectAmong([
    ['gate_timeout', 'W', 'fallback', { gate_id: 'G1', fallback_action: 'reject' }],
    ended('G1', 'workspace_abort', 'W', 'reject', 'fallback'),
  ])
  unwrap(await f.root.abort(f.id('W')))
  await f.expectAdded([['gate_reentry_blocked', 'W', 'protocol']])
  expect(await f.state('W')).toBe('active')
})

test('W-HWY-10 a gate that fell to the coordinator is still its own after a restart', async () => {
  const { f, gate } = await fallen()
  await f.restart()
  expect((await f.run.gates()).map(each => [each.id, each.handed_over])).toEqual([[gate, true]])
  unwrap(await f.root.answerGate(gate, 'approve'))
  expect(await f.state('W')).toBe('failed')
})
