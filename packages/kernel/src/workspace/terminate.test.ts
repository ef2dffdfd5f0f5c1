// Graceful termination (W-TERM-01 to -05): the request and its mail, the agent's part, the end of the grace, and what comes before it.
import { type Result, ticksPerMillisecond, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { timeoutAt } from '../budget/clock.ts'
import type { Sent } from '../envelope/send.ts'
import { addedRows, exceededRows, failedRows, pass, S, warningRow } from '../testing/budgets.ts'
import { type Fixture, type FixtureOptions, fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'
import { carriedFixture } from '../testing/transport.ts'
import { graceAt } from './termination.ts'

const GRACE = 50 * S

/** Asks, and lets the agent be told. */
async function ask(f: Fixture, name = 'W', grace = GRACE): Promise<Result<Sent>> {
  const asked = await f.root.terminate(f.id(name), grace, 'enough')
  await f.settle()
  return asked
}

const initiated = (name = 'W', actor = 'system', grace_period = GRACE): Row => [
  'graceful_termination_initiated',
  name,
  actor,
  { workspace_id: name, grace_period, reason: 'enough' },
]

const told = (envelope_id: string, from = 'R', to = 'W'): Row => [
  'envelope_created',
  from,
  from === 'R' ? 'system' : 'worker',
  {
    envelope_id,
    from,
    to,
    type: 'feedback',
    priority: 'normal',
    in_reply_to: null,
    originator: 'system',
    origin: 'agent',
  },
]

const requested = (f: string, signal_id: string): Row[] => [
  initiated(),
  told(f),
  ['envelope_delivered', 'W', 'protocol', { envelope_id: f, from: 'R', to: 'W' }],
  ['signal_emitted', 'W', 'protocol', { signal_id, from: 'W', type: 'acknowledged', ref: f }],
  ['signal_delivered', 'R', 'protocol', { signal_id, from: 'W', delivered_to: 'R' }],
]

const expired = (partial_checkpoint: string | null, name = 'W'): Row => [
  'graceful_termination_expired',
  name,
  'protocol',
  { workspace_id: name, grace_period: GRACE, partial_checkpoint },
]

const over = (partial: string | null, from = 'active'): Row[] => [
  expired(partial),
  ...failedRows('W', from, 'graceful_termination_expired'),
]

/** A worker W that was asked to wind down, with one provisional checkpoint K. */
async function asked(options: FixtureOptions = {}, draft: object = {}): Promise<Fixture> {
  const f = await fixture(options)
  await f.worker('W', draft)
  f.name(unwrap(await f.checkpoint('W')).checkpoint, 'K')
  unwrap(await ask(f))
  await f.mark()
  return f
}

const typesOf = async (f: Fixture) => (await f.run.entries()).map(entry => entry.event_type)

test('WP-097 a worker that is asked to wind down and completes in time is integrated like any other', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  const { envelope } = unwrap(await ask(f))
  f.name(envelope, 'F')
  await f.expectAdded(requested('F', 'sig1'))
  const mail = unwrap(await worker.consume())
  expect(mail).toMatchObject({ id: envelope, type: 'feedback', from: f.id('R') })
  expect(mail?.payload.format).toBe('json')
  expect(JSON.parse(mail!.payload.content)).toEqual({ intent: 'graceful_termination', grace_period: GRACE })

  await f.advance(20 * S)
  unwrap(await f.checkpoint('W'))
  await f.mark()
  await f.advance(29 * S)
  expect(Math.round(unwrap(await worker.look()).grace_left! / S)).toBe(1)
  unwrap(await f.final('W'))
  unwrap(await worker.complete())
  await f.expectAmong([
    ['checkpoint_created', 'W', 'worker', { status: 'final' }],
    ['signal_emitted', 'W', 'worker', { type: 'complete' }],
    ['workspace_state_changed', 'W', 'protocol', { from_state: 'active', to_state: 'integrating' }],
  ])
  expect(unwrap(await f.root.look(f.id('W'))).grace_left).toBeNull()
  await f.advance(100 * S)
  await f.expectAdded([])
  unwrap(await f.root.accept(f.id('W')))
  expect(await typesOf(f)).not.toContain('graceful_termination_expired')
})

test('WP-098 one that stays silent fails when its grace is over, and its checkpoints stay', async () => {
  const f = await asked()
  await f.advance(49.9 * S)
  await f.expectAdded([])
  await f.advance(0.2 * S)
  expect(await addedRows(f)).toEqual(over('K'))
  const view = unwrap(await f.root.look(f.id('W')))
  expect(view.register.map(({ id }) => f.nameOf(id))).toEqual(['K'])
  expect(view.grace_left).toBeNull()
})

test('WP-098 without a checkpoint there is none to name', async () => {
  const f = await fixture()
  await f.worker('W')
  unwrap(await f.agent('W').blocked('waiting'))
  unwrap(await ask(f))
  await f.mark()
  await f.advance(50.1 * S)
  expect(await addedRows(f)).toEqual(over(null, 'blocked'))
})

test.each([
  ['suspended', async (f: Fixture) => unwrap(await f.root.suspend(f.id('W'), 'pause'))],
  ['migrating', (f: Fixture) => f.bring('W', 'migrating')],
] as const)('WP-098 the time that it is %s does not count', async (state, pause) => {
  const f = await asked()
  await f.advance(20 * S)
  await pause(f)
  await f.mark()
  await f.advance(100 * S)
  await f.expectAdded([])
  expect(await f.state('W')).toBe(state)
  expect(await f.run.read(run => graceAt(run.workspaces.get(f.id('W'))!))).toBeUndefined()
  expect(Math.round(unwrap(await f.root.look(f.id('W'))).grace_left! / S)).toBe(30)
  if (state === 'suspended') unwrap(await f.root.resume(f.id('W')))
  else unwrap(await f.run.submit({ type: 'complete_migration', workspace: f.id('W'), agent: 'next_W' }))
  await f.mark()
  await f.advance(29.9 * S)
  await f.expectAdded([])
  await f.advance(0.2 * S)
  expect(await addedRows(f)).toEqual(over('K'))
})

test('WP-098 an abort, a timeout and a budget act regardless, and no expiry follows', async () => {
  const limit = { compute_budget: { token_limit: 100 } }
  const f = await asked({}, { timeout: 20 * S, budget: limit })
  await f.advance(20.1 * S)
  expect(await addedRows(f)).toEqual(failedRows('W', 'active', 'timeout'))
  await f.advance(100 * S)
  await f.expectAdded([])

  const g = await asked()
  await g.advance(10 * S)
  unwrap(await g.root.abort(g.id('W')))
  await g.mark()
  await g.advance(100 * S)
  await g.expectAdded([])

  const h = await asked({}, { budget: limit })
  unwrap(await h.run.meter(h.id('W'), { tokens: 100 }))
  expect(await addedRows(h)).toEqual([
    warningRow('W', 'token_limit', 100),
    ...exceededRows('W', 'token_limit', 100),
  ])
  await h.advance(100 * S)
  await h.expectAdded([])
})

test('W-TERM-05 at the same moment the timeout comes before the end of the grace', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 10 * S })
  const since = await f.run.read(run => run.workspaces.get(f.id('W'))!.since)
  // To the tick: the timeout has nine seconds left when the agent is told, in the third entry from now.
  await f.advance(1 * S + (since - f.clock.now() - 2) / ticksPerMillisecond)
  unwrap(await ask(f, 'W', 9 * S))
  const due = await f.run.read(({ workspaces }) => workspaces.get(f.id('W'))!)
  expect(graceAt(due)).toBe(timeoutAt(due))
  await f.mark()
  await pass(f, 9.1 * S)
  expect(await addedRows(f)).toEqual(failedRows('W', 'active', 'timeout'))
})

