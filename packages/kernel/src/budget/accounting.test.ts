// What a group used (W-WS-19): the meters of its members, and what its entries say, each summed.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'

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
  expect(unwrap(await topology.groupUsage('g'))).toMatchObject({
    members: 2,
    tokens: 950,
    cost: 0.95,
    warned: 1,
  })
  expect(unwrap(await topology.groupUsage('h'))).toMatchObject({ members: 1, tokens: 40, warned: 0 })
  expect(refused(await topology.groupUsage('none'))).toBe('not_found')

  const sumBy = async (event_type: string, sum: string) => {
    const { rows } = unwrap(await f.root.aggregate({ filter: { event_type }, group: 'group', sum }))
    return Object.fromEntries(rows.map(row => [String(row.key), row.sum]))
  }
  expect(await sumBy('checkpoint_created', 'resource_usage.tokens_consumed')).toEqual({
    g: 950,
    h: 40,
    null: 7,
  })
  expect(await sumBy('budget_warning', 'consumed')).toEqual({ g: 850 })
})

test('W-CLOCK-09 the runtime says which clock it goes by, its tick and its unit of durations', async () => {
  const f = await fixture()
  expect(f.runtime.clock.info()).toEqual({ source: 'manual', tick: '1us', duration_unit: 'ms' })
})
