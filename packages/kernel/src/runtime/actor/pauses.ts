// Waits on the injected clock that all end early when whoever waits is stopped.
import type { Clock } from '@parley/core'

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
