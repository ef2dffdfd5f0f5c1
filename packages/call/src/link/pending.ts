// The requests that a link has sent and that are not answered yet (CALL-PEND): one map for each link, in memory only.
import { type CancelTimer, type Clock, invariant } from '@parley/core'
import { CallError } from '../error.ts'
import { callDefaults, callLimits } from '../limits.ts'
import type { Profile } from '../profile/profile.ts'
import type { StreamId } from '../transport/transport.ts'
import { BusyMap } from './busy-map.ts'
import { ExpiryTimer } from './expiry.ts'

export interface PendingRequest {
  readonly id: string
  readonly path: string
  readonly profile: Profile
  readonly parentRequestId: string | undefined
  /** The stream that it went out on, where the link has several. */
  readonly stream?: StreamId | undefined
  /** A call takes one value and ends; a subscription continues. */
  readonly once: boolean
  /** Milliseconds since the Unix epoch at which it times out; infinite for a subscription without a limit. */
  expires: number
  value(value: unknown): void
  end(aborted: boolean): void
  fail(error: CallError): void
}

/** All that is kept of a settled call. The request itself holds on to the value that it resolved to. */
type Settled = Pick<PendingRequest, 'id' | 'profile'>

export class PendingMap {
  readonly #clock: Clock
  readonly #abort: (request: Settled) => void
  readonly #requests = new BusyMap<PendingRequest>()
  /**
   * The newest ids that `call` settled (CALL-PEND-03), each with the profile to abort it in until that was done. A
   * ring, since every call writes to it and next to none reads: a map that is always filled at one end and emptied at
   * the other keeps the collector busy.
   */
  readonly #settled: (Settled | undefined)[] = []
  #settledAt = 0
  readonly #timer: ExpiryTimer
  #sweep: CancelTimer | undefined

  /** `abort` tells the peer that a request is no longer awaited. */
  constructor(clock: Clock, abort: (request: Settled) => void) {
    this.#clock = clock
    this.#abort = abort
    this.#timer = new ExpiryTimer(clock, now => this.#expire(now))
  }

  get size(): number {
    return this.#requests.size
  }

  get(id: string): PendingRequest | undefined {
    return this.#requests.get(id)
  }

  /** Undefined if there is room; otherwise the refusal (CALL-PEND-06). */
  full(): CallError | undefined {
    if (this.#requests.size < callLimits.pending) return undefined
    return new CallError('RESOURCE_EXHAUSTED', `${callLimits.pending} requests wait on this link already`)
  }

  add(request: PendingRequest): void {
    invariant(!this.#requests.has(request.id), 'a request waits under an id of its own')
    this.#requests.set(request.id, request)
    this.#timer.add(request.expires)
    this.#sweep ??= this.#sweepLater()
  }

  expireAt(request: PendingRequest, expires: number): void {
    request.expires = expires
    this.#timer.add(expires)
  }

  delete(id: string): PendingRequest | undefined {
    const request = this.#requests.get(id)
    if (request) this.#requests.delete(id)
    return request
  }

  /** Remembers a call that got its value: a second value shows that its operation streams. */
  settle({ id, profile }: Settled): void {
    this.#settled[this.#settledAt] = { id, profile }
    this.#settledAt = (this.#settledAt + 1) % callLimits.settled
  }

  /** A value for an id that is not awaited: the rest of the stream is canceled, once. */
  unexpected(id: string): void {
    const at = this.#settled.findIndex(each => each?.id === id)
    const settled = this.#settled[at]
    if (!settled) return
    this.#settled[at] = undefined
    this.#abort(settled)
  }

  /** Fails everything; the map is empty before anybody hears of it (CALL-PEND-07). */
  failAll(error: CallError): void {
    const requests = this.#requests.values()
    this.#requests.clear()
    this.#settled.length = 0
    this.#settledAt = 0
    this.#timer.stop()
    this.#sweep?.()
    this.#sweep = undefined
    for (const request of requests) request.fail(error)
  }

  /** Fails the requests of one stream of several; the peer is not notified, since the stream is gone (CALL-PEND-07). */
  failStream(stream: StreamId, error: CallError): void {
    const requests = this.#requests.values().filter(request => request.stream === stream)
    for (const request of requests) this.#requests.delete(request.id)
    for (const request of requests) request.fail(error)
  }

  now(): number {
    return this.#timer.now()
  }

  /** Times out what is due; returns when the next is. */
  #expire(now: number): number {
    let next = Number.POSITIVE_INFINITY
    const expired: PendingRequest[] = []
    for (const request of this.#requests.values()) {
      if (request.expires <= now) expired.push(request)
      else if (request.expires < next) next = request.expires
    }
    for (const request of expired) {
      this.#requests.delete(request.id)
      this.#abort(request)
      request.fail(new CallError('TIMEOUT', `${request.path} was not answered in time`))
    }
    return next
  }

  #sweepLater(): CancelTimer {
    return this.#clock.after(callDefaults.sweep, () => this.#sweepNow(), { background: true })
  }

  /** CALL-PEND-05: the backstop of the timer. */
  #sweepNow(): void {
    this.#sweep = undefined
    this.#timer.run()
    if (this.#requests.size > 0) this.#sweep = this.#sweepLater()
  }
}
