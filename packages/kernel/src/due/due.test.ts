// Timeouts, the idle watchdog and silence: what passes, what pauses, and who goes first (W-BUDGET-01, -08, -09, W-CONC-06).
import { durationMs, parseTimestamp, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { livenessAt, timeoutAt } from '../budget/clock.ts'
import { addedRows, failedRows, pass, S } from '../testing/budgets.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

const timedOut = (from = 'active') => failedRows('W', from, 'timeout')

/** Milliseconds from the first entry of a type until the last of another. */
async function between(f: Fixture, from: string, to: string): Promise<number> {
  const entries = await f.run.entries()
  const at = (entry: (typeof entries)[number] | undefined) => parseTimestamp(entry!.timestamp)!
  return durationMs(
    at(entries.find(entry => entry.event_type === from)),
    at(entries.findLast(entry => entry.event_type === to)),
  )
}

test.each([false, true])(
  'WP-087 time in active and blocked adds up to the timeout, time in suspended does not; restarts: %s',
  async restarts => {
    const f = await fixture()
    await f.worker('W', { timeout: 100 * S })
    const restart = async () => {
      if (restarts) await f.restart()
      await f.mark()
    }
    await f.mark()
    await f.advance(40 * S)
    await restart()
    expect(unwrap(await f.run.remaining(f.id('W'))).timeout).toBe(60 * S)
    unwrap(await f.root.suspend(f.id('W'), 'pause'))
    await f.mark()
    await f.advance(500 * S)
    await f.expectAdded([])
    await restart()
    unwrap(await f.root.resume(f.id('W')))
    unwrap(await f.agent('W').blocked('waiting'))
    await f.mark()
    await f.advance(40 * S)
    await f.expectAdded([])
    await restart()
    unwrap(await f.agent('W').started())
    await f.mark()
    await f.advance(19.9 * S)
    await f.expectAdded([])
    await restart()
    await f.advance(0.2 * S)
    expect(await addedRows(f)).toEqual(timedOut())
    await f.advance(500 * S)
    await f.expectAdded([])
  },
)

test('WP-087 a workspace that never leaves idle fails when its timeout is over since its creation', async () => {
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

test('WP-087 time in conflicted counts, and ends in conflict_timeout', async () => {
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
    [
      'conflict_resolved',
      'W',
      'protocol',
      { workspace_id: 'W', resolution_strategy: 'timeout', outcome: 'failed' },
    ],
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

test('WP-088 complete before the timer: integrating, and the timer is gone', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 100 * S })
  unwrap(await f.final('W'))
  await f.advance(99.9 * S)
  unwrap(await f.agent('W').complete())
  await f.mark()
  await f.advance(500 * S)
  await f.expectAdded([])
  expect(await f.state('W')).toBe('integrating')
})

test.each(['both queued', 'timer first'])(
  'WP-088 %s: the timeout wins, and complete is late',
  async order => {
    const f = await fixture()
    await f.worker('W', { timeout: 100 * S })
    await f.mark()
    // The clock moves, and with it the alarm rings; nothing is decided before this test awaits.
    f.clock.advance(100.1 * S)
    if (order === 'timer first') await f.settle()
    expect(unwrap(await f.agent('W').complete()).outcome).toBe('absorbed')
    expect(await addedRows(f)).toEqual([
      ...timedOut(),
      ['signal_emitted', null, 'worker', { signal_id: 'sig', from: 'W', type: 'complete' }],
    ])
    expect(await f.state('W')).toBe('failed')
  },
)

const silence = (last: string) =>
  [
    'liveness_warning',
    'W',
    'protocol',
    { workspace_id: 'W', interval: 5 * S, last_activity_timestamp: last },
  ] as const

test('WP-093 each full interval of silence is worth a warning; at the timeout there is none', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 30 * S, liveness_interval: 5 * S })
  await f.mark()
  const last = (await f.run.entries()).findLast(entry => entry.workspace === f.id('W'))!.timestamp
  await pass(f, 29 * S)
  // Warnings are no activity: each names the same last one.
  await f.expectAdded(Array.from({ length: 5 }, () => silence(last)))
  expect(f.notices.filter(notice => notice.kind === 'silence')).toHaveLength(5)
  expect(f.notices.at(-1)).toMatchObject({ kind: 'silence', to: f.id('R'), workspace: f.id('W') })
  expect(await f.state('W')).toBe('active')
  await f.advance(2 * S)
  expect(await addedRows(f)).toEqual(timedOut())
  expect(await between(f, 'workspace_created', 'liveness_warning')).toBe(25 * S)
})

test('WP-093 an entry filed under the workspace starts the interval again', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 30 * S, liveness_interval: 5 * S })
  const seconds: number[] = []
  const began = f.clock.now()
  await pass(f, 7 * S)
  unwrap(await f.agent('W').emit({ type: 'checkpoint' }))
  await pass(f, 22 * S)
  for (const entry of await f.run.entries())
    if (entry.event_type === 'liveness_warning')
      seconds.push(Math.floor((parseTimestamp(entry.timestamp)! - began) / 1e6))
  expect(seconds).toEqual([5, 12, 17, 22, 27])
})

test('WP-093 nobody is silent while suspended; blocked counts', async () => {
  const f = await fixture()
  await f.worker('W', { liveness_interval: 5 * S })
  await f.advance(3 * S)
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  await f.mark()
  await f.advance(100 * S)
  await f.expectAdded([])
  unwrap(await f.root.resume(f.id('W')))
  unwrap(await f.agent('W').blocked('waiting'))
  await f.mark()
  await f.advance(4.9 * S)
  await f.expectAdded([])
  await f.advance(0.2 * S)
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['liveness_warning'])
  expect(await f.state('W')).toBe('blocked')
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
