// Degraded mode (W-REC-08): since when nothing can be written, and when that is tried again unasked.
import type { CancelTimer, Clock, Timestamp } from '@parley/core'
import { kernelDefaults } from '../../limits.ts'

export class Outage {
  readonly #clock: Clock
  readonly #retry: () => void
  #since: { readonly from: Timestamp; readonly reason: string } | undefined
  #readable = false
  #cancel: CancelTimer | undefined

  constructor(clock: Clock, retry: () => void) {
    this.#clock = clock
    this.#retry = retry
  }

  get since(): { readonly from: Timestamp; readonly reason: string } | undefined {
    return this.#since
  }

  /** While it lasts nothing is decided: once what failed is undone, the state is what the trail says. */
  get readable(): boolean {
    return this.#readable
  }

  begin(from: Timestamp, reason: string): void {
    this.#since ??= { from, reason }
  }

  undone(): void {
    this.#readable = this.#since !== undefined
  }

  tryLater(): void {
    this.#cancel?.()
    if (this.#since) this.#cancel = this.#clock.after(kernelDefaults.degradedRetry, this.#retry)
  }

  end(): void {
    this.#since = undefined
    this.#readable = false
    this.#cancel?.()
    this.#cancel = undefined
  }
}

export class Pauses {
  readonly #clock: Clock
  readonly #wakes = new Set<() => void>()
  #over = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wait(milliseconds: number): Promise<void> {
    if (this.#over) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        cancel()
        this.#wakes.delete(wake)
        resolve()
      }
      const cancel = this.#clock.after(milliseconds, wake)
      this.#wakes.add(wake)
    })
  }

  end(): void {
    this.#over = true
    for (const wake of this.#wakes) wake()
  }
}
