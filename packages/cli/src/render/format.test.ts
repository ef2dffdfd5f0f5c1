import type { Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { NO_USAGE } from '../testing/views.ts'
import { ago, between, bytes, count, duration, moment, money, spend, spendInFull } from './format.ts'

const now = (Date.UTC(2026, 0, 2) * 1000) as Ticks

test('durations have two units at most', () => {
  const of = (...ms: number[]) => ms.map(duration)
  expect(of(0, 450, 9_999, 12_345)).toEqual(['0.0s', '0.4s', '9.9s', '12s'])
  expect(of(65_000, 3_600_000, 7_380_000)).toEqual(['1m05s', '1h00m', '2h03m'])
  expect(of(273_600_000, -5)).toEqual(['3d04h', '0.0s'])
})

test('times are told from now, or in UTC', () => {
  expect(ago('2026-01-01T23:59:30.000000Z', now)).toBe('just now')
  expect(ago('2026-01-01T23:30:00.000000Z', now)).toBe('30m ago')
  expect(ago('2026-01-01T01:00:00.000000Z', now)).toBe('23h ago')
  expect(ago('2025-12-20T00:00:00.000000Z', now)).toBe('13d ago')
  expect(moment('2026-01-01T12:03:04.567890Z')).toBe('2026-01-01 12:03:04 UTC')
  expect(between('2026-01-01T23:59:59.000000Z', undefined, now)).toBe(1000)
  expect(between(undefined, undefined, now)).toBeUndefined()
})

test('numbers, bytes and money are short', () => {
  expect([0, 950, 1200, 12_345, 999_960, 3_400_000].map(count)).toEqual(['0', '950', '1.2k', '12.3k', '1M', '3.4M'])
  expect([12, 2048, 3_565_158].map(bytes)).toEqual(['12 B', '2 KiB', '3.4 MiB'])
  expect([0, 0.001, 0.02, 1.5].map(money)).toEqual(['$0.00', '<$0.01', '$0.02', '$1.50'])
})

test('spend is what the agents told, and nothing where they did not', () => {
  expect(spend(NO_USAGE)).toBe('')
  expect(spend({ ...NO_USAGE, tokens_in: 1000, tokens_out: 500 })).toBe('1.5k tok')
  expect(spend({ ...NO_USAGE, tokens_in: 1000, usd: 0.1 })).toBe('$0.10')
  expect(spendInFull({ ...NO_USAGE, tokens_in: 1200, tokens_out: 300, tokens_cached: 800, usd: 0.02 })).toBe(
    '1.2k tokens in (800 cached), 300 out · $0.02',
  )
})
