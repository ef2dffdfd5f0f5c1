// So many at once, the others in the order in which they came.

export class Semaphore {
  readonly #limit: number
  #held = 0
  readonly #waiting: (() => void)[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Resolves to the release, or to undefined if the signal fires first. */
  async acquire(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined
    if (this.#held < this.#limit) this.#held++
    else if (!(await this.#turn(signal))) return undefined
    let held = true
    return () => {
      if (!held) return
      held = false
      const next = this.#waiting.shift()
      if (next) next()
      else this.#held--
    }
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    return new Promise(resolve => {
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve(true)
      }
      const stop = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1)
        resolve(false)
      }
      this.#waiting.push(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }
}
