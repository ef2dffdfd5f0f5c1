// One link between two nodes: both ends call and handle, at the same time, over one transport. Own requests are with
// `OutgoingRequests`, each of the peer's is an `Inbound`; `Dispatcher`, the node, decides where that goes.
import { type Clock, type Principal, SystemClock } from '@parley/core'
import { bufferOf, type CallOptions, type SubscribeOptions } from '../call-options.ts'
import { CallError } from '../error.ts'
import { callDefaults, callLimits } from '../limits.ts'
import { detectProfile, requestIdOf } from '../profile/profile.ts'
import { ResponseEnvelope, thrownError } from '../response.ts'
import type { Receiver, StreamId, Transport } from '../transport/transport.ts'
import { type Envelope, fits, UnfitPayload } from '../wire/envelope.ts'
import { jsonProblem } from '../wire/json.ts'
import { readRequest } from '../wire/request.ts'
import { BusyMap } from './busy-map.ts'
import { ExpiryTimer } from './expiry.ts'
import { Inbound } from './inbound.ts'
import type { Dispatcher, EventListener, LinkOptions } from './link-options.ts'
import { OperationTypes } from './operation-types.ts'
import { Answer, type RequestSink } from './outgoing.ts'
import { OutgoingRequests } from './outgoing-requests.ts'
import { ValueQueue } from './queue.ts'

export class Link {
  readonly transport: Transport
  readonly types = new OperationTypes((path, input, options) => this.callEnvelope(path, input, options))
  readonly #options: LinkOptions
  readonly #clock: Clock
  readonly #requests: OutgoingRequests
  readonly #inbound = new BusyMap<Inbound>()
  readonly #deadlines: ExpiryTimer
  readonly #listeners = new Map<string, Set<EventListener>>()
  readonly #closeListeners = new Set<(reason: string) => void>()
  readonly #drained = new Set<() => void>()
  #closed: string | undefined
  #running = 0
  #complaints = 0
  #violated = false
  #crowded = false

  constructor(options: LinkOptions) {
    this.#options = options
    this.transport = options.transport
    this.#clock = options.clock ?? systemClock
    this.#requests = new OutgoingRequests(this.transport, this.#clock, options.profile ?? 'seed')
    this.#deadlines = new ExpiryTimer(this.#clock, now => this.#expireInbound(now))
    this.transport.start({
      envelope: (envelope, stream) => this.#receive(envelope, stream),
      crowded: () => this.#crowded && this.#release(),
      violation: violation => {
        this.#violated = true
        this.#complain(`the peer sent what cannot be understood: ${violation.message}`)
      },
      streamClosed: stream => this.#streamLost(stream),
      drain: () => this.#drain(),
      closed: reason => this.#lost(reason),
    } satisfies Receiver)
  }

  get identity(): Principal | undefined {
    return this.transport.identity
  }

  get pendingCount(): number {
    return this.#requests.pending.size
  }

  get inboundCount(): number {
    return this.#inbound.size
  }

