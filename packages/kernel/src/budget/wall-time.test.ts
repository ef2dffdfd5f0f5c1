// The limit of wall time (§6.6, W-BUDGET-02): it runs in `active` and `blocked`, whoever waits for what, and while the runtime is away.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { addedRows, exceededRows, pass, S, warningRow } from '../testing/budgets.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

const wall = (seconds: number) => ({ compute_budget: { wall_time_limit: seconds * S } })
const marks = async (f: Fixture) => (await addedRows(f)).filter(([type]) => type.startsWith('budget_'))

test('WX-022 a blocked workspace is warned and fails at its wall time; suspension, migration and idleness do not count', async () => {
  const f = await fixture()
  await f.workspace('W', {
    budget: wall(100),
    directive: { format: 'markdown', content: 'work' },
    dispatch: false,
  })
  await pass(f, 500 * S)
  unwrap(await f.root.dispatch(f.id('W')))
  await f.settle()
  const agent = f.agent('W')
  unwrap(await agent.consume())
  await pass(f, 30 * S)
  unwrap(await agent.blocked('waiting'))
  await pass(f, 40 * S)
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  await pass(f, 300 * S)
  unwrap(await f.root.resume(f.id('W')))
  await f.mark()
  await pass(f, 9.9 * S)
  expect(await marks(f)).toEqual([])
  await pass(f, 0.2 * S)
  expect(await marks(f)).toEqual([warningRow('W', 'wall_time_limit', 80 * S, 100 * S)])
  await f.bring('W', 'migrating')
  await pass(f, 300 * S)
  expect(await f.state('W')).toBe('migrating')
  expect(unwrap(await f.run.remaining(f.id('W'))).wall_time_limit).toBeGreaterThan(19 * S)
})

test('WX-022 the limit acts in active as in blocked, and ends the work once', async () => {
  const f = await fixture()
  await f.worker('W', { budget: wall(10) })
  await f.mark()
  await pass(f, 10.1 * S)
  const rows = await addedRows(f)
  expect(rows).toEqual([
    warningRow('W', 'wall_time_limit', 8 * S, 10 * S),
    ...exceededRows('W', 'wall_time_limit', 10 * S, 10 * S),
  ])
})

test('WX-022 wall time goes on while the runtime is away, and what ran out meanwhile acts during recovery', async () => {
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

test('WX-023 the wall time of everything below a delegate counts against its limit, and children get what is left', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true, budget: wall(100) })
  expect(refused(await delegate.createWorkspace({ role: 'worker', budget: wall(101) }))).toBe(
    'containment(containment_violation)',
  )
  await pass(f, 10 * S)
  const child = await f.worker('C', { budget: wall(60) }, delegate)
  const rest = await f.workspace('E', {}, delegate)
  const { wall_time_limit: left } = unwrap(await rest.look()).limits
  expect(Math.round(left!.limit / S)).toBe(30)
  unwrap(await child.blocked('waiting'))
  await f.mark()
  // D and C together: 10 + 2 × 35 = 80.
  await pass(f, 34.9 * S)
  expect(await marks(f)).toEqual([])
  await pass(f, 0.2 * S)
  expect(await marks(f)).toEqual([warningRow('D', 'wall_time_limit', 80 * S, 100 * S)])
  unwrap(await f.root.raiseBudget(f.id('D'), wall(200)))
  await pass(f, 12 * S)
  expect(await marks(f)).toMatchObject([
    ['budget_modified', 'D', 'system', { budget_dimension: 'wall_time_limit', new_limit: 200 * S }],
  ])
  expect(await f.state('D')).toBe('active')
})