test('WP-099 only workers at work that were not asked before, and only with a time of grace', async () => {
  const f = await fixture()
  await f.observer('O')
  await f.workspace('I')
  await f.worker('S')
  await f.bring('S', 'suspended')
  await f.worker('P')
  unwrap(await ask(f, 'P'))
  await f.worker('W')
  await f.mark()
  const before = await f.picture()
  for (const name of ['O', 'I', 'S', 'P', 'R'])
    expect(refused(await ask(f, name)), name).toBe('invalid_state')
  for (const grace of [0, -1, 1.5, Number.NaN, 2 ** 60, '50' as never])
    expect(refused(await ask(f, 'W', grace)), String(grace)).toBe('invalid_argument')
  expect(refused(await f.root.terminate(f.id('W'), GRACE, ''))).toBe('invalid_argument')
  expect(refused(await f.root.terminate('ws_none' as never, GRACE, 'enough'))).toBe('not_found')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})

test('WP-099 a blocked worker starts again before it can complete', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  unwrap(await f.final('W'))
  unwrap(await worker.blocked('waiting'))
  unwrap(await ask(f))
  await f.settle()
  expect(unwrap(await worker.complete()).outcome).toBe('absorbed')
  expect(unwrap(await worker.started()).outcome).toBe('applied')
  expect(unwrap(await worker.complete()).outcome).toBe('applied')
  expect(await f.state('W')).toBe('integrating')
  await f.advance(100 * S)
  expect(await typesOf(f)).not.toContain('graceful_termination_expired')
})

