// Values from a writer to one reader, one at a time: the writer waits until its value was taken, and is let go when the
// reader leaves. So a slow reader slows the peer down and not this node.

interface Waiting<T> {
  readonly value: T
  readonly taken: () => void
}

export class Handover<T> {
  readonly #waiting: Waiting<T>[] = []
  #wake: (() => void) | undefined
  #ended = false

  /** Resolves when the value was taken, or nobody will take it. */
  push(value: T): Promise<void> {
    if (this.#ended) return Promise.resolve()
    return new Promise(taken => {
      this.#waiting.push({ value, taken })
      this.#wake?.()
    })
  }

  /** No more values come, or none is wanted any more. Safe to repeat. */
  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  /** Nobody reads any more: those who wait are let go. */
  abandon(): void {
    this.end()
    for (const { taken } of this.#waiting.splice(0)) taken()
  }

  /** The next value; undefined at the end, and as soon as the signal fires. */
  async next(signal: AbortSignal): Promise<T | undefined> {
    for (;;) {
      if (signal.aborted) return undefined
      const first = this.#waiting.shift()
      if (first) {
        first.taken()
        return first.value
      }
      if (this.#ended) return undefined
      await this.#change(signal)
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        this.#wake = undefined
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
