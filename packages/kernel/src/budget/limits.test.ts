// Marks and limits in every dimension: the warning once, the failure at the limit, and that only the runtime's own
// measure counts (W-BUDGET-02 to -05, W-SIG-13, W-CP-05).
import { unwrap } from '@parley/core'
import type { Budget, BudgetDimension } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { addedRows, exceededRows, pass, S, warningRow } from '../testing/budgets.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { withLimit } from './meter.ts'

const budget = (dimension: BudgetDimension, limit: number): Budget => withLimit(undefined, dimension, limit)

/** What limits brought; what was used up has entries of its own. */
async function marks(f: Fixture): Promise<readonly Row[]> {
  const rows = await addedRows(f)
  const start = rows.findIndex(([type]) => type.startsWith('budget_'))
  return start < 0 ? [] : rows.slice(start)
}

test('W-BUDGET-05 the checkpoint that crosses the storage limit is kept, and nothing that waited comes before the failure', async () => {
  const f = await fixture()
  await f.worker('W', { budget: budget('checkpoint_limit', 500) })
  await f.mark()
  const draft = { type: 'artifact', payload: { content: 'x'.repeat(600) }, intent: 'all', confidence: 'high' }
  const agent = f.agent('W')
  const [kept, complete] = await Promise.all([
    agent.checkpoint({ ...draft, status: 'final' } as never),
    agent.complete(),
  ])
  expect(refused(kept)).toBe('ok')
  // It was asked for when the limit was already reached.
  expect(unwrap(complete).outcome).toBe('absorbed')
  const rows = await addedRows(f)
  expect(rows.map(([type]) => type)).toEqual([
    'checkpoint_created',
    'signal_emitted',
    'signal_delivered',
    'budget_warning',
    'budget_exceeded',
    'signal_emitted',
    'workspace_state_changed',
    'signal_delivered',
    'signal_emitted',
  ])
  expect(unwrap(await f.root.look(f.id('W'))).register).toHaveLength(1)
})

test('W-BUDGET-05 a limit that is reached while the workspace is suspended acts when it goes on', async () => {
  const f = await fixture()
  await f.worker('W', { budget: budget('token_limit', 100) })
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  await f.mark()
  unwrap(await f.run.meter(f.id('W'), { tokens: 120 }))
  await f.advance(10 * S)
  await f.expectAdded([])
  unwrap(await f.root.resume(f.id('W')))
  expect(await marks(f)).toEqual([warningRow('W', 'token_limit', 120), ...exceededRows('W', 'token_limit', 120)])
})

test('W-BUDGET-05 budgets act in blocked, and not once the work is handed in', async () => {
  const f = await fixture()
  await f.worker('W', { budget: budget('token_limit', 100) })
  await f.worker('W2', { budget: budget('token_limit', 100) })
  unwrap(await f.agent('W').blocked('waiting'))
  await f.bring('W2', 'integrating')
  await f.mark()
  unwrap(await f.run.meter(f.id('W2'), { tokens: 200 }))
  await f.expectAdded([])
  unwrap(await f.run.meter(f.id('W'), { tokens: 100 }))
  expect(await marks(f)).toEqual([
    warningRow('W', 'token_limit', 100),
    ...exceededRows('W', 'token_limit', 100, 100, 'blocked'),
  ])
  expect(await f.state('W2')).toBe('integrating')
})

test('W-BUDGET-03 budget and liveness entries are not charged, mail from people is free', async () => {
  const f = await fixture()
  const limits = { storage_budget: { trail_limit: 1e9 }, network_budget: { bandwidth_limit: 1e9 } }
  await f.worker('W', {
    liveness_interval: 5 * S,
    budget: { ...limits, compute_budget: { token_limit: 100 } },
  })
  const before = unwrap(await f.agent('W').meter())
  unwrap(await f.run.meter(f.id('W'), { tokens: 90 }))
  await pass(f, 12 * S)
  unwrap(await f.root.raiseBudget(f.id('W'), { compute_budget: { token_limit: 200 } }))
  const types = (await f.added()).map(entry => entry.event_type)
  expect(types.filter(type => type === 'liveness_warning')).toHaveLength(2)
  expect(types).toContain('budget_warning')
  const after = unwrap(await f.agent('W').meter())
  expect(after.trail_bytes).toBe(before.trail_bytes)
  const user = f.runtime.user('ux')
  const payload = { format: 'markdown', content: 'x'.repeat(10_000) }
  unwrap(await user.inject(f.run.id, f.mail('W', 'feedback', { payload })))
  await f.settle()
  // Its receipt is all that W sends.
  const { bandwidth } = unwrap(await f.agent('W').meter())
  expect(bandwidth).toBeGreaterThan(before.bandwidth)
  expect(bandwidth).toBeLessThan(before.bandwidth + 500)
})

test('W-BUDGET-04 the percentage of the warning is the run’s own', async () => {
  const f = await fixture({ run: { budget_warning: 50 } })
  await f.worker('W', { budget: budget('token_limit', 100) })
  await f.mark()
  unwrap(await f.run.meter(f.id('W'), { tokens: 49 }))
  await f.expectAdded([])
  await f.restart()
  await f.mark()
  unwrap(await f.run.meter(f.id('W'), { tokens: 1 }))
  await f.expectAmong([['budget_warning', 'W', 'protocol', { consumed: 50, threshold_percent: 50 }]])
})

test.each([{ tokens: -1 }, { cost: Number.NaN }, { context: Number.POSITIVE_INFINITY }])(
  'a report of %o is refused',
  async usage => {
    const f = await fixture()
    await f.worker('W')
    expect(refused(await f.run.meter(f.id('W'), usage))).toBe('invalid_argument')
  },
)

test('the meter of a workspace that has ended stands still', async () => {
  const f = await fixture()
  await f.worker('W')
  unwrap(await f.run.meter(f.id('W'), { tokens: 5 }))
  await f.bring('W', 'failed')
  expect(refused(await f.run.meter(f.id('W'), { tokens: 5 }))).toBe('invalid_state')
  expect(refused(await f.run.meter('ws_none' as never, { tokens: 5 }))).toBe('not_found')
  expect(unwrap(await f.root.look(f.id('W'))).meter.tokens).toBe(5)
})

test('W-REC-25 meters are the same after a restart, and a mark that was crossed right before it is dealt with', async () => {
  const f = await fixture()
  const limits: Budget = {
    compute_budget: { token_limit: 1000 },
    storage_budget: { trail_limit: 1e6, checkpoint_limit: 1e6 },
    network_budget: { bandwidth_limit: 1e6 },
    cost_limit: 10,
  }
  const agent = await f.worker('W', { budget: limits })
  unwrap(await f.run.meter(f.id('W'), { tokens: 250, cost: 0.1, context: 77 }))
  unwrap(await f.run.meter(f.id('W'), { tokens: 250, cost: 0.2 }))
  unwrap(await f.checkpoint('W', { payload: { content: 'gefräßig 🦝' } }))
  unwrap(await agent.send(f.mail('R', 'query')))
  await f.advance(3 * S)
  const before = unwrap(await agent.meter())
  expect(before).toMatchObject({ tokens: 500, cost: 0.1 + 0.2, context: 77 })
  await f.restart()
  const after = unwrap(await f.agent('W').meter())
  // Recovery itself takes time and may write; it never takes anything back.
  expect({ ...after, compute_time: 0, wall_time: 0 }).toEqual({ ...before, compute_time: 0, wall_time: 0 })
})
