// Limits (W-BUDGET-02 to -06): the warning once, the failure at the limit, only by the measure of the runtime; who
// raises them, when and how far; and that wall time goes on while the runtime is away.
import { unwrap } from '@parley/core'
import type { Budget, BudgetDimension } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { addedRows, exceededRows, pass, S, warningRow } from '../testing/budgets.ts'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { userDenial } from '../testing/people.ts'
import { denial } from '../testing/topology.ts'
import { withLimit } from './meter.ts'

const budget = (dimension: BudgetDimension, limit: number): Budget => withLimit(undefined, dimension, limit)

/** What limits brought; what was used up has entries of its own. */
async function marks(f: Fixture): Promise<readonly Row[]> {
  const rows = await addedRows(f)
  const start = rows.findIndex(([type]) => type.startsWith('budget_'))
  return start < 0 ? [] : rows.slice(start)
}

test('W-BUDGET-05 the checkpoint that crosses the storage limit is kept, and nothing that waited comes before the failure', async () => {
  const f = await withWorker({}, { budget: budget('checkpoint_limit', 500) })
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
  const f = await withWorker({}, { budget: budget('token_limit', 100) })
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  await f.mark()
  unwrap(await f.run.meter(f.id('W'), { tokens: 120 }))
  await f.advance(10 * S)
  await f.expectAdded([])
  unwrap(await f.root.resume(f.id('W')))
  expect(await marks(f)).toEqual([warningRow('W', 'token_limit', 120), ...exceededRows('W', 'token_limit', 120)])
})

test('W-BUDGET-05 budgets act in blocked, and not once the work is handed in', async () => {
  const f = await withWorker({}, { budget: budget('token_limit', 100) })
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
  await f.worker('W', { liveness_interval: 5 * S, budget: { ...limits, compute_budget: { token_limit: 100 } } })
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
  const f = await withWorker({ run: { budget_warning: 50 } }, { budget: budget('token_limit', 100) })
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
    const f = await withWorker()
    expect(refused(await f.run.meter(f.id('W'), usage))).toBe('invalid_argument')
  },
)

test('the meter of a workspace that has ended stands still', async () => {
  const f = await withWorker()
  unwrap(await f.run.meter(f.id('W'), { tokens: 5 }))
  await f.bring('W', 'failed')
  expect(refused(await f.run.meter(f.id('W'), { tokens: 5 }))).toBe('invalid_state')
  expect(refused(await f.run.meter('ws_none' as never, { tokens: 5 }))).toBe('not_found')
  expect(unwrap(await f.root.look(f.id('W'))).meter.tokens).toBe(5)
})

const tokens = (token_limit: number): Budget => ({ compute_budget: { token_limit } })

const modified = (name: string, actor: string, from: number, to: number, dimension = 'token_limit'): Row => [
  'budget_modified',
  name,
  actor,
  { workspace_id: name, budget_dimension: dimension, old_limit: from, new_limit: to },
]

const denied = (name: string, actor: string, target: string, reason: string): Row =>
  denial(name, actor, 'operation:raise_budget', reason, target)

test('W-BUDGET-06 several limits at once, one entry each, all or none', async () => {
  const f = await fixture()
  const budget = { compute_budget: { token_limit: 100, compute_timeout: 1000 }, cost_limit: 1 }
  await f.worker('W', { budget })
  await f.mark()
  unwrap(
    await f.root.raiseBudget(f.id('W'), { compute_budget: { token_limit: 200, compute_timeout: 2000 }, cost_limit: 2 }),
  )
  await f.expectAdded([
    modified('W', 'system', 100, 200),
    modified('W', 'system', 1000, 2000, 'compute_timeout'),
    modified('W', 'system', 1, 2, 'cost_limit'),
  ])
  await f.restart()
  expect(unwrap(await f.root.look(f.id('W'))).limits).toMatchObject({
    token_limit: { limit: 200 },
    compute_timeout: { limit: 2000 },
    cost_limit: { limit: 2 },
  })
})

