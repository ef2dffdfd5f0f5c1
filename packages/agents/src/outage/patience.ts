// How long a turn waits for a service that refuses to work, where somebody else can take over.
import type { CancelTimer, Clock } from '@parley/core'
import type { Outage } from './outage.ts'

export class Patience {
  readonly #clock: Clock
  readonly #ms: number | undefined
  readonly #end = new AbortController()
  #cancel: CancelTimer | undefined

  /** Without a time the program decides how often it tries. */
  constructor(clock: Clock, ms: number | undefined) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Fires when there is no point in waiting any longer. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  refused({ reason, until }: Outage, delayMs = 0): void {
    if (this.#ms === undefined) return
    // None of these is over in a moment.
    if (reason === 'account' || reason === 'credit' || until !== undefined || delayMs > this.#ms) this.#end.abort()
    else this.#cancel ??= this.#clock.after(this.#ms, () => this.#end.abort(), { background: true })
  }

  /** The service works, or the turn is over. */
  calm(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}
