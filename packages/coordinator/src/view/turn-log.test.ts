// Following one agent: its steps, and what it says and uses meanwhile.
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { aborted, Fixture, planned } from '../testing/fixture.ts'
import { followTurns, type LogItem } from './turn-log.ts'

test('one task is followed to its end: steps, tools and words in order, nothing of other tasks', async () => {
  const go = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: async (_input, emit) => {
      await go.promise
      emit({ type: 'tool', name: 'Bash', state: 'started', summary: 'npm test' })
      emit({ type: 'text', text: 'All green.' })
      return 'done'
    },
    two: async (_input, emit) => {
      emit({ type: 'text', text: 'of another' })
      return 'other'
    },
  })
  const run = await fixture.solve(
    planned('{ id: a, title: A, agent: one, prompt: x }', '{ id: b, title: B, agent: two, prompt: x }'),
  )
  const items: LogItem[] = []
  for await (const item of followTurns(fixture.coordinator, run, { task: 'a' })) {
    items.push(item)
    if (item.type === 'step') go.resolve()
  }
  const told = items.map(each =>
    each.type === 'step' ? each.step.outcome : each.type === 'tool' ? each.name : each.type,
  )
  expect(told.filter((each, index) => each !== told[index - 1])).toEqual(['working', 'Bash', 'text', 'complete'])
  await fixture.over(run)
  // After the end there is only the record.
  const after: string[] = []
  for await (const item of followTurns(fixture.coordinator, run as RunId, { task: 'b' })) after.push(item.type)
  expect(after).toEqual(['step'])
  unwrap(await fixture.coordinator.views.view(run))
})

test('whoever comes later is told first what the turn at work has said from its beginning', async () => {
  const fixture = await Fixture.open({
    one: async (input, emit) => {
      for (const text of ['first', 'second']) emit({ type: 'text', text })
      return aborted(input)
    },
  })
  const run = await fixture.solve(planned('{ id: a, agent: one, prompt: x }'))
  await fixture.until(run, ({ tasks }) => tasks[0]?.activity === 'second')
  const items: LogItem[] = []
  for await (const item of followTurns(fixture.coordinator, run, { task: 'a', now: true })) items.push(item)
  expect(items.map(each => (each.type === 'text' ? each.text : each.type))).toEqual(['step', 'first', 'second'])
  await fixture.abort(run, { reason: 'enough' })
  await fixture.over(run)
  expect(fixture.coordinator.listeners.recent(run).events).toEqual([])
})
