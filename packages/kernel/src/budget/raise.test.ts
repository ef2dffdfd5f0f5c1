// Higher limits (W-BUDGET-06): who may raise them, when, and how far.
import { unwrap } from '@parley/core'
import type { Budget } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { addedRows } from '../testing/budgets.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const tokens = (token_limit: number): Budget => ({ compute_budget: { token_limit } })

const modified = (name: string, actor: string, from: number, to: number, dimension = 'token_limit'): Row => [
  'budget_modified',
  name,
  actor,
  { workspace_id: name, budget_dimension: dimension, old_limit: from, new_limit: to },
]

const denied = (name: string, actor: string, target: string, reason: string): Row =>
  denial(name, actor, 'operation:raise_budget', reason, target)

test.each([
  ['idle', 'ok'],
  ['active', 'ok'],
  ['blocked', 'ok'],
  ['suspended', 'invalid_state'],
  ['migrating', 'invalid_state'],
  ['integrating', 'invalid_state'],
  ['conflicted', 'invalid_state'],
  ['closed', 'invalid_state'],
  ['failed', 'invalid_state'],
])('W-LIFE-04 a budget is raised in %s: %s', async (state, answer) => {
  const f = await fixture()
  await (state === 'idle' ? f.workspace('W', { budget: tokens(100) }) : f.worker('W', { budget: tokens(100) }))
  await f.force('W', state)
  expect(refused(await f.root.raiseBudget(f.id('W'), tokens(200)))).toBe(answer)
})

test('W-BUDGET-06 several limits at once, one entry each, all or none', async () => {
  const f = await fixture()
  const budget = { compute_budget: { token_limit: 100, compute_timeout: 1000 }, cost_limit: 1 }
  await f.worker('W', { budget })
  await f.mark()
  unwrap(
    await f.root.raiseBudget(f.id('W'), {
      compute_budget: { token_limit: 200, compute_timeout: 2000 },
      cost_limit: 2,
    }),
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
  const f = await fixture()
  await f.worker('W', { budget: { compute_budget: { compute_timeout: 10_000 } } })
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
  await f.expectAdded([
    [
      'capability_denied',
      null,
      'ux',
      {
        user_id: 'ux',
        capability: 'modify_budget',
        action: 'raise_budget',
        target: 'C',
        reason: 'containment_violation',
      },
    ],
  ])
})
