// The requests of this side on one link: refused at once or sent, then answered, aborted, or lost with stream or link.
// Their ids are UUIDs (CALL-EVT-08): counters of both ends would collide.
import { type Clock, invariant } from '@parley/core'
import { type CallOptions, expiryOf, type SubscribeOptions, subscriptionExpiry } from '../call-options.ts'
import { CallError, connectionClosed } from '../error.ts'
import { callLimits } from '../limits.ts'
import { normalName, parsePath } from '../path.ts'
import { type ProfileName, type RequestFields, readError } from '../profile/profile.ts'
import type { StreamId, Transport } from '../transport/transport.ts'
import { fits } from '../wire/envelope.ts'
import { jsonProblem } from '../wire/json.ts'
import { Outgoing, type RequestSink, type Sender } from './outgoing.ts'
import { PendingMap, type PendingRequest } from './pending.ts'
import { Spelling, settleProbe } from './probe.ts'

export class OutgoingRequests implements Sender {
  readonly pending: PendingMap
  readonly spelling: Spelling
  readonly #transport: Transport
  #closed = false

  constructor(transport: Transport, clock: Clock, profile: ProfileName | 'auto') {
    this.#transport = transport
    this.pending = new PendingMap(clock, request => this.abortPeer(request))
    this.spelling = new Spelling(profile, this.pending, transport)
  }

  /** Sends a request; what comes of it goes to the sink, a refusal at once. */
  request(path: string, input: unknown, options: CallOptions & SubscribeOptions, sink: RequestSink): void {
    const now = this.pending.now()
    const overall = sink.once ? expiryOf(options, now) : subscriptionExpiry(options, now)
    const refused = overall instanceof CallError ? overall : this.#refuse(path, input, options)
    if (refused) {
      sink.fail(refused)
      return
    }
    const limit = overall as number
    const target = {
      id: options.requestId ?? crypto.randomUUID(),
      path,
      profile: this.spelling.profile,
      stream: this.#transport.openStream?.(),
    }
    const request = new Outgoing(this, target, options, limit, sink)
    const { parentRequestId, metadata, forwardedFor, authToken, idleTimeout } = options
    const deadline = Number.isFinite(limit) ? limit : undefined
    const fields = { parentRequestId, metadata, forwardedFor, authToken, deadline, idleTimeout }
    const text = this.#text(request, input, fields)
    if (text instanceof CallError) {
      sink.fail(text)
      return
    }
    this.pending.add(request)
    request.heed()
    this.#transport.send(text, request.stream)
  }

  #refuse(path: string, input: unknown, options: CallOptions): CallError | undefined {
    const { signal, requestId, metadata, forwardedFor } = options
    if (this.#closed) return connectionClosed()
    if (signal?.aborted) return new CallError('ABORTED', `${path} was aborted`)
    if (!parsePath(path)) return new CallError('INVALID_INPUT', `'${path.slice(0, 80)}' is no operation path`)
    if (requestId !== undefined && !this.#isFree(requestId))
      return new CallError('INVALID_INPUT', 'a request id has 1 to 128 characters and is in use once')
    const problem = jsonProblem(input) ?? jsonProblem(metadata) ?? jsonProblem(forwardedFor)
    return problem === undefined ? this.pending.full() : new CallError('INVALID_INPUT', problem)
  }

  #isFree(id: string): boolean {
    return id !== '' && id.length <= callLimits.idLength && !this.pending.get(id)
  }

  /** The event that asks, or why it cannot travel (CALL-WIRE-04). */
  #text({ id, path, profile }: PendingRequest, input: unknown, fields: RequestFields): string | CallError {
    const most = this.#transport.maxBody
    try {
      const text = profile.request(id, normalName(path), input, fields)
      if (fits(text, most)) return text
    } catch (cause) {
      // An accessor may answer otherwise the second time. A RangeError is a text that is too long for the platform.
      if (!(cause instanceof RangeError)) return new CallError('INVALID_INPUT', 'the input cannot be read')
    }
    return new CallError('PAYLOAD_TOO_LARGE', `the request of ${path} passes ${most} bytes`)
  }

  /** Cancels a request; does nothing for an unknown id. */
  abort(id: string): void {
    const request = this.pending.delete(id)
    if (!request) return
    this.abortPeer(request)
    request.end(true)
  }

  abortPeer({ id, profile }: Pick<PendingRequest, 'id' | 'profile'>): void {
    this.#transport.send(profile.aborted(id, profile.envelopeId(id)))
  }

  /** CALL-SUB-03: reading never stops on a shared stream; a consumer that is too slow loses its subscription. */
  overrun(id: string, path: string): void {
    const request = this.pending.delete(id)
    if (!request) return
    this.abortPeer(request)
    request.fail(new CallError('RESOURCE_EXHAUSTED', `the consumer of ${path} is too slow for its values`))
  }

  /** How long a subscription may be without values from now on; undefined for ever. */
  setIdle(id: string, timeout: number | undefined): void {
    const request = this.pending.get(id)
    if (request instanceof Outgoing) request.setIdle(timeout)
  }

  /** `call.responded`. */
  responded(id: string, payload: unknown): void {
    const request = this.pending.get(id)
    if (!request) {
      this.pending.unexpected(id)
      return
    }
    if (request.once) this.pending.delete(id)
    request.value(request.profile.value(payload))
  }

  /** `call.responded` with a value that is not JSON: it fails the request. */
  unfit(id: string, problem: string): void {
    const request = this.pending.delete(id)
    if (!request) return
    if (!request.once) this.abortPeer(request)
    request.fail(new CallError('INTERNAL', `the answer of ${request.path} is no JSON: ${problem}`))
  }

  /** `call.error`. */
  failed(id: string, payload: unknown): void {
    const request = this.pending.delete(id)
    if (!request) return
    settleProbe(request, payload)
    request.fail(readError(payload, request.profile))
  }

  /** `call.completed` or `call.aborted`; and where no more than the first value is wanted. */
  ended(id: string, aborted: boolean): void {
    this.pending.delete(id)?.end(aborted)
  }

  streamLost(stream: StreamId): void {
    this.pending.failStream(stream, connectionClosed())
  }

  /** The link is gone: from now on requests are refused at once. */
  lost(): void {
    this.#closed = true
    this.spelling.learn(this.spelling.profile)
    this.pending.failAll(connectionClosed())
    invariant(this.pending.size === 0, 'no request waits on a link that is gone')
  }
}
