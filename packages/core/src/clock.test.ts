import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock, StrictClock, SystemClock } from './clock.ts'
import { parseTimestamp, type Ticks } from './timestamp.ts'

const ticks = (value: number) => value as Ticks

describe('SystemClock', () => {
  /** A wall clock in milliseconds and a fine clock beside it, both set by hand. */
  function machine(start: number) {
    const time = { wall: start, elapsed: 0 }
    const [wall, elapsed] = [() => Math.floor(time.wall), () => time.elapsed]
    return { time, clock: new SystemClock(wall, elapsed) }
  }

  test('tells the time of the machine in whole microseconds', () => {
    const before = Date.now() * 1000
    const now = new SystemClock().now()
    expect(Number.isSafeInteger(now)).toBe(true)
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThan((Date.now() + 1) * 1000)
  })

  test('counts microseconds inside a millisecond', () => {
    const { time, clock } = machine(1000)
    const first = clock.now()
    time.wall += 0.25
    time.elapsed += 0.25
    expect(clock.now() - first).toBe(250)
  })

  test('is always inside the millisecond that the wall clock shows, and never steps back unless that does', () => {
    const step = fc.record({
      wall: fc.oneof(fc.double({ min: 0, max: 0.3, noNaN: true }), fc.double({ min: 0, max: 50, noNaN: true })),
      drift: fc.double({ min: -0.5, max: 0.5, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), steps => {
        const { time, clock } = machine(1_772_355_900_000)
        let last = clock.now()
        for (const { wall, drift } of steps) {
          time.wall += wall
          time.elapsed += Math.max(0, wall + drift)
          const now = clock.now()
          expect(Math.floor(now / 1000)).toBe(Math.floor(time.wall))
          expect(now).toBeGreaterThanOrEqual(last)
          last = now
        }
      }),
    )
  })

  test.each([-3_600_000, 3_600_000])('follows a step of the wall clock by %d ms at once', step => {
    const { time, clock } = machine(1_772_355_900_000)
    clock.now()
    time.wall += step
    const now = clock.now()
    expect(Math.floor(now / 1000)).toBe(1_772_355_900_000 + step)
    time.wall += 7
    time.elapsed += 7.25
    expect(clock.now() - now).toBe(step > 0 ? 7250 : 7000)
  })

  describe('timers', () => {
    beforeEach(() => {
      vi.useFakeTimers()
    })
    afterEach(() => {
      vi.useRealTimers()
    })
    const systemClock = () => new SystemClock(Date.now, Date.now)

    test.each([
      ['run once, after the time has elapsed', 1000, 999, 10_000],
      ['last longer than the 24.8 days of the platform', 8_640_000_000, 8_639_999_999, 1],
    ])('%s', (_, delay, before, more) => {
      const run = vi.fn()
      systemClock().after(delay, run)
      vi.advanceTimersByTime(before)
      expect(run).toHaveBeenCalledTimes(0)
      vi.advanceTimersByTime(more)
      expect(run).toHaveBeenCalledTimes(1)
    })

    test('wait for the rest if the platform fires early', () => {
      const run = vi.fn()
      let elapsed = 0
      new SystemClock(Date.now, () => elapsed).after(10, run)
      elapsed = 9.4
      vi.advanceTimersByTime(10)
      expect(run).toHaveBeenCalledTimes(0)
      elapsed = 10
      vi.advanceTimersByTime(1)
      expect(run).toHaveBeenCalledTimes(1)
    })

    test('that are due at once still run after `after` has returned', () => {
      const run = vi.fn()
      systemClock().after(-5, run)
      expect(run).toHaveBeenCalledTimes(0)
      vi.advanceTimersByTime(1)
      expect(run).toHaveBeenCalledTimes(1)
    })

    test('can be cancelled, once or twice, also in the last stretch of a long one', () => {
      const run = vi.fn()
      const cancel = systemClock().after(2 ** 31 + 1000, run)
      vi.advanceTimersByTime(2 ** 31)
      cancel()
      cancel()
      vi.advanceTimersByTime(2 ** 31)
      expect(run).toHaveBeenCalledTimes(0)
    })
  })
})

describe('ManualClock', () => {
  test('stands still until it is moved', () => {
    const clock = new ManualClock(ticks(5_000_000))
    expect(clock.now()).toBe(5_000_000)
    clock.advance(1.5)
    expect(clock.now()).toBe(5_001_500)
    expect(new ManualClock().now()).toBe(parseTimestamp('2026-01-01T00:00:00.000000Z'))
  })

  test('runs due timers in the order of their deadlines, ties in the order of registration', () => {
    const clock = new ManualClock(ticks(0))
    const seen: string[] = []
    for (const [name, delay] of Object.entries({ c: 30, a: 10, d: 30, b: 20 }))
      clock.after(delay, () => seen.push(`${name} ${clock.now()}`))
    clock.after(31, () => seen.push('too early'))
    clock.advance(30)
    expect(seen).toEqual(['a 10000', 'b 20000', 'c 30000', 'd 30000'])
    expect(clock.pending).toBe(1)
  })

  test('includes timers that timers register', () => {
    const clock = new ManualClock(ticks(0))
    const seen: number[] = []
    const again = () => {
      seen.push(clock.now())
      clock.after(10, again)
    }
    clock.after(10, again)
    clock.advance(35)
    expect(seen).toEqual([10_000, 20_000, 30_000])
    expect(clock.now()).toBe(35_000)
  })

  test('time passed inside a timer is not passed again', () => {
    const clock = new ManualClock(ticks(0))
    clock.after(10, () => clock.advance(100))
    clock.advance(20)
    expect(clock.now()).toBe(110_000)
  })

  test('a step of the wall clock, back or forth, moves no timer', () => {
    const clock = new ManualClock(ticks(1_000_000))
    const run = vi.fn()
    clock.after(10, run)
    clock.set(ticks(90_000_000))
    clock.set(ticks(0))
    clock.advance(9)
    expect(run).toHaveBeenCalledTimes(0)
    clock.advance(1)
    expect(run).toHaveBeenCalledTimes(1)
    expect(clock.now()).toBe(10_000)
  })

  test('a cancelled timer does not run, and cancelling again or late does nothing', () => {
    const clock = new ManualClock(ticks(0))
    const run = vi.fn()
    const other = vi.fn()
    const cancel = clock.after(10, run)
    const cancelOther = clock.after(10, other)
    cancel()
    cancel()
    clock.advance(10)
    cancelOther()
    expect(run).toHaveBeenCalledTimes(0)
    expect(other).toHaveBeenCalledTimes(1)
    expect(clock.pending).toBe(0)
  })

  test('what a timer throws comes out of `advance`, and the other timers still wait', () => {
    const clock = new ManualClock(ticks(0))
    const run = vi.fn()
    clock.after(10, () => {
      throw new Error('boom')
    })
    clock.after(20, run)
    expect(() => clock.advance(100)).toThrow('boom')
    expect(clock.now()).toBe(10_000)
    clock.advance(10)
    expect(run).toHaveBeenCalledTimes(1)
  })
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])('no clock accepts a timer of %d ms', milliseconds => {
  for (const clock of [new SystemClock(), new ManualClock()]) {
    expect(() => clock.after(milliseconds, () => {})).toThrow(expect.objectContaining({ code: 'invalid_duration' }))
  }
})

describe('StrictClock', () => {
  test('W-CLOCK-03: the next value is the time, or one tick above the last value', () => {
    const clock = new ManualClock(ticks(1000))
    const strict = new StrictClock(clock)
    expect(strict.take()).toBe(1000)
    expect(strict.take()).toBe(1001)
    clock.set(ticks(5000))
    expect(strict.take()).toBe(5000)
    clock.set(ticks(10))
    expect(strict.take()).toBe(5001)
    expect(strict.last).toBe(5001)
  })

  test('W-CLOCK-03: a batch takes consecutive ticks', () => {
    const clock = new ManualClock(ticks(1000))
    const strict = new StrictClock(clock)
    expect(strict.take(10)).toBe(1000)
    expect(strict.last).toBe(1009)
    expect(strict.take(2)).toBe(1010)
    expect(strict.take()).toBe(1012)
  })

  test('W-CLOCK-02: no value is given out twice, whatever the clock and the batches do', () => {
    const moves = fc.array(fc.record({ to: fc.nat({ max: 5000 }), count: fc.integer({ min: 1, max: 50 }) }))
    fc.assert(
      fc.property(moves, steps => {
        const clock = new ManualClock(ticks(0))
        const strict = new StrictClock(clock)
        let last = -1
        for (const { to, count } of steps) {
          clock.set(ticks(to))
          const base = strict.take(count)
          expect(base).toBe(Math.max(to, last + 1))
          last = base + count - 1
          expect(strict.last).toBe(last)
        }
      }),
    )
  })

  test('W-CLOCK-02: a source that fails to tell the time cannot stop or turn back the clock', () => {
    const strict = new StrictClock({ now: () => ticks(Number.NaN), after: () => () => {} })
    strict.anchor(ticks(100))
    expect(strict.take()).toBe(101)
    expect(strict.take()).toBe(102)
  })

  test('W-CLOCK-07: after a restart the next value is above the floor', () => {
    const strict = new StrictClock(new ManualClock(ticks(1000)))
    strict.anchor(ticks(9000))
    expect(strict.take()).toBe(9001)
    strict.anchor(ticks(50))
    expect(strict.take()).toBe(9002)
  })

  test.each([-1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER])('W-CLOCK-07: a floor of %d cannot be exceeded', floor => {
    const strict = new StrictClock(new ManualClock())
    expect(() => strict.anchor(ticks(floor))).toThrow(expect.objectContaining({ code: 'clock_floor_unreachable' }))
  })

  test('W-CLOCK-03: the lead over real time is visible', () => {
    const clock = new ManualClock(ticks(1000))
    const strict = new StrictClock(clock)
    strict.take(501)
    expect(strict.lead()).toBe(500)
    clock.advance(1)
    expect(strict.lead()).toBe(0)
  })

  test.each([0, -1, 1.5])('a batch of %d is a defect', count => {
    expect(() => new StrictClock(new ManualClock()).take(count)).toThrow(expect.objectContaining({ code: 'internal' }))
  })

  test('W-CLOCK-09: reports source, tick and unit of durations', () => {
    expect(new StrictClock(new SystemClock()).info()).toEqual({ source: 'system', tick: '1us', duration_unit: 'ms' })
    expect(new StrictClock(new ManualClock()).info().source).toBe('manual')
  })
})
