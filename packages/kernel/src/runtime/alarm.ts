// One alarm for a run, set to the earliest moment at which something is due. Moments that move later cost nothing: the alarm rings at
// the old one, finds nothing due and is set anew.
import type { CancelTimer, Clock, Result, Ticks } from '@parley/core'
import { kernelDefaults } from '../limits.ts'

export interface AlarmOptions {
  readonly clock: Clock
  /** The earliest moment at which something is due, by committed state. */
  readonly next: () => Promise<Ticks | undefined>
  /** Deals with what is due first. */
  readonly ring: () => Promise<Result<unknown>>
}

export class Alarm {
  readonly #options: AlarmOptions
  #cancel: CancelTimer | undefined
  /** When it rings; zero while it is ringing. */
  #at: Ticks | undefined
  #stopped = false

  constructor(options: AlarmOptions) {
    this.#options = options
  }

  /** Something is due at that moment; an alarm that rings before it stays as it is. */
  set(at: Ticks | undefined): void {
    if (at === undefined || this.#stopped || (this.#at !== undefined && this.#at <= at)) return
    this.#cancel?.()
    this.#at = at
    const wait = at - this.#options.clock.now()
    if (wait <= 0) void this.#ring()
    else this.#cancel = this.#options.clock.after(Math.ceil(wait / 1000), () => void this.#ring())
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  async #ring(): Promise<void> {
    this.#at = 0 as Ticks
    for (;;) {
      const next = await this.#options.next()
      if (this.#stopped) return
      if (next === undefined || next > this.#options.clock.now()) {
        this.#at = undefined
        this.set(next)
        return
      }
      const dealt = await this.#options.ring()
      if (this.#stopped) return
      if (dealt.ok) continue
      // The trail is away: what is due stays due.
      this.#cancel = this.#options.clock.after(kernelDefaults.degradedRetry, () => void this.#ring())
      return
    }
  }
}

export function earlier(one: Ticks | undefined, other: Ticks | undefined): Ticks | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one <= other ? one : other
}
