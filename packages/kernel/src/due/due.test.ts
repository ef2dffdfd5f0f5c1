// Timeouts, the idle watchdog and silence (W-BUDGET-01, -08, -09, W-CONC-06), and clocks and meters over a restart
// (W-REC-15, -20, -25).
import { type Ticks, unwrap } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import { expect, test } from 'vitest'
import { livenessAt, timeoutAt } from '../budget/clock.ts'
import { limitOf } from '../budget/meter.ts'
import { viewMeter } from '../budget/remaining.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run } from '../run/run.ts'
import { addedRows, failedRows, pass, S } from '../testing/budgets.ts'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'

const timedOut = (from = 'active') => failedRows('W', from, 'timeout')

test('W-BUDGET-01 whoever leaves idle in time has its own time from there', async () => {
  const f = await fixture()
  await f.workspace('W', { timeout: 100 * S })
  await f.advance(99.9 * S)
  unwrap(await f.root.directive(f.id('W'), { format: 'markdown', content: 'go' }))
  await f.mark()
  await f.advance(99.9 * S)
  await f.expectAdded([])
  await f.advance(0.2 * S)
  expect(await addedRows(f)).toEqual(timedOut())
})

test('W-BUDGET-01 the root has no timeout, and a workspace without one of its own gets the default', async () => {
  const f = await withWorker()
  await f.advance(24 * 3600 * S - S)
  await f.expectAdded([])
  await f.advance(2 * S)
  expect(await addedRows(f)).toEqual(timedOut())
  await f.advance(10 * 24 * 3600 * S)
  expect(await f.state('R')).toBe('active')
})

test('W-BUDGET-09 at the same instant, to the very tick, only the timeout acts', async () => {
  const f = await withWorker({}, { timeout: 10 * S, liveness_interval: 5 * S })
  const since = await f.run.read(run => run.workspaces.get(f.id('W'))!.since)
  // The state change, behind its signal, is the newest entry of W, and five seconds of its time are over.
  f.clock.set((since + 5_000_000 - 1) as Ticks)
  unwrap(await f.agent('W').blocked('waiting'))
  const moments = await f.run.read(run => {
    const workspace = run.workspaces.get(f.id('W'))!
    return [timeoutAt(workspace), livenessAt(workspace)]
  })
  expect(moments).toEqual([since + 10_000_000, since + 10_000_000])
  await f.mark()
  await pass(f, 6 * S)
  expect(await addedRows(f)).toEqual(timedOut('blocked'))
})

test('W-REC-20 silence that lasted over a restart is warned of once', async () => {
  const f = await withWorker({}, { liveness_interval: 5 * S })
  await f.advance(3 * S)
  await f.runtime.close()
  f.clock.advance(60 * S)
  await f.restart()
  await f.settle()
  const warnings = (await f.run.entries()).filter(entry => entry.event_type === 'liveness_warning')
  expect(warnings).toHaveLength(1)
})

test('a due that finds nothing writes nothing', async () => {
  const f = await withWorker({}, { timeout: 10 * S })
  expect(unwrap(await f.run.submit({ type: 'due' }))).toBe(false)
  await f.expectAdded([])
  expect(refused(await f.run.stop())).toBe('ok')
  await f.advance(60 * S)
})

/** The runtime goes away, and comes back later. */
async function outage(f: Fixture, milliseconds: number): Promise<void> {
  await f.runtime.close()
  f.clock.advance(milliseconds)
  await f.restart()
  await f.settle()
}

test('W-REC-20 a second outage counts like the first, on top of it', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 20 * S, budget: { compute_budget: { compute_timeout: 10 * S } } })
  unwrap(await f.root.terminate(f.id('W'), 20 * S, 'enough'))
  await f.settle()
  for (let round = 0; round < 2; round++) {
    await f.advance(1 * S)
    // The outage begins with the newest entry.
    unwrap(await f.agent('W').emit({ type: 'checkpoint' }))
    await outage(f, 5 * S)
  }
  const { timeout, compute_timeout } = unwrap(await f.run.remaining(f.id('W')))
  const { grace_left } = unwrap(await f.root.look(f.id('W')))
  expect([timeout, compute_timeout, grace_left].map(left => Math.round(left! / S))).toEqual([8, 8, 8])
  await pass(f, 7.9 * S)
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
  const f = await withWorker({}, { budget: { compute_budget: { token_limit: 1000 } } })
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
  const f = await withWorker({}, { budget: { compute_budget: { token_limit: 1000 } } })
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
