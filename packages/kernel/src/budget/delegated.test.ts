// Delegated budgets (W-BUDGET-07, W-WS-11, W-TOPO-TREE-04): what a delegate may hand on, what it is charged with, what
// its end brings; and what a group used (W-WS-19).
import { unwrap } from '@parley/core'
import type { Budget } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { addedRows, pass, S } from '../testing/budgets.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

const tokens = (token_limit: number): Budget => ({ compute_budget: { token_limit } })

async function asks(by: AgentHandle, budget?: Budget): Promise<string> {
  return refused(await by.createWorkspace({ role: 'worker', ...(budget && { budget }) }))
}

const limits = async (f: Fixture, name: string) => unwrap(await f.root.look(f.id(name))).limits

test('W-BUDGET-07 a child’s own exhaustion leaves its delegate at work', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: tokens(1000) })
  await f.worker('C', { budget: tokens(100) }, delegate)
  unwrap(await f.run.meter(f.id('C'), { tokens: 100 }))
  await f.settle()
  expect([await f.state('C'), await f.state('D')]).toEqual(['failed', 'active'])
  expect(await limits(f, 'D')).toEqual({ token_limit: { limit: 1000, consumed: 100 } })
})

test('W-TOPO-TREE-04 the root imposes nothing, and neither does a delegate without that limit', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: { cost_limit: 5 } })
  expect(await asks(f.root, tokens(1e9))).toBe('ok')
  await f.worker('C', { budget: tokens(1e9) }, delegate)
  expect(await limits(f, 'C')).toEqual({
    token_limit: { limit: 1e9, consumed: 0 },
    cost_limit: { limit: 5, consumed: 0 },
  })
})

test('W-BUDGET-07 a delegate of a delegate: use counts at every level, and the raise of one is bounded by the one above', async () => {
  const f = await fixture()
  await f.worker('D', { delegate: true, budget: tokens(1000) })
  await f.worker('D2', { delegate: true, parent: f.id('D'), budget: tokens(500) })
  await f.worker('C', { budget: tokens(300) }, f.agent('D2'))
  unwrap(await f.run.meter(f.id('C'), { tokens: 100 }))
  unwrap(await f.run.meter(f.id('D2'), { tokens: 50 }))
  expect(await limits(f, 'D2')).toEqual({ token_limit: { limit: 500, consumed: 150 } })
  expect(await limits(f, 'D')).toEqual({ token_limit: { limit: 1000, consumed: 150 } })
  // 500 - 50 - 300
  expect(await asks(f.agent('D2'), tokens(151))).toBe('containment(containment_violation)')
  expect(await asks(f.agent('D2'), tokens(150))).toBe('ok')
  // 1000 - 500
  expect(refused(await f.root.raiseBudget(f.id('D2'), tokens(1001)))).toBe('containment(containment_violation)')
  expect(refused(await f.root.raiseBudget(f.id('D2'), tokens(1000)))).toBe('ok')
  await f.restart()
  expect(await limits(f, 'D')).toEqual({ token_limit: { limit: 1000, consumed: 150 } })
})

test('W-BUDGET-07 compute time of everybody below counts, and runs faster the more are at work', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: { compute_budget: { compute_timeout: 100 * S } } })
  await f.worker('C', { budget: { compute_budget: { compute_timeout: 60 * S } } }, delegate)
  await f.mark()
  // Two at once: 80 s of work after 40 s.
  await pass(f, 39.9 * S)
  await f.expectAdded([])
  await pass(f, 0.2 * S)
  expect((await addedRows(f)).map(row => [row[0], row[1], row[3]?.consumed])).toEqual([['budget_warning', 'D', 80 * S]])
  unwrap(await f.agent('C').blocked('waiting'))
  await f.mark()
  await pass(f, 19 * S)
  await f.expectAdded([])
  await pass(f, 1 * S)
  expect((await addedRows(f))[0]).toEqual([
    'budget_exceeded',
    'D',
    'protocol',
    { workspace_id: 'D', budget_dimension: 'compute_timeout', consumed: 100 * S, limit: 100 * S },
  ])
  expect(await f.state('C')).toBe('failed')
})

test('W-BUDGET-02 the live context of a child that has ended is gone from its delegate’s', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: { memory_budget: { context_limit: 1000 } } })
  await f.worker('C', { budget: { memory_budget: { context_limit: 900 } } }, delegate)
  unwrap(await f.run.meter(f.id('C'), { context: 600 }))
  unwrap(await f.run.meter(f.id('D'), { context: 100 }))
  expect(await limits(f, 'D')).toEqual({ context_limit: { limit: 1000, consumed: 700 } })
  unwrap(await f.run.meter(f.id('C'), { context: 200 }))
  expect(await limits(f, 'D')).toEqual({ context_limit: { limit: 1000, consumed: 300 } })
  unwrap(await f.root.abort(f.id('C')))
  expect(await limits(f, 'D')).toEqual({ context_limit: { limit: 1000, consumed: 100 } })
  expect(await asks(delegate, { memory_budget: { context_limit: 900 } })).toBe('ok')
})

