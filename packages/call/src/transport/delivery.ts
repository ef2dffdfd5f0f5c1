// How a transport brings envelopes to its receiver: from its start on, in order, not faster than consumers take them
// while they can, and nothing after the end. Carriers differ; this does not.
import { callLimits } from '../limits.ts'
import type { Envelope, ProtocolViolation } from '../wire/envelope.ts'
import type { Receiver } from './transport.ts'

/** Holds a carrier back while consumers have not had their turn, where it can be held back. */
export interface Flow {
  pause(): void
  resume(): void
  /** Calls back when consumers have had their turn. Without it that is a turn of the event loop later. */
  afterConsumers?(run: () => void): void
}

/** Browsers have no immediates, and need none: each of their messages is a turn of its own. */
const later: (run: () => void) => unknown = globalThis.setImmediate ?? ((run: () => void) => setTimeout(run, 0))

export class Delivery {
  readonly #flow: Flow | undefined
  #receiver: Receiver | undefined
  #backlog: Envelope[] = []
  #backlogAt = 0
  /** Envelopes of this turn so far. */
  #delivered = 0
  #waiting = false
  #violation: ProtocolViolation | undefined
  #end: string | undefined
  #ended = false

  /** The carrier waits for a receiver. */
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
    else if (this.#backlog.length > 0) this.#wait()
    else this.#flow?.resume()
  }

  /** False if it cannot be kept: too much came before anybody took it, on a carrier that does not wait. */
  envelope(envelope: Envelope): boolean {
    if (this.ended) return true
    if (this.#receiver && !this.#waiting) {
      if (!this.#give(envelope)) this.#wait()
      return true
    }
    if (!this.#receiver && this.#backlog.length >= callLimits.earlyEnvelopes) return false
    this.#backlog.push(envelope)
    return true
  }

  /** False if consumers, or others, must have their turn before the next. Consumers run as microtasks. */
  #give(envelope: Envelope): boolean {
    if (this.#delivered++ === 0)
      queueMicrotask(() => {
        this.#delivered = 0
      })
    const receiver = this.#receiver!
    receiver.envelope(envelope)
    return !receiver.crowded?.() && this.#delivered < callLimits.envelopesPerTurn
  }

  drain(): void {
    if (!this.ended) this.#receiver?.drain()
  }

  /** The other side, or the carrier, ended: what came before is still delivered, then any violation. */
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
    while (this.#backlogAt < this.#backlog.length && !this.#ended) this.#give(this.#backlog[this.#backlogAt++]!)
    if (this.#ended) return
    if (this.#violation) this.#receiver?.violation(this.#violation)
    this.close(this.#end!)
  }

  /** The rest in later turns; the carrier brings nothing more meanwhile. */
  #wait(): void {
    this.#waiting = true
    this.#flow?.pause()
    const afterConsumers = this.#flow?.afterConsumers ?? later
    const turn = () => {
      if (this.ended) return
      while (this.#backlogAt < this.#backlog.length) {
        if (this.#give(this.#backlog[this.#backlogAt++]!) && !this.ended) continue
        if (!this.ended) afterConsumers(turn)
        return
      }
      this.#backlog = []
      this.#backlogAt = 0
      // Not before others have had a turn: a stream of this very process would bring more at once, for ever.
      later(() => (this.#backlog.length > 0 ? turn() : this.#goOn()))
    }
    afterConsumers(turn)
  }

  #goOn(): void {
    this.#waiting = false
    if (!this.ended) this.#flow?.resume()
  }
}
