// Graceful termination (W-TERM-01 to -05) and suspension (W-MIG-01, -02).
import { type Result, ticksPerMillisecond, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { timeoutAt } from '../budget/clock.ts'
import type { Sent } from '../envelope/send.ts'
import { addedRows, failedRows, pass, S } from '../testing/budgets.ts'
import { type Fixture, type FixtureOptions, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { created } from '../testing/mail.ts'
import { decided } from '../testing/tasks.ts'
import { role, route, taxonomyOf } from '../testing/taxonomies.ts'
import { denial } from '../testing/topology.ts'
import { carriedWorker } from '../testing/transport.ts'
import { graceAt } from './terminate.ts'

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

test('W-TERM-03 a worker is told its grace in words that a program reads, and has none left once it completed', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  unwrap(await ask(f))
  await f.settle()
  const { format, content } = unwrap(await worker.consume())!.payload
  expect([format, JSON.parse(content)]).toEqual(['json', { intent: 'graceful_termination', grace_period: GRACE }])
  unwrap(await f.final('W'))
  unwrap(await worker.complete())
  expect(await graceLeft(f)).toBeNull()
})

test('W-TERM-04 without a checkpoint there is none to name', async () => {
  const f = await withWorker()
  unwrap(await f.agent('W').blocked('waiting'))
  unwrap(await ask(f))
  await f.mark()
  await f.advance(50.1 * S)
  expect(await addedRows(f)).toEqual(over(null, 'blocked'))
})

test('W-TERM-05 the time that it migrates does not count', async () => {
  const f = await asked()
  await f.advance(20 * S)
  await f.bring('W', 'migrating')
  await f.mark()
  await f.advance(100 * S)
  await f.expectAdded([])
  expect(await f.run.read(run => graceAt(run.workspaces.get(f.id('W'))!))).toBeUndefined()
  expect(Math.round((await graceLeft(f))! / S)).toBe(30)
  unwrap(await f.run.submit({ type: 'complete_migration', workspace: f.id('W'), agent: 'next_W' }))
  await f.mark()
  await f.advance(29.9 * S)
  await f.expectAdded([])
  await f.advance(0.2 * S)
  expect(await addedRows(f)).toEqual(over('K'))
})

test('W-TERM-05 at the same moment the timeout comes before the end of the grace', async () => {
  const f = await withWorker({}, { timeout: 10 * S })
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

test('W-TERM-01 a delegate asks what lies below it, and nothing else; workers ask nobody', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const worker = await f.worker('W', {}, delegate)
  await f.worker('X')
  await f.mark()
  const { envelope } = unwrap(await delegate.terminate(f.id('W'), GRACE, 'enough'))
  f.name(envelope, 'F')
  const rows = (await f.added()).map(entry => f.row(entry))
  expect(rows.slice(0, 2)).toEqual([
    initiated('W', 'worker'),
    created({ id: 'F', from: 'D', to: 'W', type: 'feedback' }),
  ])
  expect(refused(await delegate.terminate(f.id('X'), GRACE, 'enough'))).toBe('permission_denied')
  expect(refused(await worker.terminate(f.id('X'), GRACE, 'enough'))).toBe('permission_denied')
  const denied = (name: string) => denial(name, 'worker', 'operation:graceful_termination', 'permission_denied', 'X')
  await f.expectAdded([denied('D'), denied('W')])
})

test('W-TERM-02 if the mail is rejected the request fails with the same reason, and no time runs', async () => {
  const taxonomy = taxonomyOf({ roles: [role('deaf', { remove: [route('receive', 'feedback', 'coordinator')] })] })
  const f = await withWorker({ run: { taxonomy } }, { role: 'deaf' })
  expect(refused(await ask(f))).toBe('rejected(permission_denied)')
  const rejected = { envelope_id: 'env1', from: 'R', to: 'W', type: 'feedback', reason: 'permission_denied' }
  await f.expectAdded([['envelope_rejected', 'R', 'protocol', rejected]])
  expect(await graceLeft(f)).toBeNull()
  await f.advance(100 * S)
  await f.expectAdded([])
})

/** A run with one gate that waits for ux, and W at work. */
async function gatedBy(type: 'envelope_delivery' | 'workspace_abort', more: object = {}): Promise<Fixture> {
  const highway = { gates: { [type]: true }, gate_defaults: { timeout: null, fallback: 'reject', ...more } } as const
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

test('W-TERM-02 no time runs before the agent was told; if a gate rejects the mail, the request has failed', async () => {
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

test('W-TERM-02 a request whose mail cannot be delivered has failed, and may be made again', async () => {
  const { f, transport } = await carriedWorker()
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

test('W-TERM-01 a request that a fallback rejected does nothing', async () => {
  const f = await gatedBy('workspace_abort', { timeout: 10 * S })
  expect(refused(await ask(f))).toBe('gated')
  await f.advance(11 * S)
  await f.mark()
  expect(refused(await ask(f))).toBe('rejected(gate_rejected_by_human)')
  expect((await f.added()).map(entry => f.row(entry)[0])).toEqual(['gate_reentry_blocked'])
  await f.advance(100 * S)
  expect(await f.state('W')).toBe('active')
})

test('W-SIG-05 no signal of a suspended agent is heard, whatever its type', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.force('W', 'suspended')
  for (const type of ['ready', 'started', 'blocked', 'checkpoint', 'complete', 'failed', 'escalation'] as const) {
    expect(refused(await worker.emit({ type, reason: 'x' }))).toBe('permission_denied(frozen)')
    await f.expectAdded([denial('W', 'worker', `emit:${type}`, 'frozen', undefined, 'emit')])
  }
  expect(await f.state('W')).toBe('suspended')
})

test('W-MIG-01 the signal of the coordinator is the operation, and a suspension needs a reason', async () => {
  const f = await withWorker()
  const before = await f.picture()
  for (const reason of ['', undefined, 7])
    expect(refused(await f.root.suspend(f.id('W'), reason as string))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
  unwrap(await f.root.emit({ type: 'suspend', ref: f.id('W'), reason: 'paused' }))
  await f.expectAdded([
    ['signal_emitted', 'R', 'system', { signal_id: 'sig1', from: 'R', type: 'suspend', ref: 'W' }],
    ['suspension_started', 'W', 'system', { workspace_id: 'W', pre_suspension_state: 'active', reason: 'paused' }],
    decided('W', 'active', 'suspended', 'suspended_by_coordinator'),
  ])
})
