// Clocks and meters over a restart (W-REC-15, -20, -25): what went on during the outage, what did not, and what an
// older trail says.
import { unwrap } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import { expect, test } from 'vitest'
import { limitOf } from '../budget/meter.ts'
import { viewMeter } from '../budget/remaining.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run } from '../run/run.ts'
import { pass, S } from '../testing/budgets.ts'
import { type Fixture, fixture } from '../testing/fixture.ts'

/** The runtime goes away, and comes back later. */
async function outage(f: Fixture, milliseconds: number): Promise<void> {
  await f.runtime.close()
  f.clock.advance(milliseconds)
  await f.restart()
  await f.settle()
}

test('W-REC-20 suspension and outage count as they should', async () => {
  const f = await fixture()
  const budget = { compute_budget: { compute_timeout: 10 * S } }
  await f.worker('W', { timeout: 20 * S, budget })
  unwrap(await f.root.terminate(f.id('W'), 20 * S, 'enough'))
  await f.settle()
  await f.advance(2 * S)
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  await f.advance(60 * S)
  unwrap(await f.root.resume(f.id('W')))
  await f.advance(1 * S)
  // The outage begins with the newest entry.
  unwrap(await f.agent('W').emit({ type: 'checkpoint' }))
  await outage(f, 5 * S)
  const left = unwrap(await f.run.remaining(f.id('W')))
  expect(Math.round(left.timeout! / S)).toBe(12)
  expect(Math.round(left.compute_timeout! / S)).toBe(7)
  const grace = async () => Math.round(unwrap(await f.root.look(f.id('W'))).grace_left! / S)
  expect(await grace()).toBe(12)
  // A second outage is excluded like the first, on top of it.
  await f.advance(1 * S)
  unwrap(await f.agent('W').emit({ type: 'checkpoint' }))
  await outage(f, 5 * S)
  const rest = unwrap(await f.run.remaining(f.id('W')))
  expect(Math.round(rest.timeout! / S)).toBe(6)
  expect(Math.round(rest.compute_timeout! / S)).toBe(6)
  expect(await grace()).toBe(6)
  await pass(f, 5.9 * S)
  expect(await f.state('W')).toBe('active')
  await pass(f, 0.2 * S)
  expect(await f.state('W')).toBe('failed')
})

test('W-REC-20 a grace that ran out while the runtime was away ends during recovery; a paused one stands still', async () => {
  const f = await fixture()
  for (const name of ['W', 'S']) {
    await f.worker(name)
    unwrap(await f.root.terminate(f.id(name), 10 * S, 'enough'))
    await f.settle()
  }
  await f.advance(4 * S)
  await f.bring('S', 'suspended')
  await f.mark()
  await outage(f, 7 * S)
  const rows = (await f.addedWithOutages()).map(entry => f.row(entry))
  expect(rows.map(([type, workspace]) => [type, workspace])).toEqual([
    ['graceful_termination_expired', 'W'],
    ['signal_emitted', 'W'],
    ['workspace_state_changed', 'W'],
    ['signal_delivered', 'R'],
    ['recovery_completed', null],
  ])
  expect(rows[2]![3]).toMatchObject({ trigger: 'graceful_termination_expired' })
  // Its timeout and the two timers of W; those of S stand still.
  expect(rows[4]![3]).toMatchObject({ workspaces_failed: 1, timers_reconstructed: 2 })
  unwrap(await f.root.resume(f.id('S')))
  await f.advance(5.9 * S)
  expect(await f.state('S')).toBe('active')
  await f.advance(0.2 * S)
  expect(await f.state('S')).toBe('failed')
})

test('W-REC-20 an outage does not use up compute time, however long it was', async () => {
  const f = await fixture()
  await f.worker('W', { budget: { compute_budget: { compute_timeout: 10 * S } } })
  await f.advance(2 * S)
  unwrap(await f.agent('W').emit({ type: 'checkpoint' }))
  await outage(f, 3600 * S)
  expect(await f.state('W')).toBe('active')
  const entries = (await f.run.entries()).map(entry => entry.event_type)
  expect(entries).not.toContain('budget_warning')
  await pass(f, 7.9 * S)
  expect(await f.state('W')).toBe('active')
  await pass(f, 0.2 * S)
  expect(await f.state('W')).toBe('failed')
})

