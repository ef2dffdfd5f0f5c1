import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deadline, durationMs, formatTimestamp, isTicks, isTimestamp, parseTimestamp, type Ticks } from './timestamp.ts'

const someTicks = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }).map(value => value as Ticks)
const ticks = (value: number) => value as Ticks

describe('W-CLOCK-08: the form of a timestamp', () => {
  test.each([
    [0, '1970-01-01T00:00:00.000000Z'],
    [1, '1970-01-01T00:00:00.000001Z'],
    [1_772_355_900_000_042, '2026-03-01T09:05:00.000042Z'],
    [1_772_355_900_999_999, '2026-03-01T09:05:00.999999Z'],
    [1_709_164_800_000_000, '2024-02-29T00:00:00.000000Z'],
    [Number.MAX_SAFE_INTEGER, '2255-06-05T23:47:34.740991Z'],
  ])('%d is %s', (value, text) => {
    expect(formatTimestamp(ticks(value))).toBe(text)
    expect(parseTimestamp(text)).toBe(value)
  })

  test('writing and reading give back the same instant, in any order of instants', () => {
    fc.assert(fc.property(someTicks, value => parseTimestamp(formatTimestamp(value)) === value))
  })

  test('neighbouring instants are written as Date writes them, with microseconds behind', () => {
    const near = fc.tuple(someTicks, fc.array(fc.integer({ min: -3_000_000, max: 3_000_000 }), { maxLength: 20 }))
    fc.assert(
      fc.property(near, ([start, steps]) => {
        for (const step of steps) {
          const value = start + step
          if (!isTicks(value)) continue
          const milliseconds = Number(BigInt(value) / 1000n)
          const micros = String(BigInt(value) % 1000n).padStart(3, '0')
          const text = `${new Date(milliseconds).toISOString().slice(0, 23)}${micros}Z`
          expect(formatTimestamp(value)).toBe(text)
          expect(parseTimestamp(text)).toBe(value)
        }
      }),
    )
  })

  test('the ends of a millisecond and of a second are no special places', () => {
    const texts = [0, 999, 1000, 999_999, 1_000_000, 999_000].map(value => formatTimestamp(ticks(value)).slice(17))
    expect(texts).toEqual(['00.000000Z', '00.000999Z', '00.001000Z', '00.999999Z', '01.000000Z', '00.999000Z'])
  })

  test('order as text is order in time', () => {
    fc.assert(fc.property(someTicks, someTicks, (a, b) => formatTimestamp(a) < formatTimestamp(b) === a < b))
  })

  test.each([
    '2026-03-01T09:05:00.00004Z',
    '2026-03-01T09:05:00.0000420Z',
    '2026-03-01T09:05:00.000042z',
    '2026-03-01T09:05:00.000042ZZ',
    '2026-03-01 09:05:00.000042Z',
    '2026-03-01T09:05:00,000042Z',
    '2026-03-01T09:05:00.000042+',
    '2026-02-29T00:00:00.000000Z',
    '2026-02-31T00:00:00.000000Z',
    '2026-13-01T00:00:00.000000Z',
    '2026-00-01T00:00:00.000000Z',
    '2026-01-01T24:00:00.000000Z',
    '2026-01-01T23:60:00.000000Z',
    '2016-12-31T23:59:60.000000Z',
    '1969-12-31T23:59:59.999999Z',
    '2255-06-05T23:47:34.740992Z',
    '2026-03-01T09:05:00.0000 2Z',
    '2026-03-01T09:05:00.00004aZ',
    '2026-03-01T09:05:00.000-42Z',
    '+002026-03-01T09:05:00.042Z',
    '',
  ])('%s is refused, also right after its neighbour was read', text => {
    expect(parseTimestamp(text)).toBeUndefined()
    expect(parseTimestamp('2026-03-01T09:05:00.000041Z')).toBe(1_772_355_900_000_041)
    expect(isTimestamp(text)).toBe(false)
  })

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    '%d is no tick count and is not written',
    value => {
      formatTimestamp(ticks(0))
      expect(isTicks(value)).toBe(false)
      expect(() => formatTimestamp(ticks(value))).toThrow(expect.objectContaining({ code: 'invalid_timestamp' }))
    },
  )

  test('only text is a timestamp', () => {
    expect(isTimestamp(1_772_355_900_000_042)).toBe(false)
    expect(isTimestamp('2026-03-01T09:05:00.000042Z')).toBe(true)
  })
})

describe('W-CLOCK-04: durations', () => {
  test.each([
    [0, 999, 0],
    [0, 1000, 1],
    [1, 1000, 0],
    [0, 1999, 1],
    [1000, 0, -1],
    [1, 0, -1],
    [0, Number.MAX_SAFE_INTEGER - 991 - 1, 9_007_199_254_739],
  ])('from %d to %d is %d ms, rounded down', (from, to, expected) => {
    expect(durationMs(ticks(from), ticks(to))).toBe(expected)
  })

  test('rounding down is exact for all instants', () => {
    fc.assert(
      fc.property(someTicks, someTicks, (a, b) => {
        const [from, to] = a < b ? [a, b] : [b, a]
        expect(BigInt(durationMs(from, to))).toBe((BigInt(to) - BigInt(from)) / 1000n)
      }),
    )
  })

  test('a deadline is 1,000 ticks per millisecond later', () => {
    expect(deadline(ticks(5), 30)).toBe(30_005)
  })
})
