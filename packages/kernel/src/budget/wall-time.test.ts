// The limit of wall time (§6.6, W-BUDGET-02): it runs in `active` and `blocked`, whoever waits for what, and while the
// runtime is away.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { S } from '../testing/budgets.ts'
import { fixture } from '../testing/fixture.ts'

const wall = (seconds: number) => ({ compute_budget: { wall_time_limit: seconds * S } })

test('W-REC-20 wall time goes on while the runtime is away, and what ran out meanwhile acts during recovery', async () => {
  const f = await fixture()
  await f.worker('W', { budget: wall(10) })
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
