// One timer for many deadlines, set to the earliest. A timer for each request would cost more than the request.
import type { CancelTimer, Clock } from '@parley/core'

export class ExpiryTimer {
  readonly #clock: Clock
  readonly #expire: (now: number) => number
  #due = Number.POSITIVE_INFINITY
  #cancel: CancelTimer | undefined

  /** `expire` ends what is due at `now` and returns when the next is due, in milliseconds since the Unix epoch. */
  constructor(clock: Clock, expire: (now: number) => number) {
    this.#clock = clock
    this.#expire = expire
  }

  now(): number {
    return this.#clock.now() / 1000
  }

  add(due: number): void {
    if (due >= this.#due) return
    this.#cancel?.()
    this.#due = due
    const wait = Math.max(0, Math.ceil(due - this.now()))
    this.#cancel = this.#clock.after(wait, () => this.run(), { background: true })
  }

  /** Ends what is due, whether or not the timer has fired. */
  run(): void {
    this.stop()
    this.add(this.#expire(this.now()))
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#due = Number.POSITIVE_INFINITY
  }
}
