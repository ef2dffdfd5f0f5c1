// One link between two nodes: both ends call and handle, at the same time, over one transport. This is the protocol itself; where a
// request goes is the node's decision (`Dispatcher`), how envelopes travel is the transport's.
import { type Clock, type Principal, SystemClock } from '@parley/core'
import { BusyMap } from './busy-map.ts'
import type { Envelope } from './envelope.ts'
import { CallError, connectionClosed } from './error.ts'
import { ExpiryTimer } from './expiry.ts'
import { Inbound } from './inbound.ts'
import { jsonProblem } from './json.ts'
import { callDefaults, callLimits } from './limits.ts'
import { Answer, Outgoing, type Sender } from './outgoing.ts'
import { normalName, parsePath } from './path.ts'
import { PendingMap, type PendingRequest } from './pending.ts'
import { probeRequest, probeText, settleProbe } from './probe.ts'
import {
  detectProfile,
  type Profile,
  type ProfileName,
  profileOf,
  type RequestFields,
  readError,
  requestIdOf,
} from './profile/profile.ts'
import { ValueQueue } from './queue.ts'
import type { InboundRequest } from './request.ts'
import { ResponseEnvelope, thrownError } from './response.ts'
import type { Receiver, StreamId, Transport } from './transport/transport.ts'
import { randomUUID } from './uuid.ts'

export interface CallOptions {
  /** Milliseconds from now; 30 s by default, and never without end. */
  readonly timeout?: number
  /** Milliseconds since the Unix epoch, in place of `timeout`. */
  readonly deadline?: number
  readonly parentRequestId?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly forwardedFor?: unknown
  readonly authToken?: string
  readonly signal?: AbortSignal
  /** The operation is known to stream: the rest is cancelled with its first value. */
  readonly streams?: boolean
  /** The id of the request, where somebody else needs to know it first. */
  readonly requestId?: string
}

export interface SubscribeOptions extends Omit<CallOptions, 'streams' | 'timeout'> {
  readonly timeout?: number
  /** Milliseconds allowed between two values. */
  readonly idleTimeout?: number
  /** Values that may wait for the consumer; 32 by default. */
  readonly buffer?: number
  /** The operation is known to answer once: the subscription ends with its first value. */
  readonly single?: boolean
  /** Told when the stream ends without an error: completed, or aborted by either side. */
  readonly onEnd?: (aborted: boolean) => void
}

/** What comes of a request. Exactly one of `end` and `fail` is called, unless `once` and a value came first. */
export interface RequestSink {
  /** The first value is the answer. */
  readonly once: boolean
  value(value: unknown): void
  /** `call.completed`, or `call.aborted` from either side. */
  end(aborted: boolean): void
  fail(error: CallError): void
}

/** Where a peer's requests go. */
export interface Dispatcher {
  /** Answers a request, now or later; it never throws. `Inbound` is how. */
  dispatch(request: InboundRequest, inbound: Inbound): void
  /** Who a token belongs to; undefined for nobody. */
  identify?(token: string): Promise<Principal | undefined>
}

export interface LinkOptions {
  readonly transport: Transport
  readonly dispatcher: Dispatcher
  readonly clock?: Clock
  /** Spelling of own requests; `auto` finds out what the peer uses. Default `seed`. */
  readonly profile?: ProfileName | 'auto'
  readonly log?: (message: string) => void
}

export type EventListener = (topic: string, payload: unknown) => void

export class Link {
  readonly transport: Transport
  readonly #options: LinkOptions
  readonly #clock: Clock
  readonly #pending: PendingMap
  readonly #sender: Sender
  readonly #inbound = new BusyMap<Inbound>()
  readonly #deadlines: ExpiryTimer
  readonly #listeners = new Map<string, Set<EventListener>>()
  readonly #closeListeners = new Set<(reason: string) => void>()
  readonly #drained = new Set<() => void>()
  #profile: Profile
  /** What own requests wait for while the peer's spelling is being found out. */
  #probing: Promise<void> | undefined
  #learned: boolean
  #closed: string | undefined
  #running = 0
  #complaints = 0
  #crowded = false