test('W-BUDGET-06 a raise in time saves the workspace from its limit', async () => {
  const f = await withWorker({}, { budget: { compute_budget: { compute_timeout: 10_000 } } })
  await f.advance(9000)
  unwrap(await f.root.raiseBudget(f.id('W'), { compute_budget: { compute_timeout: 20_000 } }))
  await f.advance(9000)
  expect(await f.state('W')).toBe('active')
  await f.advance(2100)
  expect(await f.state('W')).toBe('failed')
})

test('W-BUDGET-06 a raise brings the next warning nearer than the old limit was', async () => {
  const f = await fixture()
  const limit = (compute_timeout: number) => ({ compute_budget: { compute_timeout } })
  await f.worker('W', { budget: limit(10_000) })
  await f.advance(8500)
  unwrap(await f.root.raiseBudget(f.id('W'), limit(11_000)))
  await f.mark()
  await f.advance(350)
  const [warning] = await addedRows(f)
  expect(warning?.slice(0, 2)).toEqual(['budget_warning', 'W'])
  expect(warning?.[3]).toMatchObject({ limit: 11_000 })
})

test('W-BUDGET-06, -07 a delegate raises inside its own remainder, the root too', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: tokens(1000) })
  await f.worker('C', { budget: tokens(400) }, delegate)
  await f.worker('C2', { budget: tokens(400) }, delegate)
  await f.worker('W', { budget: tokens(100) })
  await f.mark()
  unwrap(await delegate.raiseBudget(f.id('C'), tokens(550)))
  await f.expectAdded([modified('C', 'worker', 400, 550)])
  expect(refused(await delegate.raiseBudget(f.id('C'), tokens(601)))).toBe('containment(containment_violation)')
  await f.expectAdded([denied('D', 'worker', 'C', 'containment_violation')])
  expect(refused(await f.root.raiseBudget(f.id('C'), tokens(601)))).toBe('containment(containment_violation)')
  await f.expectAdded([denied('R', 'system', 'C', 'containment_violation')])
  // Neither itself nor what is not its own.
  for (const target of ['D', 'W']) {
    expect(refused(await delegate.raiseBudget(f.id(target), tokens(5000)))).toBe('permission_denied')
    await f.expectAdded([denied('D', 'worker', target, 'permission_denied')])
  }
  unwrap(await delegate.raiseBudget(f.id('C'), tokens(600)))
})

test('W-BUDGET-06 a user raises through the highway, inside the same bounds', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: tokens(1000) })
  await f.worker('C', { budget: tokens(400) }, delegate)
  await f.mark()
  const user = f.runtime.user('ux')
  unwrap(await user.raiseBudget(f.run.id, f.id('C'), tokens(900)))
  await f.expectAdded([modified('C', 'ux', 400, 900)])
  expect(refused(await user.raiseBudget(f.run.id, f.id('C'), tokens(800)))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(refused(await user.raiseBudget(f.run.id, f.id('C'), tokens(1001)))).toBe('containment(containment_violation)')
  await f.expectAdded([userDenial('ux', 'raise_budget', 'modify_budget', 'containment_violation', 'C')])
})

const wall = (seconds: number) => ({ compute_budget: { wall_time_limit: seconds * S } })

test('W-REC-20 wall time goes on while the runtime is away, and what ran out meanwhile acts during recovery', async () => {
  const f = await withWorker({}, { budget: wall(10) })
  await f.worker('V', { budget: wall(100) })
  unwrap(await f.agent('W').blocked('waiting'))
  await f.advance(5 * S)
  await f.mark()
  await f.restart(() => f.clock.advance(20 * S))
  await f.settle()
  expect(await f.state('W')).toBe('failed')
  const types = (await f.addedWithOutages()).map(({ event_type, workspace }) => [event_type, workspace])
  expect(types).toEqual([
    ['budget_warning', f.id('W')],
    ['budget_exceeded', f.id('W')],
    ['signal_emitted', f.id('W')],
    ['workspace_state_changed', f.id('W')],
    ['signal_delivered', f.id('R')],
    ['recovery_completed', null],
  ])
  expect(Math.round(unwrap(await f.run.remaining(f.id('V'))).wall_time_limit! / S)).toBe(75)
})
