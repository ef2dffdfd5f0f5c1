// What agents used over all runs, and what turns at work have used so far.
import { type Ticks, type TurnEvent, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { aborted, Fixture, planned, solo } from '../testing/fixture.ts'

const usage = { tokensIn: 90, tokensOut: 10, usd: 0.25 }

test('each agent has what its turns of a day used, over all runs and in another node; turns at work have what they used so far', async () => {
  const working = Promise.withResolvers<void>()
  const spends = (_: unknown, emit: (event: TurnEvent) => void) => {
    emit({ type: 'usage', usage })
    return 'done'
  }
  const fixture = await Fixture.open({
    one: spends,
    two: (input, emit) => {
      spends(input, emit)
      working.resolve()
      return aborted(input)
    },
  })
  const since = (from: number) => fixture.coordinator.usage.since(from as Ticks)
  await fixture.finished(planned('{ id: a, agent: one, prompt: x, check: ["true"] }'))
  await fixture.finished(solo('one'))
  const one = { agent: 'one', usage: { turns: 2, tokens_in: 180, tokens_out: 20, usd: 0.5 } }
  expect(await since(0)).toMatchObject({ agents: [one], turns: [] })
  const run = await fixture.solve(`${planned('{ id: b, agent: two, prompt: x, budget: { cost: 5, tokens: 1000 } }')}`)
  await working.promise
  const turn = { run, task: 'b', agent: 'two#1', usage: { turns: 1, tokens_in: 90, tokens_out: 10, usd: 0.25 } }
  expect(await since(0)).toMatchObject({ agents: [one], turns: [turn] })
  // The limits of a run at work count it as well.
  const budgets = unwrap(await fixture.coordinator.budgets.list(run)).filter(({ task }) => task === 'b')
  expect(Object.fromEntries(budgets.map(({ dimension, used }) => [dimension, used]))).toEqual({
    cost_limit: 0.25,
    token_limit: 100,
  })
  await fixture.abort(run, { reason: 'enough' })
  await fixture.over(run)
  await fixture.restart()
  // What the turn that was ended had used is on record too.
  const two = { agent: 'two', usage: { turns: 1, tokens_in: 90, usd: 0.25 } }
  expect(await since(0)).toMatchObject({ agents: [one, two], turns: [] })
  expect(await since(Date.now() * 1000 + 3_600_000_000)).toEqual({ agents: [], turns: [] })
})
