// Ids and instants: their form, their order, and that none fits in the place of another.
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  type IdSource,
  isId,
  meantIds,
  type RunId,
  SeededIds,
  SystemIds,
  shortId,
  shortIds,
  type WorkspaceId,
} from './ids.ts'
import {
  deadline,
  durationMs,
  formatTimestamp,
  isTicks,
  isTimestamp,
  parseTimestamp,
  type Ticks,
  type Timestamp,
} from './timestamp.ts'

const form = /^run_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/

function take(ids: IdSource, count: number): string[] {
  return Array.from({ length: count }, () => ids.next('run'))
}

function expectStrictlyIncreasing(ids: readonly string[]): void {
  for (let at = 1; at < ids.length; at++) expect(ids[at]! > ids[at - 1]!).toBe(true)
}

describe('SystemIds', () => {
  test('gives a prefix, an underscore and 26 characters of Crockford base 32', () => {
    const id = new SystemIds().next('run')
    expect(id).toMatch(form)
    expect(isId(id)).toBe(true)
  })

  test('the first ten characters are the time in milliseconds', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    const id = new SystemIds(() => 1_772_355_900_123.7).next('run')
    const time = [...id.slice(4, 14)].reduce((sum, character) => sum * 32 + alphabet.indexOf(character), 0)
    expect(time).toBe(1_772_355_900_123)
  })

  test('ids of one process increase strictly, whatever the clock does', () => {
    const anyTime = fc.integer({ min: 0, max: 2 ** 48 - 1 })
    const fractions = fc.integer({ min: 0, max: 100 }).map(tenths => 5 + tenths / 10)
    fc.assert(
      fc.property(fc.array(fc.oneof(anyTime, fractions), { minLength: 1, maxLength: 200 }), times => {
        let at = 0
        const ids = take(new SystemIds(() => times[at++]!), times.length)
        expect(ids.every(id => form.test(id))).toBe(true)
        expectStrictlyIncreasing(ids)
      }),
    )
  })

  test('ids of one millisecond increase strictly and do not follow each other by one', () => {
    const ids = take(new SystemIds(() => 5), 100_000)
    expectStrictlyIncreasing(ids)
    const followsByOne = ids.filter((id, at) => at > 0 && id.slice(0, -1) === ids[at - 1]!.slice(0, -1))
    expect(followsByOne.length).toBeLessThan(100)
  })

  test('when the random part overflows, the time part goes on', () => {
    const fullest = (bytes: Uint8Array) => bytes.fill(0xff)
    const ids = take(new SystemIds(() => 5, fullest), 3)
    expect(ids.slice(0, 2)).toEqual(['5', '6'].map(time => `run_000000000${time}zzzzzzzzzzzzzzzz`))
    expectStrictlyIncreasing(ids)
  })

  test('two processes do not give the same id, even at the same time', () => {
    const ids = [...take(new SystemIds(() => 5), 1000), ...take(new SystemIds(() => 5), 1000)]
    expect(new Set(ids).size).toBe(2000)
  })

  test.each(['', 'Run', 'a-b', '1x', 'x'.repeat(33)])('refuses the prefix "%s"', prefix => {
    expect(() => new SystemIds().next(prefix)).toThrow(expect.objectContaining({ code: 'internal' }))
  })

  test('the longest prefix still gives an id within the limit', () => {
    expect(isId(new SystemIds().next('x'.repeat(32)))).toBe(true)
  })
})

describe('SeededIds', () => {
  test('the same seed gives the same ids, another seed gives others', () => {
    expect(take(new SeededIds(7), 500)).toEqual(take(new SeededIds(7), 500))
    const both = [...take(new SeededIds(7), 500), ...take(new SeededIds(8), 500)]
    expect(new Set(both).size).toBe(1000)
  })

  test('has the form and the order of real ids', () => {
    const ids = take(new SeededIds(1), 2000)
    expect(ids.every(id => form.test(id))).toBe(true)
    expectStrictlyIncreasing(ids)
  })
})

test.each([
  ['run_1', true],
  ['alp:SHA256:abc/def+', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['a b', false],
  ['a\n', false],
  ['ü', false],
  [7, false],
])('isId(%j) is %s', (text, expected) => {
  expect(isId(text)).toBe(expected)
})

test('ids, ticks and timestamps of different meaning do not fit into each other', () => {
  expectTypeOf<RunId>().toExtend<string>()
  expectTypeOf<string>().not.toExtend<RunId>()
  expectTypeOf<RunId>().not.toExtend<WorkspaceId>()
  expectTypeOf<number>().not.toExtend<Ticks>()
  expectTypeOf<string>().not.toExtend<Timestamp>()
})

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

  test.each([-1, 0.5, Number.NaN, Infinity, 2 ** 53])('%d is no tick count and is not written', value => {
    formatTimestamp(ticks(0))
    expect(isTicks(value)).toBe(false)
    expect(() => formatTimestamp(ticks(value))).toThrow(expect.objectContaining({ code: 'invalid_timestamp' }))
  })

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

test('ids of one moment have short forms that differ, are equally long, and mean just that id', () => {
  const source = new SystemIds(() => 1_790_000_000_000)
  const ids = Array.from({ length: 200 }, () => source.next('gate'))
  const short = shortIds(ids)
  expect(new Set(ids.map(short)).size).toBe(200)
  expect(new Set(ids.map(id => short(id).length)).size).toBe(1)
  for (const id of ids) expect(meantIds(short(id), ids)).toEqual([id])
})

test('short forms grow until they tell the ids apart that are shown together', () => {
  const [one, two] = ['run_01m7aaaaaaaaaaaaaaax111111', 'run_01m8aaaaaaaaaaaaaaay111111']
  expect([one, two].map(shortId)).toEqual(['run_111111', 'run_111111'])
  expect([one, two].map(shortIds([one, two, one]))).toEqual(['run_x111111', 'run_y111111'])
  expect(shortId('ws_short')).toBe('ws_short')
})

test('a text means every id that begins or ends so, the whole id alone, and never one of another kind', () => {
  const run = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
  const gate = 'gate_01m7aaaaaaaaaaaaaaaaaabbbb'
  for (const text of ['run_01m7', 'run_', run]) expect(meantIds(text, [run, gate])).toEqual([run])
  for (const text of ['gate_bbbb', 'bbbb', 'gate_01']) expect(meantIds(text, [run, gate])).toEqual([gate])
  expect(meantIds('01m7', [run, gate])).toEqual([run, gate])
  expect(meantIds('gate_aaaa', [run, gate])).toEqual([])
  // A slip of one key means nothing.
  expect(meantIds('b', [run, gate])).toEqual([])
  expect(meantIds('', [run, gate])).toEqual([])
  expect(meantIds('ws_1', ['ws_1', 'ws_11'])).toEqual(['ws_1'])
})
