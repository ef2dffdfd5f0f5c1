// When a node that was started on demand has nothing to do any more. It looks now and then, since what keeps it busy
// ends in many places; what happened between two looks counts from when it happened.
import type { CancelTimer, Clock } from '@parley/core'
import { nodeTimes } from './limits.ts'

export interface IdleOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Whether there are clients or runs. */
  readonly busy: () => Promise<boolean>
  /** Called once. */
  readonly idle: () => void
}

export class IdleWatch {
  readonly #options: IdleOptions
  readonly #step: number
  #since: number
  #cancel: CancelTimer | undefined
  #stopped = false

  constructor(options: IdleOptions) {
    this.#options = options
    this.#step = Math.min(nodeTimes.idleLook, Math.max(1, options.timeoutMs / 4))
    this.#since = this.#now()
    this.#wait(this.#step)
  }

  /** Something happened just now: a client came or went. */
  touch(): void {
    this.#since = this.#now()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  async #look(): Promise<void> {
    let busy = true
    try {
      busy = await this.#options.busy()
    } catch {
      // What cannot be told is not taken for idle.
    }
    if (this.#stopped) return
    if (busy) this.touch()
    const left = this.#since + this.#options.timeoutMs - this.#now()
    if (left > 0) {
      this.#wait(Math.min(left, this.#step))
      return
    }
    this.#stopped = true
    this.#options.idle()
  }

  #wait(milliseconds: number): void {
    this.#cancel = this.#options.clock.after(milliseconds, () => void this.#look(), { background: true })
  }

  #now(): number {
    return this.#options.clock.now() / 1000
  }
}