  constructor(options: LinkOptions) {
    this.#options = options
    this.transport = options.transport
    this.#clock = options.clock ?? systemClock
    const profile = options.profile ?? 'seed'
    this.#profile = profileOf(profile === 'auto' ? 'seed' : profile)
    this.#learned = profile !== 'auto'
    this.#deadlines = new ExpiryTimer(this.#clock, now => this.#expireInbound(now))
    this.#pending = new PendingMap({
      clock: this.#clock,
      abort: request =>
        this.transport.send(request.profile.aborted(request.id, request.profile.envelopeId(request.id))),
    })
    this.#sender = {
      pending: this.#pending,
      abort: id => this.abort(id),
      abortPeer: request => this.#abortPeer(request),
    }
    this.transport.start({
      envelope: (envelope, stream) => this.#receive(envelope, stream),
      crowded: () => this.#crowded && this.#release(),
      violation: violation => this.#complain(`the peer sent what cannot be understood: ${violation.message}`),
      streamClosed: stream => this.#streamLost(stream),
      drain: () => this.#drain(),
      closed: reason => this.#lost(reason),
    } satisfies Receiver)
  }

  get identity(): Principal | undefined {
    return this.transport.identity
  }

  get pendingCount(): number {
    return this.#pending.size
  }

  get inboundCount(): number {
    return this.#inbound.size
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  // Calling

  /** Resolves when `request` can be used: at once, unless the peer's spelling is still to be found out. */
  async ready(): Promise<void> {
    if (!this.#learned) await this.#probe()
  }

  /** Resolves to the value; rejects with `CallError`. */
  call<T = unknown>(path: string, input: unknown = null, options: CallOptions = NO_OPTIONS): Promise<T> {
    if (!this.#learned) return this.#probe().then(() => this.call<T>(path, input, options))
    return new Promise<T>((resolve, reject) => {
      this.request(path, input, options, new Answer(path, resolve as (value: unknown) => void, reject))
    })
  }

  /** Never rejects for what the protocol knows. */
  async callEnvelope<T = unknown>(
    path: string,
    input: unknown = null,
    options: CallOptions = NO_OPTIONS,
  ): Promise<ResponseEnvelope<T>> {
    const requestId = options.requestId ?? randomUUID()
    try {
      return ResponseEnvelope.success(requestId, await this.call<T>(path, input, { ...options, requestId }))
    } catch (thrown) {
      if (thrown instanceof CallError) return ResponseEnvelope.failure(requestId, thrown)
      throw thrown
    }
  }

  /** The values in their order. The request goes out when iteration starts. */
  subscribe<T = unknown>(
    path: string,
    input: unknown = null,
    options: SubscribeOptions = NO_OPTIONS,
  ): AsyncIterable<T> {
    const requestId = options.requestId ?? randomUUID()
    const capacity = Math.min(
      Math.max(1, options.buffer ?? callLimits.receiveBuffer),
      callLimits.receiveBufferMost,
    )
    const queue: ValueQueue<T> = new ValueQueue<T>({
      capacity,
      start: () => void this.#open(path, input, { ...options, requestId }, queue as ValueQueue<unknown>),
      cancel: () => this.abort(requestId),
    })
    return queue
  }

  async #open(
    path: string,
    input: unknown,
    options: SubscribeOptions & { readonly requestId: string },
    queue: ValueQueue<unknown>,
  ): Promise<void> {
    if (!this.#learned) await this.#probe()
    if (queue.ended) return
    const sink: RequestSink = {
      once: false,
      value: value => {
        if (!queue.push(value)) this.#overrun(options.requestId, path)
        else if (queue.full) this.hold()
        else if (options.single) this.#pending.delete(options.requestId)?.end(false)
      },
      end: aborted => {
        options.onEnd?.(aborted)
        queue.end()
      },
      fail: error => queue.end(error),
    }
    this.request(path, input, options, sink)
  }

  /** Sends a request; what comes of it goes to the sink, a refusal at once. */
  request(path: string, input: unknown, options: CallOptions & SubscribeOptions, sink: RequestSink): void {
    const now = this.#pending.now()
    const overall = sink.once ? expiryOf(options, now) : subscriptionExpiry(options, now)
    const refused = overall instanceof CallError ? overall : this.#refuse(path, input, options)
    if (refused) {
      sink.fail(refused)
      return
    }
    const limit = overall as number
    const target = {
      id: options.requestId ?? randomUUID(),
      path,
      profile: this.#profile,
      stream: this.transport.openStream?.(),
    }
    const request = new Outgoing(this.#sender, target, options, limit, sink)
    const { parentRequestId, metadata, forwardedFor, authToken, idleTimeout } = options
    const deadline = Number.isFinite(limit) ? limit : undefined
    const fields = { parentRequestId, metadata, forwardedFor, authToken, deadline, idleTimeout }
    const text = this.#requestText(request, input, fields)
    if (text instanceof CallError) {
      sink.fail(text)
      return
    }
    this.#pending.add(request)
    request.heed()
    this.transport.send(text, request.stream)
  }

  /** The event that asks, or why it cannot travel (CALL-WIRE-04). */
  #requestText(
    { id, path, profile }: PendingRequest,
    input: unknown,
    fields: RequestFields,
  ): string | CallError {
    try {
      const text = profile.request(id, normalName(path), input, fields)
      if (this.fits(text)) return text
    } catch (cause) {
      // An accessor may answer otherwise the second time. A RangeError is a text that is too long for the platform.
      if (!(cause instanceof RangeError)) return new CallError('INVALID_INPUT', 'the input cannot be read')
    }
    return new CallError('PAYLOAD_TOO_LARGE', `the request of ${path} passes ${this.transport.maxBody} bytes`)
  }

  /** CALL-SUB-03: on a shared stream nobody stops reading; a consumer that is too slow loses its subscription, and hears of it. */
  #overrun(id: string, path: string): void {
    const request = this.#pending.delete(id)
    if (!request) return
    this.#abortPeer(request)
    request.fail(new CallError('RESOURCE_EXHAUSTED', `the consumer of ${path} is too slow for its values`))
  }

  /** Cancels a request of this side; unknown ids are nobody's. */
  abort(id: string): void {
    const request = this.#pending.delete(id)
    if (!request) return
    this.#abortPeer(request)
    request.end(true)
  }

  #abortPeer(request: PendingRequest): void {
    this.transport.send(request.profile.aborted(request.id, request.profile.envelopeId(request.id)))
  }

  #refuse(path: string, input: unknown, options: CallOptions): CallError | undefined {
    const { signal, requestId, metadata, forwardedFor } = options
    if (this.#closed !== undefined) return connectionClosed()
    if (signal?.aborted) return new CallError('ABORTED', `${path} was aborted`)
    if (!parsePath(path)) return new CallError('INVALID_INPUT', `'${path.slice(0, 80)}' is no operation path`)
    if (requestId !== undefined && !this.#isFree(requestId))
      return new CallError('INVALID_INPUT', 'a request id has 1 to 128 characters and is in use once')
    const problem = jsonProblem(input) ?? jsonProblem(metadata) ?? jsonProblem(forwardedFor)
    return problem === undefined ? this.#pending.full() : new CallError('INVALID_INPUT', problem)
  }

  #isFree(id: string): boolean {
    return id !== '' && id.length <= callLimits.idLength && !this.#pending.get(id)
  }

  /** Whether an envelope's text is small enough for this link. */
  fits(text: string): boolean {
    const most = this.transport.maxBody
    return text.length * 3 <= most || (text.length <= most && utf8.encode(text).length <= most)
  }

  /** CALL-EVT-02: asks once in every spelling at the same time, and sees how the peer answers. */
  #probe(): Promise<void> {
    this.#probing ??= new Promise(resolve => {
      const id = randomUUID()
      const learn = (profile: Profile | undefined) => {
        this.#pending.delete(id)
        if (!this.#learned) this.#learn(profile ?? profileOf('seed'))
        resolve()
      }
      const stream = this.transport.openStream?.()
      const request = probeRequest(id, stream, this.#pending.now() + callDefaults.probe, learn)
      this.#pending.add(request)
      this.transport.send(probeText(request), stream)
    })
    return this.#probing
  }

  #learn(profile: Profile): void {
    this.#learned = true
    this.#profile = profile
  }

  // Other events

  /** One-way events that are no calls (CALL-WIRE-06). */
  on(type: string, listener: EventListener): () => void {
    const listeners = this.#listeners.get(type) ?? new Set()
    this.#listeners.set(type, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  emit(type: string, topic: string, payload: unknown): void {
    if (type.startsWith('call.')) throw new TypeError('events of calls are sent by calling')
    const problem = jsonProblem(payload)
    if (problem !== undefined) throw new CallError('INVALID_INPUT', problem)
    const text = JSON.stringify({ type, id: topic, payload: payload ?? null })
    if (!this.fits(text))
      throw new CallError('PAYLOAD_TOO_LARGE', `the event passes ${this.transport.maxBody} bytes`)
    this.transport.send(text)
  }

  onClose(listener: (reason: string) => void): () => void {
    if (this.#closed !== undefined) listener(this.#closed)
    else this.#closeListeners.add(listener)
    return () => this.#closeListeners.delete(listener)
  }

  close(reason = 'closed'): void {
    this.transport.close(reason)
  }

  // What the transport brings

  #receive(envelope: Envelope, stream: StreamId | undefined): void {
    const { type, payload } = envelope
    if (!type.startsWith('call.')) {
      for (const listener of this.#listeners.get(type) ?? []) this.#tell(listener, envelope)
      return
    }
    const id = requestIdOf(envelope.id, payload)
    switch (type) {
      case 'call.requested':
        this.#requested(id, envelope, stream)
        return
      case 'call.responded':
        this.#responded(id, payload)
        return
      case 'call.completed':
        this.#pending.delete(id)?.end(false)
        return
      case 'call.error': {
        const request = this.#pending.delete(id)
        if (request) settleProbe(request, payload)
        request?.fail(readError(payload))
        return
      }
      case 'call.aborted':
        this.#aborted(id)
        return
      default:
        this.#complain(`dropped an event of unknown type ${type.slice(0, 80)}`)
    }
  }

  /** A listener that fails on what a peer sent must not take the process along. */
  #tell(listener: EventListener, { type, id, payload }: Envelope): void {
    try {
      listener(id, payload)
    } catch (thrown) {
      this.#complain(`a listener for ${type.slice(0, 80)} failed: ${thrownError(thrown, []).message}`)
    }
  }

  /** A peer must not be able to fill a log. */
  #complain(message: string): void {
    if (this.#complaints++ < callLimits.complaints) this.#options.log?.(message)
  }

  #responded(id: string, payload: unknown): void {
    const request = this.#pending.get(id)
    if (!request) {
      this.#pending.unexpected(id)
      return
    }
    if (request.once) this.#pending.delete(id)
    request.value(request.profile.value(payload))
  }

  /** CALL-EVT-06: the peer cancels its own request, or gives up handling ours. */
  #aborted(id: string): void {
    const inbound = this.#inbound.get(id)
    if (inbound) {
      inbound.abort(new CallError('ABORTED', 'the caller aborted'))
      return
    }
    this.#pending.delete(id)?.end(true)
  }

  #requested(id: string, envelope: Envelope, stream: StreamId | undefined): void {
    if (id === '' || id.length > callLimits.idLength || this.#inbound.has(id)) {
      this.#complain('dropped a request without a usable id')
      return
    }
    const profile = detectProfile(envelope.payload)
    if (!this.#learned) this.#learn(profile)
    const inbound = new Inbound({
      id,
      envelopeId: envelope.id,
      profile,
      link: this,
      stream,
      clock: this.#clock,
      ended: () => this.#inbound.delete(id),
    })
    const full = this.#inbound.size >= callLimits.inbound || this.#running >= callLimits.running
    this.#inbound.set(id, inbound)
    inbound.begin(envelope.payload, full ? exhausted : this.#options.dispatcher)
    if (!inbound.ended) this.#deadlines.add(inbound.expires)
  }

  /** CALL-CTX-03: handlers that run longer than their caller waits. Returns when the next is due. */
  #expireInbound(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const inbound of this.#inbound.values()) {
      if (inbound.expires <= now) inbound.timeOut()
      else if (inbound.expires < next) next = inbound.expires
    }
    return next
  }

  #drain(): void {
    const waiting = [...this.#drained]
    this.#drained.clear()
    for (const go of waiting) go()
  }

  /** Whether so much is queued that producers wait (CALL-SUB-04). */
  get full(): boolean {
    return this.transport.queued > callLimits.highWater && this.#closed === undefined
  }

  /** Calls back when there is room again; the answer forgets about it. */
  onceDrained(go: () => void): () => void {
    this.#drained.add(go)
    return () => this.#drained.delete(go)
  }

  /** A consumer has no room left: it gets its turn before more is delivered (CALL-SUB-03). */
  hold(): void {
    this.#crowded = true
  }

  #release(): true {
    this.#crowded = false
    return true
  }

  /** A handler runs for a request of this link, until `finished`. It may outlast the request. */
  started(): void {
    this.#running++
  }

  finished(): void {
    this.#running--
  }

  /** CALL-PEND-07 for one stream of several: what went over it has failed on both sides. */
  #streamLost(stream: StreamId): void {
    this.#pending.failStream(stream, connectionClosed())
    const gone = new CallError('ABORTED', 'connection closed')
    for (const inbound of this.#inbound.values()) if (inbound.stream === stream) inbound.abort(gone)
  }

  /** CALL-PEND-07: everything is settled before the application hears of it. */
  #lost(reason: string): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    // There is nobody left to ask: requests are refused at once.
    this.#learned = true
    this.#deadlines.stop()
    this.#pending.failAll(connectionClosed())
    const gone = new CallError('ABORTED', 'connection closed')
    for (const inbound of this.#inbound.values()) inbound.abort(gone)
    this.#drain()
    for (const listener of this.#closeListeners) listener(reason)
    this.#closeListeners.clear()
  }
}

