// How often a peer may call (ALP-RATE): a sliding window of a minute for each identity, in memory.
import { RATE_WINDOW_SECONDS } from '../errors.ts'
import { linkLimits } from '../limits.ts'

const WINDOW_MS = RATE_WINDOW_SECONDS * 1000

export class RateLimit {
  /** Milliseconds on a clock that never goes back. */
  readonly #elapsed: () => number
  readonly #windows = new Map<string, Window>()

  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed
  }

  /** ALP-RATE-02: whether one more call is admitted, whatever it calls; if so, it counts. */
  admits(identity: string, perMinute: number): boolean {
    const now = this.#elapsed()
    const known = this.#windows.get(identity)
    if (known) return known.admits(now, perMinute)
    // Those of peers that are no longer pinned, too.
    if (this.#windows.size >= linkLimits.peers)
      for (const [other, window] of this.#windows) if (window.isIdle(now)) this.#windows.delete(other)
    const window = new Window()
    this.#windows.set(identity, window)
    return window.admits(now, perMinute)
  }
}

class Window {
  /** Times of calls that were admitted, oldest first, from `#first` on. */
  #times: number[] = []
  #first = 0

  admits(now: number, cap: number): boolean {
    this.#forget(now)
    if (this.#times.length - this.#first >= Math.min(cap, linkLimits.rateTimes)) return false
    this.#times.push(now)
    return true
  }

  isIdle(now: number): boolean {
    this.#forget(now)
    return this.#times.length === this.#first
  }

  /** Strictly older than the window: a time exactly that old still counts. */
  #forget(now: number): void {
    while (this.#first < this.#times.length && this.#times[this.#first]! < now - WINDOW_MS) this.#first++
    if (this.#first * 2 <= this.#times.length) return
    this.#times = this.#times.slice(this.#first)
    this.#first = 0
  }
}
