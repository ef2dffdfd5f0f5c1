// A clock that goes as the machine's does and can be set forward: what is due by then happens at once.
import { type CancelTimer, type Clock, SystemClock, type Ticks, ticksPerMillisecond } from '@parley/core'

interface Waiting {
  readonly due: number
  readonly run: () => void
  readonly cancel: CancelTimer
}

export class TravelClock implements Clock {
  readonly source = 'travel'
  readonly #clock = new SystemClock()
  readonly #waiting = new Set<Waiting>()
  #ahead = 0

  now(): Ticks {
    return (this.#clock.now() + this.#ahead * ticksPerMillisecond) as Ticks
  }

  after(milliseconds: number, run: () => void, options: { readonly background?: boolean } = {}): CancelTimer {
    const ring = () => {
      this.#waiting.delete(waiting)
      run()
    }
    const cancel = this.#clock.after(milliseconds, ring, options)
    const waiting = { due: this.#millis() + milliseconds, run: ring, cancel }
    this.#waiting.add(waiting)
    return () => {
      this.#waiting.delete(waiting)
      cancel()
    }
  }

  /** Timers that are set meanwhile count from the new time. */
  advance(milliseconds: number): void {
    this.#ahead += milliseconds
    const now = this.#millis()
    for (const { due, run, cancel } of [...this.#waiting].sort((a, b) => a.due - b.due)) {
      if (due > now) return
      cancel()
      run()
    }
  }

  #millis(): number {
    return this.now() / ticksPerMillisecond
  }
}
