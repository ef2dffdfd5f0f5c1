// A peer's request while it is being handled: what it asks, its context, and the one way in which it ends.
import { type Clock, invariant, type Principal } from '@parley/core'
import { CallContext } from '../context.ts'
import type { EnvAssembly } from '../env.ts'
import { CallError } from '../error.ts'
import { callDefaults } from '../limits.ts'
import type { Profile, ResponseMeta } from '../profile/profile.ts'
import type { ResponseEnvelope } from '../response.ts'
import type { StreamId } from '../transport/transport.ts'
import { jsonProblem } from '../wire/json.ts'
import type { InboundRequest } from '../wire/request.ts'
import type { Link } from './link.ts'
import type { Dispatcher } from './link-options.ts'

interface InboundOptions {
  readonly id: string
  /** The id that the request's envelope had: an answer in the OPS profile copies it. */
  readonly envelopeId: string
  readonly profile: Profile
  readonly link: Link
  /** The stream that it came on and is answered on, where the link has several. */
  readonly stream?: StreamId | undefined
  readonly clock: Clock
  readonly ended: () => void
  /** A request that took time to begin is due then. */
  readonly due: (at: number) => void
}

export class Inbound {
  readonly id: string
  readonly link: Link
  readonly stream: StreamId | undefined
  readonly #options: InboundOptions
  #path = ''
  #identity: Principal | undefined
  #context: CallContext | undefined
  #onAbort: ((reason: CallError) => void) | undefined
  #stopWaiting: (() => void) | undefined
  #waiting = false
  #ended = false
  /** Milliseconds since the Unix epoch at which the handler has run too long; infinite without a deadline. */
  #expires = Number.POSITIVE_INFINITY
  /** Milliseconds allowed without a value, and since when there has been none. */
  #idleTimeout = Number.POSITIVE_INFINITY
  #lastValue = 0

  constructor(options: InboundOptions) {
    this.id = options.id
    this.link = options.link
    this.stream = options.stream
    this.#options = options
    this.#identity = options.link.identity
  }

  get identity(): Principal | undefined {
    return this.#identity
  }

  get ended(): boolean {
    return this.#ended
  }

  /** `now` is in milliseconds since the Unix epoch. */
  begin(request: InboundRequest, now: number, dispatcher: Dispatcher): void {
    invariant(this.#path === '', 'a request begins once')
    this.#path = request.target.path
    const { deadline, idleTimeout } = request
    if (deadline !== undefined) this.#expires = expiryOf(deadline, now)
    if (idleTimeout !== undefined) {
      this.#idleTimeout = idleTimeout
      this.#lastValue = now
    }
    if (request.authToken === undefined || !dispatcher.identify) dispatcher.dispatch(request, this)
    else void this.#identified(request, request.authToken, dispatcher)
  }

  #now(): number {
    return this.#options.clock.now() / 1000
  }

  /** When the handler must be done; undefined for a stream that may go on for ever. */
  get deadline(): number | undefined {
    return this.#expires === Number.POSITIVE_INFINITY ? undefined : this.#expires
  }

  /** CALL-CTX-01: what answers once has a deadline, whether or not its caller set one. */
  limit(): void {
    if (this.deadline === undefined) this.#expires = Math.ceil(this.#now() + callDefaults.timeout)
  }

