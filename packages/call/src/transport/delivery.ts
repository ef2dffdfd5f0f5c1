// How a message-oriented transport brings envelopes to its receiver: from its start on, in order, a few in each turn of the event loop,
// and nothing after the end. Carriers differ; this does not.
import type { Envelope, ProtocolViolation } from '../envelope.ts'
import { callLimits } from '../limits.ts'
import type { Receiver } from './transport.ts'

/** Holds a carrier back while consumers have not had their turn, where it can be held back. */
export interface Flow {
  pause(): void
  resume(): void
}

/** Browsers have no immediates, and need none: each of their messages is a turn of its own. */
const later: (run: () => void) => unknown =
  globalThis.setImmediate ?? ((run: () => void) => setTimeout(run, 0))

export class Delivery {
  readonly #flow: Flow | undefined
  #receiver: Receiver | undefined
  #backlog: Envelope[] = []
  #backlogAt = 0
  /** Envelopes of this turn so far: a subscription's values must not overrun its queue in one chunk. */
  #delivered = 0
  #waiting = false
  #violation: ProtocolViolation | undefined
  #end: string | undefined
  #ended = false

  /** The carrier waits until somebody takes what it brings. */
  constructor(flow?: Flow) {
    this.#flow = flow
    flow?.pause()
  }

  /** Whether nothing comes any more: the carrier's end was seen, or this side closed. */
  get ended(): boolean {
    return this.#ended || this.#end !== undefined
  }

  /** What came before is delivered now, the end included. */
  start(receiver: Receiver): void {
    this.#receiver = receiver
    if (this.#end !== undefined) this.#finish()
    else if (this.#backlog.length > 0) this.#later()
    else this.#flow?.resume()
  }

  /** False if it cannot be kept: too much came before anybody took it, on a carrier that does not wait. */
  envelope(envelope: Envelope): boolean {
    if (this.ended) return true
    if (!this.#receiver || this.#waiting || this.#delivered >= callLimits.envelopesPerTurn) {
      if (!this.#receiver && this.#backlog.length >= callLimits.earlyEnvelopes) return false
      this.#backlog.push(envelope)
      if (this.#receiver) this.#later()
      return true
    }
    this.#count()
    this.#receiver.envelope(envelope)
    return true
  }

  /** Consumers run as microtasks, so the turn is over when this one is reached. */
  #count(): void {
    if (this.#delivered++ > 0) return
    queueMicrotask(() => {
      this.#delivered = 0
    })
  }

  drain(): void {
    if (!this.ended) this.#receiver?.drain()
  }

  /** The other side, or the carrier, ended it: what came before is still delivered, then a violation if that was the reason. */
  end(reason: string, violation?: ProtocolViolation): void {
    if (this.ended) return
    this.#end = reason
    this.#violation = violation
    if (this.#receiver) this.#finish()
  }

  /** This side closed: nothing is delivered any more. */
  close(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#backlog = []
    this.#receiver?.closed(reason)
  }

  #finish(): void {
    this.#deliver(Number.POSITIVE_INFINITY)
    if (this.#ended) return
    if (this.#violation) this.#receiver?.violation(this.#violation)
    this.close(this.#end!)
  }

  /** The rest in later turns; the carrier brings nothing more meanwhile. */
  #later(): void {
    if (this.#waiting) return
    this.#waiting = true
    this.#flow?.pause()
    const turn = () => {
      if (this.ended) return
      this.#deliver(callLimits.envelopesPerTurn)
      if (this.#backlog.length > 0) later(turn)
      else {
        this.#waiting = false
        this.#flow?.resume()
      }
    }
    later(turn)
  }

  #deliver(most: number): void {
    const end = Math.min(this.#backlog.length, this.#backlogAt + most)
    while (this.#backlogAt < end && !this.#ended) {
      this.#count()
      this.#receiver!.envelope(this.#backlog[this.#backlogAt++]!)
    }
    if (this.#backlogAt < this.#backlog.length) return
    this.#backlog = []
    this.#backlogAt = 0
  }
}
