import { spentIn } from '@parley/core'
import { expect, test } from 'vitest'
import { float, type WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { declaredCost, overWorkgroupCap, workgroupCap } from './workgroup-cap.ts'

test('ALP-BUD-04 a budget is left out, or has a max_usd above zero', () => {
  expect(workgroupCap(undefined)).toEqual({ ok: true, value: undefined })
  expect(workgroupCap(null)).toEqual({ ok: true, value: undefined })
  expect(workgroupCap({ max_usd: 5 })).toEqual({ ok: true, value: 5 })
  const error = { code: 'invalid_budget' }
  for (const max_usd of [undefined, 0, -1, '5', Number.NaN])
    expect(workgroupCap({ max_usd }), String(max_usd)).toMatchObject({ ok: false, error })
  for (const budget of [{}, { max_tokens: 5 }, 5, 'x', []])
    expect(workgroupCap(budget), JSON.stringify(budget)).toMatchObject({ ok: false, error })
})

test('ALP-BUD-05 a post is refused at the cap and above it; reaching it exactly is admitted once', () => {
  expect(overWorkgroupCap(undefined, 1e9, 1e9)).toBeUndefined()
  expect(overWorkgroupCap(5, 4, 1)).toBeUndefined()
  expect(overWorkgroupCap(5, 4.5, 0)).toBeUndefined()
  const { code, message, data } = overWorkgroupCap(5, 4, 1.5)!
  expect(wireText({ code, message, data })).toBe(
    '{"code":-32005,"message":"budget-exceeded","data":{"cap_kind":"workgroup_usd","cap":5.0,"used":4.0,"declared":1.5}}',
  )
  expect(overWorkgroupCap(5, 5, 0)).toMatchObject({ data: { declared: float(0) } })
})

test('ALP-BUD-06 what an author declares counts at face value, and what is no finite sum counts nothing', () => {
  expect(declaredCost({ usd: 0.0125, tokens: 1500 })).toEqual({ usd: 0.0125, tokens: 1500 })
  expect(declaredCost({ usd: 5000.5, tokens: 200_000_000 })).toEqual({ usd: 5000.5, tokens: 200_000_000 })
  expect(declaredCost({ usd: 1, tokens: 10n ** 30n }).tokens).toBe(Number.MAX_SAFE_INTEGER)
  for (const usd of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN])
    expect(declaredCost({ usd: float(usd), tokens: 1 })).toEqual({ usd: 0, tokens: 1 })
  const odd: WireValue[] = [
    { usd: '5', tokens: '5' },
    { usd: -1, tokens: -1 },
    { usd: true, tokens: 1.5 },
  ]
  for (const cost of [undefined, null, 5, [], {}, ...odd])
    expect(declaredCost(cost), String(cost)).toEqual({ usd: 0, tokens: 0 })
})

test('ALP-BUD-07 what a turn used is what a post declares', () => {
  expect(spentIn({ usd: 0.5, tokensIn: 10, tokensOut: 5 })).toEqual({ usd: 0.5, tokens: 15 })
  expect(spentIn({})).toEqual({ usd: 0, tokens: 0 })
})
