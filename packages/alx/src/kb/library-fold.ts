// States that are folds of the library: everything they know is on record, and is there again after a crash.
import type { Result } from '@alx/protocol'
import { asParleyError, type Clock, type Library, type LibraryRecord, type ParleyError, pause } from '@parley/core'
import { kbLimits } from './limits.ts'
import { libraryRefusal, unavailable } from './refusals.ts'

export interface Fold {
  /** Called for each record once and in order. A record that it cannot use changes nothing. */
  apply(record: LibraryRecord): void
}

export interface LibraryFoldOptions {
  readonly library: Library
  readonly clock: Clock
  readonly folds: readonly Fold[]
  /** The library could not be read; it is tried again. */
  readonly onFailure?: (error: ParleyError) => void
}

interface Waiter {
  readonly at: number
  readonly resolve: (applied: boolean) => void
}

export class LibraryFold {
  readonly #options: LibraryFoldOptions
  readonly #closing = new AbortController()
  #at: number | undefined
  /** Whether records that come are applied at once. */
  #live = false
  #waiters: Waiter[] = []

  constructor(options: LibraryFoldOptions) {
    this.#options = options
  }

  /** Resolves when everything on record was applied. Throws what reading throws; it can be called again then. */
  async open(): Promise<void> {
    for await (const record of this.#options.library.read(this.#behind())) this.#apply(record)
    this.#live = true
    void this.#follow()
  }

  close(): void {
    this.#closing.abort()
    this.#stall()
  }

  /** The position up to which everything was applied; 0 before the first record. */
  get at(): number {
    return this.#at ?? 0
  }

  /** Appends, and resolves when the record was applied too. After a refusal it may be on record: ask again. */
  async append(record: Parameters<Library['append']>[0]): Promise<Result<LibraryRecord>> {
    const appended = await this.#options.library.append(record)
    if (!appended.ok) return libraryRefusal(appended.error)
    const applied = await this.#until(appended.value.at)
    return applied ? appended : unavailable()
  }

  #until(at: number): Promise<boolean> {
    if (this.at >= at) return Promise.resolve(true)
    if (!this.#live) return Promise.resolve(false)
    return new Promise(resolve => this.#waiters.push({ at, resolve }))
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        for await (const record of this.#options.library.read({ ...this.#behind(), follow: signal })) {
          this.#live = true
          this.#apply(record)
        }
      } catch (thrown) {
        this.#options.onFailure?.(asParleyError(thrown))
      }
      if (signal.aborted) return
      this.#stall()
      await pause(this.#options.clock, kbLimits.retryMs, signal)
      this.#live = true
    }
  }

  #behind(): { after?: number } {
    return this.#at === undefined ? {} : { after: this.#at }
  }

  #apply(record: LibraryRecord): void {
    for (const fold of this.#options.folds) fold.apply(record)
    this.#at = record.at
    if (this.#waiters.length === 0) return
    for (const { at, resolve } of this.#waiters) if (at <= record.at) resolve(true)
    this.#waiters = this.#waiters.filter(({ at }) => at > record.at)
  }

  #stall(): void {
    this.#live = false
    for (const { resolve } of this.#waiters) resolve(false)
    this.#waiters = []
  }
}
