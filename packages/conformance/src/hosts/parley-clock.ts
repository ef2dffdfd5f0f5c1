// Time for Parley under test: it passes in steps, so that what falls due happens at its own moment and not at the end
// of the step.
import type { CancelTimer, Clock, Ticks } from '@parley/core'
import { ticksPerMillisecond } from '@parley/core'

interface Timer {
  readonly due: number
  readonly run: () => void
}

export class SteppedClock implements Clock {
  readonly source = 'manual'
  #wall: number
  #elapsed = 0
  readonly #timers = new Set<Timer>()

  constructor(start: Ticks) {
    this.#wall = start
  }

  now(): Ticks {
    return this.#wall as Ticks
  }

  /** The wall clock alone: timers measure elapsed time. */
  step(milliseconds: number): void {
    this.#wall += Math.round(milliseconds * ticksPerMillisecond)
  }

  after(milliseconds: number, run: () => void): CancelTimer {
    const timer = { due: this.#elapsed + Math.max(0, Math.ceil(milliseconds * ticksPerMillisecond)), run }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** `settle` is awaited behind every moment at which something was due. */
  async advance(milliseconds: number, settle: () => Promise<void>): Promise<void> {
    const target = this.#elapsed + Math.round(milliseconds * ticksPerMillisecond)
    for (let next = this.#next(target); next !== undefined; next = this.#next(target)) {
      this.#pass(next)
      for (const timer of [...this.#timers]) {
        if (timer.due > next || !this.#timers.delete(timer)) continue
        timer.run()
      }
      await settle()
    }
    this.#pass(target)
    await settle()
  }

  #next(target: number): number | undefined {
    let next: number | undefined
    for (const { due } of this.#timers) if (due <= target && (next === undefined || due < next)) next = due
    return next
  }

  #pass(elapsed: number): void {
    if (elapsed <= this.#elapsed) return
    this.#wall += elapsed - this.#elapsed
    this.#elapsed = elapsed
  }
}
