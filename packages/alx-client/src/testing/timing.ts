// A clock that stands still: pauses pass at once and are noted, limits pass when a test says so.
import type { Timing } from '../timing.ts'

/** Pauses are shorter than this, limits longer. */
const LIMIT_MS = 40_000

export class FakeTiming implements Timing {
  readonly pauses: number[] = []
  #limits: { readonly ms: number; readonly over: () => void }[] = []
  time = Date.parse('2026-11-19T10:00:00.000Z')
  readonly now = () => this.time

  readonly sleep = (ms: number, signal: AbortSignal): Promise<void> => {
    if (ms < LIMIT_MS) {
      this.pauses.push(ms)
      return signal.aborted ? Promise.reject(signal.reason) : Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      this.#limits.push({ ms, over: resolve })
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  /** Every limit of this length that is running is over. */
  expire(length: number): void {
    for (const { ms, over } of this.#limits) if (ms === length) over()
    this.#limits = this.#limits.filter(({ ms }) => ms !== length)
  }
}