/** The run's state as its trail gives it, some kinds of object left out. */
async function folded(f: Fixture, ...without: readonly string[]): Promise<Run> {
  const run = newRun(f.run.id)
  for await (const record of f.trail.run(f.run.id).replay())
    if ('event_type' in record || !without.includes((record as TrailObject).kind)) evolve(run, record)
  return run
}

test('W-BUDGET-07 bytes count for a delegate even where an older trail gave the child no limit of its own', async () => {
  const f = await fixture()
  const budget = { storage_budget: { checkpoint_limit: 1e6 } }
  const delegate = await f.worker('D', { delegate: true, budget })
  await f.worker('W', {}, delegate)
  unwrap(await f.checkpoint('W'))
  const run = newRun(f.run.id)
  for await (const record of f.trail.run(f.run.id).replay()) {
    const child = 'event_type' in record && (record.body as { workspace_id?: string }).workspace_id === f.id('W')
    if (!child || record.event_type !== 'workspace_created') evolve(run, record)
    else evolve(run, { ...record, body: { ...record.body, budget: undefined } as never })
  }
  const used = unwrap(await f.agent('W').meter()).checkpoint_bytes
  expect(used).toBeGreaterThan(0)
  expect(run.workspaces.get(f.id('D'))!.meter?.below.checkpointBytes).toBe(used)
})

const tokensIn = (run: Run, f: Fixture) => run.workspaces.get(f.id('W'))!.meter?.tokens ?? 0

test('W-REC-15 an older trail has only what agents reported, until something is measured', async () => {
  const f = await fixture()
  await f.worker('W', { budget: { compute_budget: { token_limit: 1000 } } })
  const usage = (tokens_consumed: number) => ({ resource_usage: { tokens_consumed, wall_time: 0, cost: 0 } })
  unwrap(await f.checkpoint('W', usage(300)))
  unwrap(await f.checkpoint('W', usage(200)))
  expect(tokensIn(await folded(f, 'settings'), f)).toBe(500)
  unwrap(await f.run.meter(f.id('W'), { tokens: 50 }))
  unwrap(await f.checkpoint('W', usage(400)))
  expect(tokensIn(await folded(f, 'settings'), f)).toBe(550)
  expect(tokensIn(await folded(f), f)).toBe(50)
})

test('W-REC-15, -25 the last warning is the least that was used', async () => {
  const f = await fixture()
  await f.worker('W', { budget: { compute_budget: { token_limit: 1000 } } })
  unwrap(await f.run.meter(f.id('W'), { tokens: 850 }))
  await f.settle()
  unwrap(await f.root.raiseBudget(f.id('W'), { compute_budget: { token_limit: 2000 } }))
  const run = await folded(f, 'usage')
  const workspace = run.workspaces.get(f.id('W'))!
  expect(workspace.meter?.tokens).toBe(850)
  expect(limitOf(workspace.budget, 'token_limit')).toBe(2000)
  expect(run.marked.size).toBe(0)
})

test('W-REC-25 replay gives the meters that were there, to the byte and the tick', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', {
    delegate: true,
    liveness_interval: 5 * S,
    budget: {
      compute_budget: { token_limit: 1000, compute_timeout: 100 * S },
      storage_budget: { trail_limit: 1e6, checkpoint_limit: 1e6 },
      network_budget: { bandwidth_limit: 1e6 },
      cost_limit: 10,
    },
  })
  await f.worker('W', {}, delegate)
  for (const cost of [0.1, 0.2, 0.3]) unwrap(await f.run.meter(f.id('W'), { tokens: 10, cost, context: 9 }))
  unwrap(await f.checkpoint('W', { payload: { content: 'gefräßig 🦝' } }))
  await f.advance(12 * S)
  unwrap(await f.agent('W').blocked('waiting'))
  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.advance(3 * S)
  const picture = (run: Run) =>
    [...run.workspaces.values()].map(each => ({
      ...viewMeter(each, f.clock.now()),
      below: each.meter?.below,
      warned: each.meter?.warned,
      spent: each.spent,
      since: each.since,
      last: [each.lastActivity, each.lastEntry],
    }))
  const live = await f.run.read(picture)
  expect(picture(await folded(f))).toEqual(live)
  expect(live[1]).toMatchObject({ below: { tokens: 30, context: 9 } })
})
