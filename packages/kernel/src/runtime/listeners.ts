// Who listens to the notices of a run (wacp-primitives 0.7). What one of them does wrong is its own affair: the run
// goes on.
import type { Notice } from './notice.ts'

export class Listeners {
  readonly #listeners = new Set<(notice: Notice) => void>()
  readonly #onFault: (cause: unknown) => void
  #recovered: Notice | undefined

  constructor(onFault: (cause: unknown) => void) {
    this.#onFault = onFault
  }

  get size(): number {
    return this.#listeners.size
  }

  /** W-REC-22: listeners that come after a recovery are notified of it first. */
  add(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener)
    const recovered = this.#recovered
    if (recovered) queueMicrotask(() => this.#listeners.has(listener) && this.#tell(listener, recovered))
    return () => this.#listeners.delete(listener)
  }

  tell(notice: Notice): void {
    if (notice.kind === 'recovered') this.#recovered = notice
    for (const listener of this.#listeners) this.#tell(listener, notice)
  }

  #tell(listener: (notice: Notice) => void, notice: Notice): void {
    try {
      listener(notice)
    } catch (cause) {
      this.#onFault(cause)
    }
  }
}