test('W-BUDGET-07 bytes of children count where only their delegate limits them', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: { storage_budget: { checkpoint_limit: 5000 } } })
  await f.worker('C', {}, delegate)
  await f.mark()
  unwrap(await f.checkpoint('C', { payload: { content: 'x'.repeat(4000) } }))
  await f.settle()
  const used = unwrap(await f.agent('C').meter()).checkpoint_bytes
  expect(used).toBeGreaterThan(4000)
  expect(await limits(f, 'D')).toEqual({ checkpoint_limit: { limit: 5000, consumed: used } })
  await f.expectAmong([['budget_warning', 'D', 'protocol', { consumed: used }]])
})

test('W-WS-13 an orphan takes its use along, and fits below its new parent or stays where it is', async () => {
  const f = await fixture()
  await f.worker('D0', { delegate: true, budget: tokens(10_000) })
  await f.worker('D', { delegate: true, parent: f.id('D0'), budget: tokens(1000) })
  await f.worker('C', { budget: tokens(500), owner: 'uy' }, f.agent('D'))
  unwrap(await f.run.meter(f.id('C'), { tokens: 300 }))
  expect(await limits(f, 'D0')).toEqual({ token_limit: { limit: 10_000, consumed: 300 } })
  unwrap(await f.root.abort(f.id('D')))
  expect(await f.run.read(run => run.workspaces.get(f.id('C'))?.parent === run.root)).toBe(true)
  expect(await limits(f, 'D0')).toEqual({ token_limit: { limit: 10_000, consumed: 0 } })
  await f.worker('E1', { delegate: true, owner: 'uy', budget: tokens(700) })
  await f.worker('K', { budget: tokens(201) }, f.agent('E1'))
  await f.worker('E2', { delegate: true, owner: 'uy', budget: { ...tokens(700), cost_limit: 5 } })
  await f.worker('E3', { delegate: true, owner: 'uy', budget: tokens(700) })
  for (const parent of ['E1', 'E2'])
    expect(refused(await f.root.reparent(f.id('C'), f.id(parent)))).toBe('containment(containment_violation)')
  unwrap(await f.root.reparent(f.id('C'), f.id('E3')))
  expect(await limits(f, 'E3')).toEqual({ token_limit: { limit: 700, consumed: 300 } })
  unwrap(await f.run.meter(f.id('C'), { tokens: 10 }))
  expect(await limits(f, 'E3')).toEqual({ token_limit: { limit: 700, consumed: 310 } })
})

test('what is left to a workspace is the least of what it and the delegates above it have', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, timeout: 100 * S, budget: { ...tokens(100), cost_limit: 1 } })
  await f.worker('C', { timeout: 500 * S, budget: tokens(90) }, delegate)
  unwrap(await f.run.meter(f.id('D'), { tokens: 5, cost: 0.75 }))
  await f.advance(10 * S)
  expect(unwrap(await f.run.remaining(f.id('C')))).toEqual({ timeout: 90 * S, token_limit: 90, cost_limit: 0.25 })
  expect(unwrap(await f.run.remaining(f.id('R')))).toEqual({ timeout: null })
  expect(unwrap(await delegate.remaining())).toMatchObject({ token_limit: 95 })
  expect(refused(await f.run.remaining('ws_none' as never))).toBe('not_found')
})

const budget = { compute_budget: { token_limit: 1000 } }

test('W-WS-19 use, reports and warnings are summed by group', async () => {
  const f = await fixture()
  await f.worker('A', { group: 'g', budget })
  await f.worker('B', { group: 'g', budget })
  await f.worker('C', { group: 'h', budget })
  await f.worker('N', { budget })
  for (const [name, tokens] of [
    ['A', 100],
    ['B', 850],
    ['C', 40],
    ['N', 7],
  ] as const) {
    unwrap(await f.run.meter(f.id(name), { tokens, cost: tokens / 1000 }))
    await f.settle()
    const { unreported } = unwrap(await f.agent(name).look())
    unwrap(await f.checkpoint(name, { resource_usage: unreported }))
  }
  await f.bring('A', 'failed')
  const { topology } = f.run
  expect(unwrap(await topology.groupUsage('g'))).toMatchObject({ members: 2, tokens: 950, cost: 0.95, warned: 1 })
  expect(unwrap(await topology.groupUsage('h'))).toMatchObject({ members: 1, tokens: 40, warned: 0 })
  expect(refused(await topology.groupUsage('none'))).toBe('not_found')

  const sumBy = async (event_type: string, sum: string) => {
    const { rows } = unwrap(await f.root.aggregate({ filter: { event_type }, group: 'group', sum }))
    return Object.fromEntries(rows.map(row => [String(row.key), row.sum]))
  }
  expect(await sumBy('checkpoint_created', 'resource_usage.tokens_consumed')).toEqual({ g: 950, h: 40, null: 7 })
  expect(await sumBy('budget_warning', 'consumed')).toEqual({ g: 850 })
})