  /** When this request times out as things stand (CALL-CTX-03). A producer that waits for room is not silent. */
  due(now: number): number {
    if (this.#waiting) this.#lastValue = now
    return Math.min(this.#expires, this.#lastValue + this.#idleTimeout)
  }

  /** CALL-ACL-06: a token that means nothing changes nothing. */
  async #identified(request: InboundRequest, token: string, dispatcher: Dispatcher): Promise<void> {
    this.link.started()
    try {
      this.#identity = (await dispatcher.identify!(token)) ?? this.#identity
    } catch {
      this.fail(new CallError('INTERNAL', 'identities cannot be looked up'))
      return
    } finally {
      this.link.finished()
    }
    if (this.#ended) return
    dispatcher.dispatch(request, this)
    if (!this.#ended) this.#options.due(this.due(this.#now()))
  }

  context(request: InboundRequest, assembly: EnvAssembly): CallContext {
    this.#context = new CallContext(
      {
        requestId: this.id,
        parentRequestId: request.parentRequestId,
        identity: this.#identity,
        metadata: request.metadata,
        forwardedFor: request.forwardedFor,
        deadline: this.deadline,
      },
      assembly,
    )
    return this.#context
  }

  /** Calls back when the request is aborted, times out, or its link is lost. */
  onAbort(listener: (reason: CallError) => void): void {
    this.#onAbort = listener
  }

  /** Resolves when the next value may go out (CALL-SUB-04) or is no longer wanted; undefined if that is now. */
  room(): Promise<void> | undefined {
    this.#waiting = !this.#ended && this.link.full
    if (!this.#waiting) return undefined
    const drained = new Promise<void>(resolve => {
      const forget = this.link.onceDrained(resolve)
      this.#stopWaiting = () => {
        forget()
        resolve()
      }
    })
    // An earlier producer may have filled it again.
    return drained.then(() => this.room())
  }

  answer(response: ResponseEnvelope): void {
    const { result } = response
    if (result.ok) this.respond(result.value, result.meta)
    else this.fail(result.error)
  }

  respond(value: unknown, meta?: ResponseMeta): void {
    if (this.#ended) return
    this.#end()
    this.#send(value, meta)
  }

  /** One value of a stream; false if the request has ended. */
  value(value: unknown): boolean {
    if (this.#ended) return false
    if (this.#idleTimeout !== Number.POSITIVE_INFINITY) this.#lastValue = this.#now()
    if (this.#send(value)) return true
    this.#end()
    return false
  }

  complete(): void {
    if (this.#ended) return
    this.#end()
    const { profile, envelopeId } = this.#options
    this.#write(profile.completed(this.id, envelopeId))
  }

  fail(error: CallError): void {
    if (this.#ended) return
    this.#end()
    this.#sendError(error)
  }

  /** The handler gives up without an error (CALL-EVT-06): a routed stream whose worker did so. */
  abandon(): void {
    if (this.#ended) return
    this.#end()
    const { profile, envelopeId } = this.#options
    this.#write(profile.aborted(this.id, envelopeId))
  }

  /** Nothing more is sent; what runs for this request is told. */
  abort(reason: CallError): void {
    if (this.#ended) return
    this.#end()
    this.#stop(reason)
  }

  /** CALL-CTX-03. */
  timeOut(now: number): void {
    const late = this.#expires <= now
    const error = new CallError(
      'TIMEOUT',
      late
        ? `${this.#path} took longer than its deadline allows`
        : `${this.#path} gave no value for ${this.#idleTimeout} ms`,
    )
    this.fail(error)
    this.#stop(error)
  }

  #stop(reason: CallError): void {
    this.#context?.abort(reason)
    this.#onAbort?.(reason)
  }

  #end(): void {
    invariant(!this.#ended, 'a request ends once')
    this.#ended = true
    this.#options.ended()
    this.#stopWaiting?.()
  }

  #write(text: string): void {
    this.link.transport.send(text, this.stream)
  }

  /** False if the value cannot travel; the caller has then got an error instead. */
  #send(value: unknown, meta?: ResponseMeta): boolean {
    const text = this.#text(value, meta)
    if (typeof text === 'string') {
      this.#write(text)
      return true
    }
    this.#sendError(text)
    return false
  }

  /** The event that carries a value, or why it cannot travel (CALL-WIRE-04, -07). */
  #text(value: unknown, meta: ResponseMeta | undefined): string | CallError {
    const problem = jsonProblem(value) ?? jsonProblem(meta)
    if (problem !== undefined) return new CallError('INTERNAL', `the result of ${this.#path} is no JSON: ${problem}`)
    const { link, profile, envelopeId } = this.#options
    try {
      const text = profile.responded(this.id, envelopeId, value, this.#path, meta)
      if (link.fits(text)) return text
    } catch (cause) {
      // An accessor may answer otherwise the second time. A RangeError is a text that is too long for the platform.
      if (!(cause instanceof RangeError))
        return new CallError('INTERNAL', `the result of ${this.#path} is no JSON: it cannot be read`)
    }
    return new CallError('PAYLOAD_TOO_LARGE', `the result of ${this.#path} is too large for this link`)
  }

  /** An error always gets through, if need be without its details. */
  #sendError(error: CallError): void {
    const { link, profile, envelopeId } = this.#options
    try {
      const sound = jsonProblem(error.details) === undefined
      const text = sound ? profile.error(this.id, envelopeId, error) : undefined
      if (text !== undefined && link.fits(text)) {
        this.#write(text)
        return
      }
    } catch {
      // As above: what a handler throws need not be what it seems.
    }
    const plain = new CallError(shown(error.code, 'INTERNAL'), shown(error.message, ''), {
      retryable: error.retryable === true,
    })
    this.#write(profile.error(this.id, envelopeId, plain))
  }
}

/** Characters of a code or message that are left of an error which cannot travel whole. */
const SHOWN = 1024

function shown(text: unknown, otherwise: string): string {
  return typeof text === 'string' ? text.slice(0, SHOWN) : otherwise
}

/** A deadline that had passed on arrival was let in because clocks differ; the handler gets that allowance. */
function expiryOf(deadline: number, now: number): number {
  return deadline > now ? deadline : deadline + callDefaults.clockSkew
}
