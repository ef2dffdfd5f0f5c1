import { expect, test } from 'vitest'
import {
  clampRS,
  computePayout,
  computePayoutUnits,
  freshnessMultiplier,
  meetsTier,
  normalizeOnChainScore,
  reputationScore,
} from './reputation.ts'

test('ALX-SETTLE-09 score, reputation, freshness and tiers follow their formulas', () => {
  expect(
    [
      [0, 0],
      [100, 2],
      [900, 9],
    ].map(([queryVolume = 0, endorsements = 0]) => reputationScore({ queryVolume, endorsements })),
  ).toEqual([0, 240, 600])
  expect([-1, 0, 1000, 2000].map(normalizeOnChainScore)).toEqual([0.01, 0.01, 3, 3])
  expect(normalizeOnChainScore(500)).toBeCloseTo(1.505, 12)
  expect([-1, 2, 9].map(clampRS)).toEqual([0.01, 2, 3])
  const nowMs = Date.parse('2026-03-01T00:00:00.000Z')
  expect(freshnessMultiplier('2026-03-02T00:00:00.000Z', nowMs)).toBe(1)
  expect(freshnessMultiplier('2026-01-30T00:00:00.000Z', nowMs)).toBe(0.5)
  expect(freshnessMultiplier(new Date(Date.now() + 60_000).toISOString())).toBe(1)
  expect(() => freshnessMultiplier('yesterday', nowMs)).toThrow(RangeError)
  expect([computePayout(1, 0.5, 0.3333333), computePayout(-1, 1, 1), computePayout(10, 9, 1)]).toEqual([
    0.166667, 0, 30,
  ])
  const tiers = [0, 0.49, 0.5, 1, 2].map(rs => [0, 1, 2, 3, 4, -1, 0.5].filter(tier => meetsTier(rs, tier)))
  expect(tiers).toEqual([[0], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3]])
})

test('ALX-SETTLE-09 integer payouts stay within a millionth of the advisory floats, and refuse what is no score', () => {
  for (let days = 0; days < 120; days += 7) {
    const units = computePayoutUnits({ base: '1000000000000', score: 437, publishedMs: 0, nowMs: days * 86_400_000 })
    const float = normalizeOnChainScore(437) * 0.5 ** (days / 30)
    expect(Math.abs(Number(units) / 1e12 - float)).toBeLessThan(1e-6)
  }
  const wrong = { base: '1', score: 1001, publishedMs: 0, nowMs: 0 }
  expect(() => computePayoutUnits(wrong)).toThrow(RangeError)
  expect(() => computePayoutUnits({ ...wrong, score: 0.5 })).toThrow(RangeError)
})
