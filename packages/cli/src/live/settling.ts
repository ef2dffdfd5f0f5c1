// Whether a key means what is on the screen: not if it belongs to a burst of typing that began before that was drawn.
import type { Clock } from '@parley/core'
import { cliLimits } from '../limits.ts'

const SETTLE = cliLimits.settleMs * 1000

export class Settling {
  readonly #clock: Clock
  #until = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Something else is shown from now on. */
  shown(): void {
    this.#until = this.#clock.now() + SETTLE
  }

  /** A key that comes too early is part of the burst, and the burst goes on. */
  comesEarly(): boolean {
    const early = this.#clock.now() < this.#until
    if (early) this.shown()
    return early
  }
}
