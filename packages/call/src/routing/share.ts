// Fair shares of one worker's requests (CALL-ROUTE-10): a caller that parks calls runs out of its share before others.
import { invariant } from '@parley/core'

export class FairShare {
  readonly #limit: number
  readonly #held = new Map<unknown, number>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** A place for one request; what is returned gives it back, once. Undefined if the caller has had its share. */
  take(caller: unknown): (() => void) | undefined {
    const own = this.#held.get(caller) ?? 0
    const free = this.#limit - this.#total
    // At most half of what is free when it asks, and at least one.
    if (free <= 0 || own >= Math.max(1, Math.floor(free / 2))) return undefined
    this.#held.set(caller, own + 1)
    this.#total++
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#release(caller)
    }
  }

  #release(caller: unknown): void {
    this.#total--
    const left = (this.#held.get(caller) ?? 0) - 1
    invariant(left >= 0 && this.#total >= left, 'a place is given back by the caller that has it')
    if (left > 0) this.#held.set(caller, left)
    else this.#held.delete(caller)
  }
}
