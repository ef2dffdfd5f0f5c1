// Clocks (W-CLOCK): the interface that the shell passes in, the machine's clock, one that a test moves by hand,
// and the guard that makes one runtime's time strictly increasing. The textual form is in timestamp.ts.
import { invariant } from './assert.ts'
import { ParleyError } from './error.ts'
import { limits } from './limits.ts'
import { isTicks, type Ticks, ticksPerMillisecond } from './timestamp.ts'

export type CancelTimer = () => void

export interface Clock {
  /** A short name for reports (W-CLOCK-09). */
  readonly source?: string
  /** The wall clock's time. It may stand still or step back: order comes from StrictClock. */
  now(): Ticks
  /**
   * Calls `run` once, when at least `milliseconds` have elapsed and never before `after` has returned. Elapsed time
   * does not notice steps of the wall clock. A negative time is due at once; one that is not finite throws
   * `invalid_duration`. The returned function cancels; called again, or after the timer ran, it does nothing. A timer
   * in the background does not keep the process alive.
   */
  after(milliseconds: number, run: () => void, options?: TimerOptions): CancelTimer
}

export interface TimerOptions {
  readonly background?: boolean
}

/**
 * The machine's clock. `Date.now()` follows the wall clock but counts milliseconds; `performance.now()` counts finer
 * but ignores steps and drift. So microseconds are counted on the second and held, at every reading, inside the
 * millisecond that the first one shows: never wrong by a millisecond, steps followed at once, and no step back
 * unless the wall clock itself takes one.
 */
export class SystemClock implements Clock {
  readonly source = 'system'
  readonly #wall: () => number
  readonly #elapsed: () => number
  #offset: number

  constructor(wall: () => number = Date.now, elapsed: () => number = () => performance.now()) {
    this.#wall = wall
    this.#elapsed = elapsed
    this.#offset = (wall() - elapsed()) * ticksPerMillisecond
  }

  now(): Ticks {
    const first = this.#wall() * ticksPerMillisecond
    const last = first + ticksPerMillisecond - 1
    const elapsed = this.#elapsed() * ticksPerMillisecond
    const fine = Math.floor(elapsed + this.#offset)
    if (fine >= first && fine <= last) return fine as Ticks
    const held = fine < first ? first : last
    this.#offset = held - elapsed
    return held as Ticks
  }

  after(milliseconds: number, run: () => void, options: TimerOptions = {}): CancelTimer {
    requireDuration(milliseconds)
    const due = this.#elapsed() + milliseconds
    let handle: ReturnType<typeof setTimeout>
    const wait = (left: number) => {
      handle = setTimeout(wake, Math.min(Math.max(0, Math.ceil(left)), limits.platformTimerMs))
      // Browsers know no such timers.
      if (options.background) (handle as { unref?: () => void }).unref?.()
    }
    // The platform's timers are bounded in length and may fire a fraction early: what is left is waited for.
    const wake = () => {
      const left = due - this.#elapsed()
      if (left > 0) wait(left)
      else run()
    }
    wait(milliseconds)
    return () => clearTimeout(handle)
  }
}

function requireDuration(milliseconds: number): void {
  if (Number.isFinite(milliseconds)) return
  throw new ParleyError('invalid_duration', `expected a finite number of milliseconds, got ${milliseconds}`)
}

interface ManualTimer {
  readonly due: number
  readonly order: number
  readonly run: () => void
}

/** A clock that moves only when told to: for tests and simulation. */
export class ManualClock implements Clock {
  readonly source = 'manual'
  #now: number
  #elapsed = 0
  #registered = 0
  readonly #timers: ManualTimer[] = []

  /** Starts at 2026-01-01 by default. */
  constructor(start: Ticks = (Date.UTC(2026, 0, 1) * ticksPerMillisecond) as Ticks) {
    this.#now = start
  }

  now(): Ticks {
    return this.#now as Ticks
  }

  /** Steps the wall clock, back too. Timers measure elapsed time and do not notice. */
  set(ticks: Ticks): void {
    this.#now = ticks
  }

  /** Runs due timers by deadline, then registration, new ones included; each sees its own time. Throws what they do. */
  advance(milliseconds: number): void {
    requireDuration(milliseconds)
    const target = this.#elapsed + Math.round(milliseconds * ticksPerMillisecond)
    for (let timer = this.#timers[0]; timer !== undefined && timer.due <= target; timer = this.#timers[0]) {
      this.#timers.shift()
      this.#pass(timer.due)
      timer.run()
    }
    this.#pass(target)
  }

  after(milliseconds: number, run: () => void): CancelTimer {
    requireDuration(milliseconds)
    const due = this.#elapsed + Math.max(0, Math.ceil(milliseconds * ticksPerMillisecond))
    const timer: ManualTimer = { due, order: this.#registered++, run }
    this.#timers.splice(this.#position(timer), 0, timer)
    return () => {
      const index = this.#position(timer)
      if (this.#timers[index] === timer) this.#timers.splice(index, 1)
    }
  }

  get pending(): number {
    return this.#timers.length
  }

  #pass(elapsed: number): void {
    if (elapsed <= this.#elapsed) return
    this.#now += elapsed - this.#elapsed
    this.#elapsed = elapsed
  }

  #position(timer: ManualTimer): number {
    let low = 0
    let high = this.#timers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.#timers[middle]!
      if ((other.due - timer.due || other.order - timer.order) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The guard of W-CLOCK-03: one per runtime; every tick it gives out is greater than all before. */
export class StrictClock {
  readonly #clock: Clock
  #last = -1

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The first of `count` consecutive ticks, all of which are taken: one for each entry of a batch. */
  take(count = 1): Ticks {
    invariant(Number.isSafeInteger(count) && count > 0, 'a batch takes at least one tick')
    const base = this.next()
    this.#last = base + count - 1
    return base
  }

  /** The first tick of the next batch. A caller that does not know its size yet anchors at its last tick afterward. */
  next(): Ticks {
    const now = this.#clock.now()
    return (now > this.#last ? now : this.#last + 1) as Ticks
  }

  /** The greatest tick taken or anchored; -1 before the first. */
  get last(): Ticks {
    return this.#last as Ticks
  }

  /** W-CLOCK-07: what is taken from now on is above `floor`. Anchoring below the last tick changes nothing. */
  anchor(floor: Ticks): void {
    if (!isTicks(floor) || floor >= limits.maxTicks) {
      throw new ParleyError('clock_floor_unreachable', `no clock can be started above ${String(floor)}`)
    }
    if (floor > this.#last) this.#last = floor
  }

  /** Microseconds by which the last tick leads the wall clock, or 0 (W-CLOCK-03: a lasting lead is worth a warning). */
  lead(): number {
    return Math.max(0, this.#last - this.#clock.now())
  }

  /** W-CLOCK-09. */
  info(): { source: string; tick: '1us'; duration_unit: 'ms' } {
    return { source: this.#clock.source ?? 'unnamed', tick: '1us', duration_unit: 'ms' }
  }
}

/** Resolves after a while, or when the signal fires. Keeps no process alive. */
export function pause(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(milliseconds, done, { background: true })
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
}
