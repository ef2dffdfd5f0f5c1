// One alarm for a run. Moments that move later cost nothing: it rings early, finds nothing, and is set anew.
import { type CancelTimer, type Clock, type Result, type Ticks, ticksPerMillisecond } from '@parley/core'
import { earlier } from '../../due/due.ts'
import { kernelDefaults, kernelLimits } from '../../limits.ts'

interface AlarmOptions {
  readonly clock: Clock
  readonly next: () => Promise<Ticks | undefined>
  readonly ring: () => Promise<Result<boolean>>
}

export class Alarm {
  readonly #options: AlarmOptions
  #cancel: CancelTimer | undefined
  #at: Ticks | undefined
  #ringing = false
  #asked: Ticks | undefined
  #stopped = false

  constructor(options: AlarmOptions) {
    this.#options = options
  }

  set(at: Ticks | undefined): void {
    if (at === undefined || this.#stopped) return
    if (this.#ringing) this.#asked = earlier(this.#asked, at)
    else if (this.#at === undefined || at < this.#at) this.#wait(at)
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  #wait(at: Ticks): void {
    this.#at = at
    const wait = (at - this.#options.clock.now()) / ticksPerMillisecond
    if (wait <= 0) void this.#ring()
    // Timers measure elapsed time: only who looks again notices that the wall clock stepped ahead.
    else this.#after(Math.min(wait, kernelLimits.alarmWait))
  }

  #after(milliseconds: number): void {
    this.#cancel?.()
    this.#cancel = this.#options.clock.after(milliseconds, () => void this.#ring())
  }

  async #ring(): Promise<void> {
    this.#cancel?.()
    this.#ringing = true
    let idle: Ticks | undefined
    for (;;) {
      const next = await this.#options.next()
      if (this.#stopped) return
      if (next === undefined || next > this.#options.clock.now()) {
        this.#settle(next)
        return
      }
      // Somebody else may have dealt with it just now. What stays due although nothing can be done about it must not
      // spin.
      if (next === idle) break
      const dealt = await this.#options.ring()
      if (this.#stopped) return
      if (!dealt.ok) break
      idle = dealt.value ? undefined : next
    }
    // The trail is away: what is due stays due.
    this.#after(kernelDefaults.degradedRetry)
  }

  #settle(next: Ticks | undefined): void {
    const at = earlier(next, this.#asked)
    this.#ringing = false
    this.#at = undefined
    this.#asked = undefined
    if (at !== undefined) this.#wait(at)
  }
}
