// Calls about the same thing run one after the other, so that the second sees what the first one did.
export class KeyedQueue {
  readonly #limit: number
  readonly #waiting = new Map<string, { tail: Promise<unknown>; count: number }>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Undefined, and nothing done, where too many wait for this key. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> | undefined {
    const line = this.#waiting.get(key) ?? { tail: Promise.resolve(), count: 0 }
    if (line.count >= this.#limit) return undefined
    line.count++
    const turn = line.tail.then(work)
    line.tail = turn
      .catch(() => {})
      .then(() => {
        line.count--
        if (line.count === 0) this.#waiting.delete(key)
      })
    this.#waiting.set(key, line)
    return turn
  }
}
