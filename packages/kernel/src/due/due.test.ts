// Timeouts, the idle watchdog and silence: what passes, what pauses, and who goes first (W-BUDGET-01, -08, -09,
// W-CONC-06).
import { type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { livenessAt, timeoutAt } from '../budget/clock.ts'
import { addedRows, failedRows, pass, S } from '../testing/budgets.ts'
import { fixture, refused } from '../testing/fixture.ts'

const timedOut = (from = 'active') => failedRows('W', from, 'timeout')

test('W-BUDGET-01 a workspace that never leaves idle fails when its timeout is over since its creation', async () => {
  const f = await fixture()
  await f.workspace('W', { timeout: 100 * S })
  await f.workspace('W2', { timeout: 100 * S })
  await f.mark()
  await f.advance(99.9 * S)
  await f.expectAdded([])
  // Whoever left idle in time has its own time from there.
  unwrap(await f.root.directive(f.id('W2'), { format: 'markdown', content: 'go' }))
  await f.mark()
  await f.advance(0.2 * S)
  expect(await addedRows(f)).toEqual(timedOut('idle'))
  await f.advance(99 * S)
  await f.expectAdded([])
  await f.advance(1 * S)
  expect(await f.state('W2')).toBe('failed')
})

test('W-BUDGET-01 time in conflicted counts, and ends in conflict_timeout', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 100 * S })
  await f.advance(40 * S)
  await f.worker('W2')
  await f.bring('W2', 'closed')
  await f.bring('W', 'integrating')
  // While the work waits for its integration nothing runs.
  await f.advance(500 * S)
  expect(await f.state('W')).toBe('integrating')
  unwrap(await f.root.accept(f.id('W'), 'layered'))
  await f.advance(59 * S)
  expect(await f.state('W')).toBe('conflicted')
  await f.mark()
  await f.advance(2 * S)
  await f.expectAmong([
    ['conflict_resolved', 'W', 'protocol', { workspace_id: 'W', resolution_strategy: 'timeout', outcome: 'failed' }],
    ['workspace_state_changed', 'W', 'protocol', { workspace_id: 'W', trigger: 'conflict_timeout' }],
  ])
  expect(await f.state('W')).toBe('failed')
})

test('W-BUDGET-01 the root has no timeout, and a workspace without one of its own gets the default', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  await f.advance(24 * 3600 * S - S)
  await f.expectAdded([])
  await f.advance(2 * S)
  expect(await addedRows(f)).toEqual(timedOut())
  await f.advance(10 * 24 * 3600 * S)
  expect(await f.state('R')).toBe('active')
})

test('W-BUDGET-09 at the same instant only the timeout acts', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 5 * S, liveness_interval: 5 * S })
  await f.mark()
  // Late enough that both are due.
  await f.advance(7 * S)
  expect(await addedRows(f)).toEqual(timedOut())
})

test('W-BUDGET-09 to the very tick', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 10 * S, liveness_interval: 5 * S })
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
  const f = await fixture()
  await f.worker('W', { liveness_interval: 5 * S })
  await f.advance(3 * S)
  await f.runtime.close()
  f.clock.advance(60 * S)
  await f.restart()
  await f.settle()
  const warnings = (await f.run.entries()).filter(entry => entry.event_type === 'liveness_warning')
  expect(warnings).toHaveLength(1)
})

test('a due that finds nothing writes nothing', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 10 * S })
  await f.mark()
  expect(unwrap(await f.run.submit({ type: 'due' }))).toBe(false)
  await f.expectAdded([])
  expect(refused(await f.run.stop())).toBe('ok')
  await f.advance(60 * S)
})
