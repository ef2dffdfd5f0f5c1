// A request of this side from sending to its end, and a call's promise. Closures for each would cost more than sending.
import type { CallOptions, SubscribeOptions } from '../call-options.ts'
import { CallError } from '../error.ts'
import type { Profile } from '../profile/profile.ts'
import type { StreamId } from '../transport/transport.ts'
import type { PendingMap, PendingRequest } from './pending.ts'

/** What comes of a request. Exactly one of `end` and `fail` is called, unless `once` and a value came first. */
export interface RequestSink {
  readonly once: boolean
  value(value: unknown): void
  /** `call.completed`, or `call.aborted` from either side. */
  end(aborted: boolean): void
  fail(error: CallError): void
}

export interface Sender {
  readonly pending: PendingMap
  abort(id: string): void
  abortPeer(request: PendingRequest): void
}

export class Outgoing implements PendingRequest {
  readonly id: string
  readonly path: string
  readonly profile: Profile
  readonly stream: StreamId | undefined
  readonly once: boolean
  expires: number
  readonly #sender: Sender
  readonly #options: CallOptions & SubscribeOptions
  readonly #limit: number
  readonly #sink: RequestSink
  #idleTimeout: number | undefined
  #stop: (() => void) | undefined

  /** `limit`: when it ends whatever comes, in milliseconds since the Unix epoch. */
  constructor(
    sender: Sender,
    target: Pick<PendingRequest, 'id' | 'path' | 'profile' | 'stream'>,
    options: CallOptions & SubscribeOptions,
    limit: number,
    sink: RequestSink,
  ) {
    this.id = target.id
    this.path = target.path
    this.profile = target.profile
    this.stream = target.stream
    this.once = sink.once
    this.#sender = sender
    this.#options = options
    this.#limit = limit
    this.#sink = sink
    this.#idleTimeout = options.idleTimeout
    this.expires = this.#expiry()
  }

  get parentRequestId(): string | undefined {
    return this.#options.parentRequestId
  }

  #expiry(): number {
    const timeout = this.#idleTimeout
    return timeout === undefined ? this.#limit : Math.min(this.#limit, this.#sender.pending.now() + timeout)
  }

  /** Milliseconds allowed until the next value; undefined for ever. What the caller has set stays. */
  setIdle(timeout: number | undefined): void {
    if (this.#options.idleTimeout !== undefined) return
    this.#idleTimeout = timeout
    this.#sender.pending.expireAt(this, this.#expiry())
  }

  /** From now on the caller's signal aborts it. */
  heed(): void {
    const { signal } = this.#options
    if (!signal) return
    this.#stop = () => this.#sender.abort(this.id)
    signal.addEventListener('abort', this.#stop)
  }

  #quiet(): void {
    if (this.#stop) this.#options.signal?.removeEventListener('abort', this.#stop)
  }

  value(value: unknown): void {
    if (this.once) {
      this.#quiet()
      if (this.#options.streams) this.#sender.abortPeer(this)
      else this.#sender.pending.settle(this)
    } else {
      this.#idleTimeout ??= this.#options.idleAfterValue
      if (this.#idleTimeout !== undefined) this.#sender.pending.expireAt(this, this.#expiry())
    }
    this.#sink.value(value)
  }

  end(aborted: boolean): void {
    this.#quiet()
    this.#sink.end(aborted)
  }

  fail(error: CallError): void {
    this.#quiet()
    this.#sink.fail(error)
  }
}

/** The sink of a call: its first value is the answer. */
export class Answer implements RequestSink {
  readonly once = true
  readonly value: (value: unknown) => void
  readonly fail: (error: CallError) => void
  readonly #path: string

  constructor(path: string, resolve: (value: unknown) => void, reject: (error: CallError) => void) {
    this.#path = path
    this.value = resolve
    this.fail = reject
  }

  end(aborted: boolean): void {
    this.fail(endedUnanswered(this.#path, aborted))
  }
}

/** Why a call has no answer although it ended without an error. */
export function endedUnanswered(path: string, aborted: boolean): CallError {
  return new CallError('ABORTED', aborted ? `${path} was aborted` : 'completed without response')
}