const systemClock = new SystemClock()
const NO_OPTIONS = Object.freeze({})
const utf8 = new TextEncoder()

/** CALL-EVT-03: what is malformed is told so even then. */
const exhausted: Dispatcher = {
  dispatch: (_request, inbound) =>
    inbound.fail(
      new CallError('RESOURCE_EXHAUSTED', `${callLimits.inbound} requests are being handled already`),
    ),
}

/** CALL-PEND-04: a call always ends. */
export function expiryOf(options: CallOptions, now: number): number | CallError {
  const { deadline, timeout = callDefaults.timeout } = options
  if (deadline !== undefined) {
    if (!Number.isFinite(deadline))
      return new CallError('INVALID_INPUT', 'a deadline must be a finite number')
    return deadline <= now ? new CallError('TIMEOUT', 'the deadline has passed already') : deadline
  }
  if (!Number.isFinite(timeout) || timeout <= 0)
    return new CallError('INVALID_INPUT', 'a timeout must be a positive number')
  return Math.ceil(now + timeout)
}

/** A subscription may last for ever. */
export function subscriptionExpiry(
  { deadline, timeout, idleTimeout }: SubscribeOptions,
  now: number,
): number | CallError {
  if (idleTimeout !== undefined && !(Number.isFinite(idleTimeout) && idleTimeout >= 1))
    return new CallError('INVALID_INPUT', 'an idle timeout must be a number from 1 on')
  const due = deadline ?? (timeout === undefined ? Number.POSITIVE_INFINITY : now + timeout)
  if (Number.isNaN(due)) return new CallError('INVALID_INPUT', 'a deadline must be a number')
  return due <= now ? new CallError('TIMEOUT', 'the deadline has passed already') : due
}
