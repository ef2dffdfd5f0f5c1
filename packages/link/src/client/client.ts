// Calling peers: one connection for each request, or a session that uses a connection again (ALP-TCP-07). Nothing is
// ever sent twice.
import { type Clock, err, ParleyError, type Result } from '@parley/core'
import { Scribe } from '../envelope/envelope.ts'
import type { LinkIdentity } from '../identity/identity.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { Channel } from '../transport/channel.ts'
import { within } from '../within.ts'
import { dial } from './dial.ts'
import { type CallOptions, exchange, type LinkFailure } from './exchange.ts'
import type { Target } from './target.ts'

type Called = Promise<Result<WireValue, LinkFailure>>

export class LinkClient {
  readonly #scribe: Scribe
  readonly #clock: Clock

  constructor({ identity, clock }: { readonly identity: LinkIdentity; readonly clock: Clock }) {
    this.#scribe = new Scribe(identity, clock)
    this.#clock = clock
  }

  /** One request on a connection of its own. */
  async call(target: Target, method: string, params: WireObject = {}, options: CallOptions = {}): Called {
    const session = this.session(target)
    try {
      return await session.call(method, params, options)
    } finally {
      session.close()
    }
  }

  /** A connection to use more than once, made when it is needed. */
  session(target: Target): LinkSession {
    return new LinkSession(target, this.#scribe, this.#clock)
  }
}

/**
 * At most one request at a time. A connection that is idle for a minute, or that the other side closed, is replaced
 * before the next request; one that breaks during a request fails that request.
 */
export class LinkSession {
  readonly #target: Target
  readonly #scribe: Scribe
  readonly #clock: Clock
  #channel: Channel | undefined
  #cancelIdle: (() => void) | undefined
  #busy = false
  /** Whether the other side has closed the connection that is kept. */
  #spent = false
  /** Whether this server is known to serve more than one request on a connection. */
  #keeps = false

  constructor(target: Target, scribe: Scribe, clock: Clock) {
    this.#target = target
    this.#scribe = scribe
    this.#clock = clock
  }

  async call(method: string, params: WireObject = {}, options: CallOptions = {}): Called {
    if (this.#busy) {
      const error = new ParleyError('link_busy', 'This session waits for an answer already; open another one.')
      return err({ where: 'local', error })
    }
    this.#busy = true
    try {
      return await this.#call(method, params, options)
    } finally {
      this.#busy = false
    }
  }

  close(): void {
    this.#cancelIdle?.()
    this.#channel?.destroy()
    this.#channel = undefined
  }

  async #call(method: string, params: WireObject, options: CallOptions): Called {
    this.#cancelIdle?.()
    const [scribe, clock] = [this.#scribe, this.#clock]
    const { timeoutMs = linkDefaults.callMs, signal } = options
    if (this.#channel) await this.#look(this.#channel)
    if (!this.#channel) {
      const dialled = await dial(this.#target, { own: scribe.identity, clock, timeoutMs, signal })
      if (!dialled.ok) return err({ where: 'local', error: dialled.error })
      this.#keep(dialled.value)
    }
    const channel = this.#channel!
    const to = this.#target.identity
    const result = await exchange({ ...options, timeoutMs, channel, scribe, clock, to, method, params })
    this.#rest(channel)
    return result
  }

  #keep(channel: Channel): void {
    this.#channel = channel
    this.#spent = false
    void channel.ended.then(() => {
      if (this.#channel !== channel) return
      this.#spent = true
      this.#keeps = false
      // During a request its reader is told; between two of them nobody is.
      if (!this.#busy) this.close()
    })
  }

  /**
   * Early servers close after one exchange, and a request that meets their goodbye is lost. So the first time it waits
   * for the goodbye; later it is enough to look at what has arrived.
   */
  async #look(channel: Channel): Promise<void> {
    if (this.#keeps) await new Promise(resolve => setImmediate(resolve))
    else await within(this.#clock, linkDefaults.settleMs, channel.ended)
    if (this.#spent) this.close()
    else this.#keeps = true
  }

  /** Lines carry one request each (ALP-UNIX-03); frames may carry more for a while. */
  #rest(channel: Channel): void {
    if (channel.carrier === 'unix' || this.#spent) this.close()
    else this.#cancelIdle = this.#clock.after(linkDefaults.clientIdleMs, () => this.close(), { background: true })
  }
}