  /** Whether the peer sent what is not of the protocol. */
  get violated(): boolean {
    return this.#violated
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  /** Resolves when `request` can be used: at once, unless the peer's spelling is still to be found out. */
  async ready(): Promise<void> {
    if (!this.#requests.spelling.known) await this.#requests.spelling.findOut()
  }

  /** Resolves to the value; rejects with `CallError`. */
  call<T = unknown>(path: string, input: unknown = null, options: CallOptions = NO_OPTIONS): Promise<T> {
    const { spelling } = this.#requests
    if (!spelling.known) return spelling.findOut().then(() => this.call<T>(path, input, options))
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
    const requestId = options.requestId ?? crypto.randomUUID()
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
    const requestId = options.requestId ?? crypto.randomUUID()
    const queue: ValueQueue<T> = new ValueQueue<T>({
      capacity: bufferOf(options.buffer, callLimits.receiveBuffer),
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
    if (!this.#requests.spelling.known) await this.#requests.spelling.findOut()
    if (queue.ended) return
    const { requestId, single } = options
    let unsure = single === undefined && this.types.get(path) !== 'subscription'
    const sink: RequestSink = {
      once: false,
      value: value => {
        if (!queue.push(value)) this.#requests.overrun(requestId, path)
        else if (queue.full) this.hold()
        if (single) this.#requests.ended(requestId, false)
        else if (unsure) void this.findOutKind(requestId, path, options)
        unsure = false
      },
      end: aborted => {
        options.onEnd?.(aborted)
        queue.end()
      },
      fail: error => queue.end(error),
    }
    this.request(path, input, options, sink)
  }

  request(path: string, input: unknown, options: CallOptions & SubscribeOptions, sink: RequestSink): void {
    this.#requests.request(path, input, options, sink)
  }

  /**
   * CALL-SUB-07: the first value has come of a subscription whose operation may answer only once, and then it would
   * wait for ever. It ends if the peer says so; while the type is not known, silence ends it.
   */
  async findOutKind(id: string, path: string, { authToken }: Pick<CallOptions, 'authToken'>): Promise<void> {
    this.#requests.setIdle(id, callDefaults.unknownIdle)
    const type = await this.types.ask(path, authToken === undefined ? {} : { authToken })
    if (type === 'subscription') this.#requests.setIdle(id, undefined)
    else if (type !== undefined) this.#requests.ended(id, false)
  }

  abort(id: string): void {
    this.#requests.abort(id)
  }

  fits(text: string): boolean {
    return fits(text, this.transport.maxBody)
  }

  /** One-way events that are no calls (CALL-WIRE-06). */
  on(type: string, listener: EventListener): () => void {
    const listeners = this.#listeners.get(type) ?? new Set()
    this.#listeners.set(type, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Sends one to the other end, which does not relay it; the topic `""` is for all of its listeners. */
  emit(type: string, topic: string, payload: unknown): void {
    if (type.startsWith('call.')) throw new TypeError('events of calls are sent by calling')
    const problem = jsonProblem(payload)
    if (problem !== undefined) throw new CallError('INVALID_INPUT', problem)
    const text = JSON.stringify({ type, id: topic, payload: payload ?? null })
    if (!this.fits(text)) throw new CallError('PAYLOAD_TOO_LARGE', `the event passes ${this.transport.maxBody} bytes`)
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

  #receive(envelope: Envelope, stream: StreamId | undefined): void {
    const { type, payload } = envelope
    if (payload instanceof UnfitPayload) {
      this.#unfit(envelope, payload, stream)
      return
    }
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
        this.#requests.responded(id, payload)
        return
      case 'call.completed':
        this.#requests.ended(id, false)
        return
      case 'call.error':
        this.#requests.failed(id, payload)
        return
      case 'call.aborted':
        this.#aborted(id)
        return
      default:
        this.#complain(`dropped an event of unknown type ${type.slice(0, 80)}`)
    }
  }

  /** CALL-TRANS-06: a value that is no JSON fails the request that it belongs to, and nothing else. */
  #unfit({ type, id: envelopeId }: Envelope, { given, problem }: UnfitPayload, stream?: StreamId): void {
    const id = requestIdOf(envelopeId, given)
    switch (type) {
      case 'call.requested':
        this.#requested(id, { type, id: envelopeId, payload: given }, stream, problem)
        return
      case 'call.responded':
        this.#requests.unfit(id, problem)
        return
      case 'call.error':
        this.#requests.failed(id, { ...(given as object), details: undefined })
        return
      case 'call.completed':
      case 'call.aborted':
        this.#receive({ type, id, payload: null }, stream)
        return
      default:
        this.#complain(`dropped an event of type ${type.slice(0, 80)} that is no JSON: ${problem}`)
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

  /** CALL-EVT-06: the peer cancels its own request, or gives up handling ours. */
  #aborted(id: string): void {
    const inbound = this.#inbound.get(id)
    if (inbound) {
      inbound.abort(new CallError('ABORTED', 'the caller aborted'))
      return
    }
    this.#requests.ended(id, true)
  }

  /** `problem`: why the payload is no JSON, if it is none. */
  #requested(id: string, envelope: Envelope, stream: StreamId | undefined, problem?: string): void {
    if (id === '' || id.length > callLimits.idLength || this.#inbound.has(id)) {
      this.#complain('dropped a request without a usable id')
      return
    }
    const now = this.#clock.now() / 1000
    const profile = detectProfile(envelope.payload)
    const request =
      problem === undefined
        ? readRequest(id, envelope.payload, now)
        : new CallError('INVALID_INPUT', `the request is no JSON: ${problem}`)
    const inbound = new Inbound({
      id,
      envelopeId: envelope.id,
      profile,
      link: this,
      stream,
      clock: this.#clock,
      ended: () => this.#inbound.delete(id),
      due: at => this.#deadlines.add(at),
    })
    const full = this.#inbound.size >= callLimits.inbound || this.#running >= callLimits.running
    this.#inbound.set(id, inbound)
    // CALL-EVT-02: what is malformed does not show how the peer spells.
    if (!(request instanceof CallError) || request.code === 'TIMEOUT') this.#requests.spelling.learn(profile)
    if (request instanceof CallError) inbound.fail(request)
    else inbound.begin(request, now, full ? exhausted : this.#options.dispatcher)
    if (!inbound.ended) this.#deadlines.add(inbound.due(now))
  }

  /** CALL-CTX-03: handlers that run, or are silent, longer than their caller waits. Returns when the next is due. */
  #expireInbound(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const inbound of this.#inbound.values()) {
      const due = inbound.due(now)
      if (due <= now) inbound.timeOut(now)
      else if (due < next) next = due
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
    this.#requests.streamLost(stream)
    const gone = new CallError('ABORTED', 'connection closed')
    for (const inbound of this.#inbound.values()) if (inbound.stream === stream) inbound.abort(gone)
  }

  /** CALL-PEND-07: everything is settled before the application hears of it. */
  #lost(reason: string): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#deadlines.stop()
    this.#requests.lost()
    const gone = new CallError('ABORTED', 'connection closed')
    for (const inbound of this.#inbound.values()) inbound.abort(gone)
    this.#drain()
    for (const listener of this.#closeListeners) listener(reason)
    this.#closeListeners.clear()
  }
}

const systemClock = new SystemClock()
const NO_OPTIONS = Object.freeze({})

/** CALL-EVT-03: what is malformed is told so even then. */
const exhausted: Dispatcher = {
  dispatch: (_request, inbound) =>
    inbound.fail(new CallError('RESOURCE_EXHAUSTED', `${callLimits.inbound} requests are being handled already`)),
}
