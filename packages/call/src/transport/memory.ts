// Two ends of a link in one process, for tests and for parts that live together: delivered in a later turn, in order.
import type { Principal } from '@parley/core'
import { callLimits } from '../limits.ts'
import { type Envelope, type ProtocolViolation, parseText } from '../wire/envelope.ts'
import type { Receiver, Transport } from './transport.ts'

class MemoryEnd implements Transport {
  readonly kind = 'memory'
  readonly identity: Principal | undefined
  readonly maxBody = callLimits.frameBytes
  readonly queued = 0
  other!: MemoryEnd
  #receiver: Receiver | undefined
  #closed = false

  constructor(identity: Principal | undefined) {
    this.identity = identity
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver
  }

  send(text: string): void {
    if (this.#closed) return
    queueMicrotask(() => this.other.#take(text))
  }

  close(reason = 'closed'): void {
    if (this.#closed) return
    this.#closed = true
    this.#receiver?.closed(reason)
    queueMicrotask(() => this.other.close(reason))
  }

  #take(text: string): void {
    if (this.#closed) return
    let envelope: Envelope
    try {
      envelope = parseText(text)
    } catch (cause) {
      this.#receiver?.violation(cause as ProtocolViolation)
      this.close((cause as ProtocolViolation).message)
      return
    }
    this.#receiver?.envelope(envelope)
  }
}

/** `identities`: who each end is to the other. */
export function memoryPair(
  identities: { readonly first?: Principal; readonly second?: Principal } = {},
): readonly [Transport, Transport] {
  const first = new MemoryEnd(identities.second)
  const second = new MemoryEnd(identities.first)
  first.other = second
  second.other = first
  return [first, second]
}
