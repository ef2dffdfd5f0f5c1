// So many at once, the others in the order in which they came.
import { invariant } from '@parley/core'

export class Semaphore {
  readonly #limit: number
  #held = 0
  readonly #waiting: (() => void)[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  get held(): number {
    return this.#held
  }

  get waiting(): number {
    return this.#waiting.length
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
      invariant(this.#held > 0, 'a place is given back by whoever has it')
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
        const at = this.#waiting.indexOf(go)
        invariant(at >= 0, 'whoever gives up has waited until then')
        this.#waiting.splice(at, 1)
        resolve(false)
      }
      this.#waiting.push(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }
}