test('W-TERM-01 a delegate asks what lies below it, and nothing else; workers ask nobody', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const worker = await f.worker('W', {}, delegate)
  await f.worker('X')
  await f.mark()
  const { envelope } = unwrap(await delegate.terminate(f.id('W'), GRACE, 'enough'))
  f.name(envelope, 'F')
  const rows = (await f.added()).map(entry => f.row(entry))
  expect(rows.slice(0, 2)).toEqual([initiated('W', 'worker'), told('F', 'D')])
  expect(refused(await delegate.terminate(f.id('X'), GRACE, 'enough'))).toBe('permission_denied')
  expect(refused(await worker.terminate(f.id('X'), GRACE, 'enough'))).toBe('permission_denied')
  const denied = (name: string) =>
    denial(name, 'worker', 'operation:graceful_termination', 'permission_denied', 'X')
  await f.expectAdded([denied('D'), denied('W')])
})

test('W-TERM-02 the coordinator reaches deeper workspaces in its own name', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('W', {}, delegate)
  await f.mark()
  const { envelope } = unwrap(await ask(f))
  f.name(envelope, 'F')
  expect((await f.added()).map(entry => f.row(entry)).slice(0, 2)).toEqual([initiated(), told('F')])
  await f.advance(50.1 * S)
  expect(await f.state('W')).toBe('failed')
})

test('W-TERM-02 if the mail is rejected the request fails with the same reason, and no time runs', async () => {
  const deaf = {
    name: 'deaf',
    extends: 'worker',
    add: [],
    remove: [{ action: 'receive', target: { type: 'feedback', role: 'coordinator' } }],
  }
  const taxonomy = {
    id: 't',
    version: '1.0.0',
    protocol_version: '0.1',
    roles: [deaf],
    envelope_types: [],
    checkpoint_types: [],
  }
  const f = await fixture({ run: { taxonomy } })
  await f.worker('W', { role: 'deaf' })
  await f.mark()
  expect(refused(await ask(f))).toBe('rejected(permission_denied)')
  const rejected = { envelope_id: 'env1', from: 'R', to: 'W', type: 'feedback', reason: 'permission_denied' }
  await f.expectAdded([['envelope_rejected', 'R', 'protocol', rejected]])
  expect(unwrap(await f.root.look(f.id('W'))).grace_left).toBeNull()
  await f.advance(100 * S)
  await f.expectAdded([])
})

/** A run with one gate that waits for ux, and W at work. */
async function gatedBy(type: 'envelope_delivery' | 'workspace_abort', more: object = {}): Promise<Fixture> {
  const highway = {
    gates: { [type]: true },
    gate_defaults: { timeout: null, fallback: 'reject', ...more },
  } as const
  const f = await fixture({ run: { owner: 'ux', highway } })
  await f.workspace('W', { directive: { format: 'markdown', content: 'work' } })
  await f.settle()
  if (type === 'envelope_delivery') unwrap(await answer(f, 'approve'))
  await f.settle()
  await f.mark()
  return f
}

