// Calling peers (ALP-PING, ALP-ASK, ALP-CANCEL): one connection for each request, or a session that uses a connection
// again (ALP-TCP-07). Nothing is ever sent twice.
import { randomInt } from 'node:crypto'
import { type Clock, err, ParleyError, pause, type Result } from '@parley/core'
import { Scribe } from '../envelope/envelope.ts'
import type { LinkIdentity } from '../identity/identity.ts'
import { isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { Channel } from '../transport/channel.ts'
import { within } from '../within.ts'
import {
  type Answer,
  type AskOptions,
  answerOf,
  budgetOf,
  cancelledOf,
  isBusy,
  type Patience,
  pongOf,
} from './answers.ts'
import { dial } from './dial.ts'
import { type CallOptions, exchange, type LinkFailure } from './exchange.ts'
import type { Target } from './target.ts'

type Called<T = WireValue> = Promise<Result<T, LinkFailure>>

/** An ask of ours that nobody waits for any more. */
export interface GivenUp {
  readonly target: Target
  /** Empty if the peer has not sent it: then whichever turn of ours runs there. */
  readonly session: string
  /** Hangs up, which later revisions take for a cancel too (ALP-CANCEL-02). */
  readonly hangUp: AbortController
  /** The ask itself. */
  readonly said: Promise<unknown>
}

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

  /** Whether the peer is there and takes our calls. */
  async ping(
    target: Target,
    { nonce, ...call }: Patience & { readonly nonce: string },
  ): Called<{ readonly version: number; readonly agentName: string }> {
    const said = await this.call(target, 'link.ping', { nonce }, { timeoutMs: linkDefaults.pingMs, ...call })
    return said.ok ? pongOf(said.value, nonce) : said
  }

  /** One turn of the peer's agent. */
  async ask(target: Target, prompt: string, options: AskOptions = {}): Called<Answer> {
    const { onText, onSession, budget, signal, busyTries = 0, timeoutMs = linkDefaults.askMs } = options
    const params = { prompt, stream: onText !== undefined, ...(budget && { budget: budgetOf(budget) }) }
    /** ALP-ASK-06: a chunk without text is not for the reader. */
    const onChunk = (result: WireValue) => {
      if (!isWireObject(result)) return
      if (typeof result.text === 'string') return onText?.(result.text)
      if (typeof result.session_id === 'string') onSession?.(result.session_id)
    }
    for (let tried = 0; ; tried++) {
      const said = await this.call(target, 'link.ask', params, { timeoutMs, signal, onChunk })
      if (said.ok) return answerOf(said.value)
      // Nothing was started, so that asking again is no second turn.
      if (!isBusy(said.error) || tried >= busyTries || signal?.aborted) return said
      // ALP-ASK-09: between half and all of the time, so that two who wait for the same peer do not meet again.
      const most = linkDefaults.busyWaitMs * 2 ** tried
      await pause(this.#clock, randomInt(Math.ceil(most / 2), most + 1), signal)
    }
  }

  /** Cancels a turn of ours; without a session, whichever runs. On a connection of its own (ALP-CANCEL-03). */
  async cancel(target: Target, session = '', options: Patience = {}): Called<boolean> {
    const said = await this.call(target, 'link.cancel', { session_id: session }, options)
    return said.ok ? cancelledOf(said.value) : said
  }

  /**
   * Gives up an ask that runs: its turn is cancelled at the peer, which then has a while to say what it cost. Resolves
   * when the ask has ended, in whatever way; rejects as it does.
   */
  async giveUp({ target, session, hangUp, said }: GivenUp): Promise<void> {
    const timeoutMs = linkDefaults.cancelMs
    const stop = this.#clock.after(timeoutMs, () => hangUp.abort())
    const cancelled = await this.cancel(target, session, { timeoutMs, signal: hangUp.signal })
    // Not allowed, or nothing runs there: nobody will answer.
    if (!cancelled.ok || !cancelled.value) hangUp.abort()
    try {
      await said
    } finally {
      stop()
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
