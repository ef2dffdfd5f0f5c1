// Parley's store under test: the next so many appends are taken and fail, as the store's contract says: with everything
// behind them, in one turn. A disk that fails now and then would not do, since the log goes on in another file. Or it
// is slow: what was written is confirmed only when it is released.
import { ParleyError } from '@parley/core'
import type { TrailStore } from '@parley/trail'

export class FailingStore {
  /** Appends that still fail. */
  failures = 0
  #behind: ((error: ParleyError) => void)[] = []
  #unconfirmed: (() => void)[] | undefined

  get held(): boolean {
    return this.#unconfirmed !== undefined
  }

  hold(): void {
    this.#unconfirmed ??= []
  }

  release(): void {
    const waiting = this.#unconfirmed ?? []
    this.#unconfirmed = undefined
    for (const confirm of waiting) confirm()
  }

  over(store: TrailStore): TrailStore {
    const append: TrailStore['append'] = (records, settle) => {
      if (this.#behind.length === 0 && this.failures <= 0)
        return store.append(records, error => {
          if (this.#unconfirmed) this.#unconfirmed.push(() => settle(error))
          else settle(error)
        })
      if (this.#behind.length === 0) {
        this.failures--
        queueMicrotask(() => {
          const error = new ParleyError('trail_unavailable', 'The disk failed (injected).', {
            retryable: true,
          })
          for (const fail of this.#behind.splice(0)) fail(error)
        })
      }
      this.#behind.push(settle)
      return undefined
    }
    return new Proxy(store, {
      get(target, name) {
        if (name === 'append') return append
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}