async function answer(f: Fixture, action: 'approve' | 'reject'): Promise<Result<unknown>> {
  const [gate] = await f.run.gates()
  const answered = await f.runtime.user('ux')[action](f.run.id, gate!.id)
  await f.settle()
  return answered
}

const graceLeft = async (f: Fixture) => unwrap(await f.root.look(f.id('W'))).grace_left

test('WX-062 no time runs before the agent was told; if a gate rejects the mail, the request has failed', async () => {
  const f = await gatedBy('envelope_delivery')
  expect(unwrap(await ask(f)).gate).toBeDefined()
  await f.advance(20 * S)
  await f.restart()
  await f.advance(200 * S)
  expect([await f.state('W'), await graceLeft(f)]).toEqual(['active', GRACE])
  expect(refused(await ask(f))).toBe('invalid_state')
  unwrap(await answer(f, 'reject'))
  await f.advance(100 * S)
  expect([await f.state('W'), await graceLeft(f)]).toEqual(['active', null])

  unwrap(await ask(f))
  await f.advance(70 * S)
  unwrap(await answer(f, 'approve'))
  await f.advance(20 * S)
  expect(Math.round((await graceLeft(f))! / S)).toBe(30)
  await f.restart()
  await f.advance(29 * S)
  expect(await f.state('W')).toBe('active')
  await f.mark()
  await f.advance(1.2 * S)
  expect(await f.state('W')).toBe('failed')
  await f.expectAmong([expired(null)])
})

test('WX-062 a request whose mail cannot be delivered has failed, and may be made again', async () => {
  const { f, transport } = await carriedFixture()
  await f.worker('W')
  transport.begin(f.clock, () => 'drop')
  unwrap(await ask(f))
  await f.advance(5 * S)
  expect(await graceLeft(f)).toBe(GRACE)
  await f.advance(3 * S)
  expect(await graceLeft(f)).toBeNull()
  transport.begin(f.clock, () => 'pass')
  await f.advance(100 * S)
  expect(await f.state('W')).toBe('active')
  unwrap(await ask(f))
  await f.advance(50.1 * S)
  expect(await f.state('W')).toBe('failed')
})

test('WX-063 where ending a workspace waits for a person, so does the request to wind down', async () => {
  const f = await gatedBy('workspace_abort')
  expect(refused(await ask(f))).toBe('gated')
  // Asked once more it is the same wait; an abort is another question.
  expect(refused(await ask(f))).toBe('gated')
  expect(refused(await f.root.abort(f.id('W')))).toBe('gated')
  const [gate, abort] = await f.run.gates()
  expect(gate!.subject).toMatchObject({
    reason: 'graceful_termination_expired',
    grace: { period: GRACE, reason: 'enough' },
  })
  const rows = (await f.added()).map(entry => f.row(entry)[0])
  expect(rows).toEqual(['gate_triggered', 'gate_triggered'])
  await f.advance(200 * S)
  expect(await f.state('W')).toBe('active')
  unwrap(await f.runtime.user('ux').reject(f.run.id, abort!.id))
  await f.restart()
  await f.mark()
  unwrap(await answer(f, 'approve'))
  f.name((await f.run.read(run => run.workspaces.get(f.id('W'))?.termination?.envelope))!, 'F')
  await f.expectAmong([initiated(), told('F')])
  await f.advance(50.1 * S)
  expect(await f.state('W')).toBe('failed')
})

test('WX-063 a request that was rejected does nothing, and one whose workspace completes is over', async () => {
  const f = await gatedBy('workspace_abort', { timeout: 10 * S })
  expect(refused(await ask(f))).toBe('gated')
  await f.advance(11 * S)
  await f.mark()
  expect(refused(await ask(f))).toBe('rejected(gate_rejected_by_human)')
  expect((await f.added()).map(entry => f.row(entry)[0])).toEqual(['gate_reentry_blocked'])
  await f.advance(100 * S)
  expect(await f.state('W')).toBe('active')

  const g = await gatedBy('workspace_abort')
  expect(refused(await ask(g))).toBe('gated')
  await g.bring('W', 'integrating')
  expect(await g.run.gates()).toEqual([])
  await g.expectAmong([
    ['gate_resolved', 'W', 'protocol', { action: 'reject', reason: 'subject_invalidated' }],
  ])
})
