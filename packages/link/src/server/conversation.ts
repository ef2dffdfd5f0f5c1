// One envelope and its answer over either carrier: the silent checks of ALP-SRV-01 (steps 1 to 3), then the handler,
// then signed responses. Silence is the same for all reasons (ALP-ERR-02, ALP-ERR-05).
import { type Clock, ParleyError } from '@parley/core'
import { type ResponseBody, Scribe, type WireError } from '../envelope/envelope.ts'
import type { ReplayJournal } from '../envelope/replay-journal.ts'
import { type DropReason, verifyMessage } from '../envelope/verify.ts'
import { dispatchErrors } from '../errors.ts'
import { ImageCache, type LinkIdentity } from '../identity/identity.ts'
import { linkDefaults } from '../limits.ts'
import type { Carrier, Channel } from '../transport/channel.ts'
import { type LinkConnection, type LinkHandler, type LinkRequest, requestOf, type StreamPart } from './request.ts'

export interface Pins {
  /** Who is pinned. */
  identities(): ReadonlySet<string>
  /** Remembers the sender of a verified envelope that is dropped because nobody pinned it (ALP-PEND-01). */
  stranger(identity: string, remote: string | undefined): void
}

/** For the operator's log: nothing of it leaves the machine. */
export interface LinkLog {
  dropped?(reason: DropReason, carrier: Carrier): void
  /** A handler, the peer list or a listener failed. */
  failed?(what: string, cause: unknown): void
  /** ALP-TCP-01: the machine does not have `host`, so it listens on `bound`. */
  elsewhere?(host: string, bound: string, cause: unknown): void
}

export interface PinsAndLog {
  /** Asked for every envelope, so that edits of the peer list apply at once (ALP-PEER-06). */
  readonly pins: Pick<Pins, 'identities'>
  readonly log?: Pick<LinkLog, 'failed'>
}

export interface ConversationOptions extends PinsAndLog {
  readonly identity: LinkIdentity
  readonly clock: Clock
  readonly pins: Pins
  readonly journal: ReplayJournal
  readonly handler: LinkHandler
  readonly log?: LinkLog
}

/** If the list cannot be read, nobody is pinned (ALP-ERR-05). */
export function pinnedNow({ pins, log }: PinsAndLog): ReadonlySet<string> {
  try {
    return pins.identities()
  } catch (cause) {
    log?.failed?.('the list of peers', cause)
    return new Set()
  }
}

interface Caller {
  readonly channel: Channel
  readonly connection: LinkConnection
  /** The static key that a caller over TCP has proved to hold. */
  readonly noiseStatic: Buffer | undefined
  /** A pinned identity speaks here. */
  recognise(identity: string): void
}

export class Conversation {
  readonly #options: ConversationOptions
  readonly #scribe: Scribe
  readonly #images = new ImageCache()

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#scribe = new Scribe(options.identity, options.clock)
  }

  /** The pinned identity that holds this static key (ALP-TCP-08). */
  pinnedBy(noiseStatic: Buffer): string | undefined {
    return this.#images.holder(noiseStatic, pinnedNow(this.#options))
  }

  /** Whether there was an answer and the caller got all of it. If not, the connection is to be closed. */
  async serve(bytes: Buffer, caller: Caller): Promise<boolean> {
    const request = this.#admitted(bytes, caller)
    if (!request) return false
    caller.recognise(request.from)
    const reply = await this.#replyTo(request, caller.connection)
    if ('stream' in reply) return this.#stream(reply.stream, request, caller)
    return this.#send(reply, request, caller.channel)
  }

  /** The request, or nothing: nobody outside learns why. */
  #admitted(bytes: Buffer, { channel, connection, noiseStatic }: Caller): LinkRequest | undefined {
    const { identity, clock, pins, journal, log } = this.#options
    const drop = (reason: DropReason) => void log?.dropped?.(reason, channel.carrier)
    const pinned = pinnedNow(this.#options)
    const verdict = verifyMessage(bytes, {
      self: identity.id,
      now: clock.now(),
      replay: (from, nonce) => journal.admit(from, nonce, pinned.has(from)),
    })
    if (!verdict.ok) return drop(verdict.reason)
    const { from } = verdict.message
    if (!pinned.has(from)) {
      try {
        pins.stranger(from, connection.remote)
      } catch (cause) {
        log?.failed?.('the list of pending peers', cause)
      }
      return drop('unpinned')
    }
    // ALP-TCP-09, as recommended: always, not only where the static key is known.
    if (noiseStatic && !this.#images.of(from)?.equals(noiseStatic)) return drop('binding')
    return requestOf(verdict.message, channel)
  }

  async #replyTo(request: LinkRequest, connection: LinkConnection) {
    try {
      return await this.#options.handler(request, connection)
    } catch (cause) {
      return { error: this.#internal(cause) }
    }
  }

  async #stream(
    parts: AsyncIterable<StreamPart>,
    request: LinkRequest,
    { channel, connection }: Caller,
  ): Promise<boolean> {
    const iterator = parts[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await untilAborted(iterator.next(), connection.signal)
        const part = done ? { error: dispatchErrors.internal('the answer ended early') } : value
        if (!(await this.#send(bodyOf(part), request, channel))) return false
        if (!('chunk' in part)) return true
      }
    } catch (cause) {
      if (connection.signal.aborted) return false
      return await this.#send({ error: this.#internal(cause) }, request, channel)
    } finally {
      // Not waited for: a turn that takes long to wind up holds up nobody.
      const windUp = async () => iterator.return?.()
      windUp().catch(cause => this.#options.log?.failed?.('a stream', cause))
    }
  }

  async #send(says: ResponseBody, request: LinkRequest, channel: Channel): Promise<boolean> {
    // A peer that was unpinned meanwhile gets the silence of a stranger.
    if (!pinnedNow(this.#options).has(request.from)) return false
    let bytes = this.#sealed(says, request)
    if (bytes.length > request.most)
      bytes = this.#sealed({ error: dispatchErrors.internal('the answer is too large') }, request)
    return channel.send(bytes, linkDefaults.writeMs)
  }

  #sealed(says: ResponseBody, request: LinkRequest): Buffer {
    try {
      return this.#scribe.response(request.from, request.id, says)
    } catch (cause) {
      return this.#scribe.response(request.from, request.id, { error: this.#internal(cause) })
    }
  }

  /** ALP-SRV-03. A refusal of ours is written for others to read; the text of a defect may hold secrets. */
  #internal(cause: unknown): WireError {
    this.#options.log?.failed?.('a handler', cause)
    return dispatchErrors.internal(cause instanceof ParleyError ? cause.message : 'the request failed here')
  }
}

function bodyOf(part: StreamPart): ResponseBody {
  if ('error' in part) return { error: part.error }
  return 'chunk' in part ? { result: part.chunk, stream: 'chunk' } : { result: part.final, stream: 'final' }
}

/** Rejects as soon as the caller is gone: a turn may be silent for long. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
