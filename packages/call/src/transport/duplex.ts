// Any duplex byte stream of Node.js as a transport (CALL-TRANS-07): sockets, pipes of a child process, SSH channels.
// What is sent until the running code has finished, promises included, goes out in one write.
import type { Duplex, Readable, Writable } from 'node:stream'
import { type Clock, type Principal, SystemClock } from '@parley/core'
import { callDefaults, callLimits } from '../limits.ts'
import { type Envelope, ProtocolViolation } from '../wire/envelope.ts'
import { afterConsumers } from './after-consumers.ts'
import { Delivery } from './delivery.ts'
import { FrameBatch, FrameDecoder } from './frame.ts'
import type { Receiver, Transport } from './transport.ts'

export interface DuplexOptions {
  readonly kind?: string
  readonly identity?: Principal | undefined
  /** Bytes of the largest body, both ways. */
  readonly maxBody?: number
  readonly clock?: Clock
}

/** Writes that may follow each other before the event loop gets a turn: both ends may be in this very process. */
const FLUSHES_PER_TURN = 64
/** Bytes that are gathered before they are written without waiting for the end of the turn. */
const BATCH_BYTES = 64 * 1024

export class DuplexTransport implements Transport {
  readonly kind: string
  readonly identity: Principal | undefined
  readonly maxBody: number
  readonly #input: Readable
  readonly #output: Writable
  readonly #decoder: FrameDecoder
  readonly #clock: Clock
  readonly #batch = new FrameBatch()
  readonly #delivery: Delivery
  #heard = false
  #flushing = false
  #flushes = 0

  constructor(stream: Duplex | { readonly input: Readable; readonly output: Writable }, options: DuplexOptions = {}) {
    const pair = 'input' in stream ? stream : { input: stream as Readable, output: stream as Writable }
    this.#input = pair.input
    this.#output = pair.output
    this.kind = options.kind ?? 'duplex'
    this.identity = options.identity
    this.maxBody = options.maxBody ?? callLimits.frameBytes
    this.#decoder = new FrameDecoder(this.maxBody)
    this.#clock = options.clock ?? systemClock
    const { input } = pair
    this.#delivery = new Delivery({ pause: () => input.pause(), resume: () => input.resume(), afterConsumers })
    // From the beginning: a stream may break before anybody uses it.
    for (const each of new Set([this.#input, this.#output])) {
      each.on('error', (cause: Error) => this.#finish(cause.message))
      each.on('close', () => this.#finish('closed'))
    }
  }

  /** Whether no whole frame has come yet. */
  get silent(): boolean {
    return !this.#heard
  }

  get queued(): number {
    return this.#batch.length + this.#output.writableLength
  }

  start(receiver: Receiver): void {
    this.#input.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#input.on('end', () => this.#finish(this.#decoder.partial ? 'the stream was cut inside a frame' : 'closed'))
    this.#output.on('drain', () => this.#delivery.drain())
    this.#delivery.start(receiver)
  }

  send(text: string): void {
    if (this.#delivery.ended) return
    this.#batch.add(text)
    if (this.#batch.length >= BATCH_BYTES) this.#flush()
    else if (!this.#flushing) {
      this.#flushing = true
      if (++this.#flushes % FLUSHES_PER_TURN === 0) setImmediate(() => this.#flush())
      else process.nextTick(() => this.#flush())
    }
    // A peer that does not read must not fill our memory.
    if (this.queued > callLimits.queuedBytes) this.#destroy('the peer does not read')
  }

  close(reason = 'closed'): void {
    if (this.#delivery.ended) return
    this.#delivery.close(reason)
    this.#leave()
  }

  #flush(): void {
    this.#flushing = false
    if (this.#batch.length > 0 && !this.#output.destroyed) this.#output.write(this.#batch.take())
  }

  #take(chunk: Buffer): void {
    if (this.#delivery.ended) return
    try {
      this.#decoder.push(chunk, this.#deliver)
    } catch (cause) {
      const violation = cause instanceof ProtocolViolation ? cause : new ProtocolViolation('malformed', String(cause))
      this.#delivery.end(violation.message, violation)
      this.#destroy(violation.message)
    }
  }

  readonly #deliver = (envelope: Envelope): void => {
    this.#heard = true
    this.#delivery.envelope(envelope)
  }

  #destroy(reason: string): void {
    this.#cut()
    this.#finish(reason)
  }

  #cut(): void {
    this.#input.destroy()
    this.#output.destroy()
  }

  /** What came in before the end is still delivered, unless this side closed. */
  #finish(reason: string): void {
    if (this.#delivery.ended) return
    this.#delivery.end(reason)
    this.#leave()
  }

  #leave(): void {
    this.#flush()
    this.#output.end()
    // The other side's end stands behind what it still sent.
    this.#input.resume()
    // What was sent still goes out, but a peer that neither reads nor closes does not keep the stream and its memory.
    if (this.#output.destroyed) return
    const cancel = this.#clock.after(callDefaults.closeGrace, () => this.#cut(), { background: true })
    this.#output.once('close', cancel)
  }
}

const systemClock = new SystemClock()
