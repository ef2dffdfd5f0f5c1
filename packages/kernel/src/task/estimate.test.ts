// Estimates and priorities of tasks (W-TASK-17, -18): checked when they are submitted, and no limit ever.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'

const task = (resource_estimate: object, extra: object = {}) => [
  { name: 'T', description: 'x', resource_estimate, ...extra },
]

test('WP-065 an estimate is checked, an urgent task makes its workspace critical, and exceeding it changes nothing', async () => {
  const f = await fixture()
  for (const bad of [{ tokens: -1 }, { tokens: 1.5 }, { wall_time: 0 }, { cost: -0.1 }, { tokens: 'ten' }])
    expect(refused(await f.root.submitGraph(task(bad) as never))).toBe('invalid_argument')
  await f.expectAdded([])

  const estimate = { tokens: 100, wall_time: 1000, cost: 0 }
  const { tasks } = unwrap(await f.root.submitGraph(task(estimate, { priority: 'urgent' }) as never))
  expect(unwrap(await f.root.task(tasks[0]!)).resource_estimate).toEqual(estimate)
  await f.worker('W', { task: tasks[0]!, directive: null })
  expect(unwrap(await f.root.look(f.id('W'))).priority).toBe('critical')
  unwrap(await f.agent('W').started())
  await f.mark()
  unwrap(await f.run.meter(f.id('W'), { tokens: 100_000, cost: 50 }))
  await f.advance(60_000)
  await f.expectAdded([])
  expect(await f.state('W')).toBe('active')
  expect(unwrap(await f.root.task(tasks[0]!)).status).toBe('in_progress')
})

test.each([
  ['normal', 'normal'],
  ['elevated', 'interactive'],
  ['urgent', 'critical'],
])(
  'WP-065 a task of priority %s gives its workspace %s, unless its creator says otherwise',
  async (priority, inherited) => {
    const f = await fixture()
    const drafts = [0, 1].map(index => ({ name: `T${index}`, description: 'x', priority }))
    const { tasks } = unwrap(await f.root.submitGraph(drafts as never))
    await f.worker('W', { task: tasks[0]!, directive: null })
    await f.worker('V', { task: tasks[1]!, directive: null, priority: 'background' })
    expect(unwrap(await f.root.look(f.id('W'))).priority).toBe(inherited)
    expect(unwrap(await f.root.look(f.id('V'))).priority).toBe('background')
  },
)
