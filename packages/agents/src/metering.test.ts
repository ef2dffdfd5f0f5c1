import { ManualClock, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { functionAdapter } from './function.ts'
import { laterUsage, sumUsage, usageOf } from './metering.ts'
import { Workshop } from './testing/workshop.ts'

test('only what can be a measurement is one', () => {
  expect(usageOf({ tokensIn: 0, tokensOut: 3, tokensCached: 1.5, usd: 0.25 })).toEqual({
    tokensIn: 0,
    tokensOut: 3,
    usd: 0.25,
  })
  expect(usageOf({ tokensIn: -1, tokensOut: Number.NaN, tokensCached: '5', usd: Number.POSITIVE_INFINITY })).toEqual({})
})

test('what was not measured stays unmeasured, and 0 is a measurement', () => {
  expect(sumUsage({ tokensIn: 1 }, { tokensIn: 2, usd: 0 })).toEqual({ tokensIn: 3, usd: 0 })
  expect(laterUsage({ tokensIn: 5, usd: 1 }, { tokensIn: 7 })).toEqual({ tokensIn: 7, usd: 1 })
})

test('the time of a turn is that of the injected clock, and never negative', async () => {
  const shop = new Workshop()
  const clock = new ManualClock()
  const slow = functionAdapter('slow', () => void clock.advance(1500), { clock })
  expect((await slow.takeTurn(shop.input(), () => {})).meter).toEqual({ wallMs: 1500, outputBytes: 0 })
  const back = functionAdapter(
    'back',
    () => {
      clock.set(0 as Ticks)
      return 'text'
    },
    { clock },
  )
  expect((await back.takeTurn(shop.input(), () => {})).meter).toEqual({ wallMs: 0, outputBytes: 4 })
})
