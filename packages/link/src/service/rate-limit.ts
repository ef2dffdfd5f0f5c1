// How often a peer may call (ALP-RATE): a sliding window of a minute for each identity, in memory, on a clock that never goes back.
import { RATE_WINDOW_SECONDS } from '../errors.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { numberOf } from '../json/value.ts'
import { linkDefaults, linkLimits } from '../limits.ts'

const WINDOW_MS = RATE_WINDOW_SECONDS * 1000

/** ALP-RATE-04: polling and the parts of files have buckets of their own, which `per_minute` does not touch. */
const BUCKETS = ['calls', 'pulls', 'files'] as const
type Bucket = (typeof BUCKETS)[number]

export class RateLimit {
  /** Milliseconds on a clock that never goes back. */
  readonly #elapsed: () => number
  readonly #windows = new Map<string, Window>()

  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed
  }

  /** ALP-RATE-02: whether one more call is admitted; if so, it counts. */
  admits(identity: string, perMinute: number, method: WireValue, params: WireObject | undefined): boolean {
    const bucket = bucketOf(method, params)
    const now = this.#elapsed()
    const window = this.#windowOf(`${bucket} ${identity}`, now)
    return window.admits(now, bucket === 'calls' ? perMinute : linkDefaults.bulkPerMinute)
  }

  #windowOf(key: string, now: number): Window {
    const known = this.#windows.get(key)
    if (known) return known
    // Those of peers that are no longer pinned, too.
    if (this.#windows.size >= linkLimits.peers)
      for (const [other, window] of this.#windows) if (window.isIdle(now)) this.#windows.delete(other)
    const window = new Window()
    this.#windows.set(key, window)
    return window
  }
}

function bucketOf(method: WireValue, params: WireObject | undefined): Bucket {
  if (method === 'workgroup.pull') return 'pulls'
  const isPart = method === 'workgroup.file_put' || method === 'workgroup.file_get'
  return isPart && (numberOf(params?.offset) ?? 0) > 0 ? 'files' : 'calls'
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
