// Any duplex byte stream of Node.js as a transport (CALL-TRANS-07): sockets, pipes of a child process, SSH channels. What is sent until the
// running code has finished, promises included, goes out in one write.
import type { Duplex, Readable, Writable } from 'node:stream'
import { type Clock, type Principal, SystemClock } from '@parley/core'
import { type Envelope, ProtocolViolation } from '../envelope.ts'
import { callDefaults, callLimits } from '../limits.ts'
import { FrameBatch, FrameDecoder } from './frame.ts'
import type { Receiver, Transport } from './transport.ts'

export interface DuplexOptions {
  readonly kind?: string
  readonly identity?: Principal | undefined
  /** Bytes of the largest body, both ways. */
  readonly maxBody?: number
  readonly clock?: Clock
}

/** Frames that are delivered before consumers get a turn: a subscription's values must not overrun its queue in one chunk. */
const FRAMES_PER_TURN = 32
/** Writes that may follow each other before the event loop gets a turn: both ends may be in this very process. */
const FLUSHES_PER_TURN = 64
/** Bytes that are gathered before they are written without waiting for the end of the turn. */
const BATCH_BYTES = 256 * 1024

export class DuplexTransport implements Transport {
  readonly kind: string
  readonly identity: Principal | undefined
  readonly maxBody: number
  readonly #input: Readable
  readonly #output: Writable
  readonly #decoder: FrameDecoder
  readonly #clock: Clock
  readonly #batch = new FrameBatch()
  /** Envelopes that are decoded and wait for the next turn. */
  #backlog: Envelope[] = []
  #backlogAt = 0
  /** Frames since consumers last had their turn: a stream that is resumed brings several chunks before that. */
  #delivered = 0
  #receiver: Receiver | undefined
  #heard = false
  #flushing = false
  #flushes = 0
  #closed = false
  #ended: string | undefined

  constructor(
    stream: Duplex | { readonly input: Readable; readonly output: Writable },
    options: DuplexOptions = {},
  ) {
    const pair = 'input' in stream ? stream : { input: stream as Readable, output: stream as Writable }
    this.#input = pair.input
    this.#output = pair.output
    this.kind = options.kind ?? 'duplex'
    this.identity = options.identity
    this.maxBody = options.maxBody ?? callLimits.frameBytes
    this.#decoder = new FrameDecoder(this.maxBody)
    this.#clock = options.clock ?? systemClock
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
    this.#receiver = receiver
    if (this.#ended !== undefined) {
      receiver.closed(this.#ended)
      return
    }
    this.#input.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#input.on('end', () =>
      this.#finish(this.#decoder.partial ? 'the stream was cut inside a frame' : 'closed'),
    )
    this.#output.on('drain', () => receiver.drain())
  }

  send(text: string): void {
    if (this.#closed) return
    this.#batch.add(text)
    if (this.#batch.length >= BATCH_BYTES) this.#flush()
    else if (!this.#flushing) {
      this.#flushing = true
      if (++this.#flushes % FLUSHES_PER_TURN === 0) setImmediate(() => this.#flush())
      else process.nextTick(() => this.#flushUnlessMore())
    }
    // A peer that does not read must not fill our memory.
    if (this.queued > callLimits.queuedBytes) this.#destroy('the peer does not read')
  }

  close(reason = 'closed'): void {
    if (this.#closed) return
    this.#flush()
    this.#closed = true
    this.#finish(reason)
  }

  /** What one chunk of the other side brings about goes out together: `turn` sees to it. */
  #flushUnlessMore(): void {
    if (this.#backlog.length === 0) this.#flush()
  }

  #flush(): void {
    this.#flushing = false
    if (this.#batch.length > 0 && !this.#output.destroyed) this.#output.write(this.#batch.take())
  }

  #take(chunk: Buffer): void {
    if (this.#closed) return
    try {
      this.#decoder.push(chunk, envelope => this.#backlog.push(envelope))
    } catch (cause) {
      this.#deliver(Number.POSITIVE_INFINITY)
      this.#violated(cause)
      return
    }
    if (this.#backlog.length > 0) this.#heard = true
    if (this.#backlogAt === 0) this.#deliver(FRAMES_PER_TURN)
    if (this.#backlog.length > this.#backlogAt) this.#later()
  }

  /** The rest in later turns; nothing more is read meanwhile. */
  #later(): void {
    if (this.#input.isPaused()) return
    this.#input.pause()
    const turn = () => {
      if (this.#closed) return
      this.#deliver(FRAMES_PER_TURN)
      if (this.#backlog.length > 0) {
        afterConsumers(turn)
        return
      }
      if (this.#flushing) afterConsumers(() => this.#flush())
      // Not before others have had a turn: a stream of this very process would bring more at once, for ever.
      setImmediate(() => (this.#backlog.length > 0 ? turn() : this.#input.resume()))
    }
    afterConsumers(turn)
  }

  #deliver(most: number): void {
    const start = this.#backlogAt
    const end = Math.min(this.#backlog.length, start + Math.max(0, most - this.#delivered))
    // Consumers run as microtasks; nothing is delivered before all of those have run.
    if (start < end && this.#delivered === 0)
      queueMicrotask(() => {
        this.#delivered = 0
      })
    this.#delivered += end - start
    while (this.#backlogAt < end && !this.#closed) this.#receiver?.envelope(this.#backlog[this.#backlogAt++]!)
    if (this.#backlogAt < this.#backlog.length) return
    this.#backlog = []
    this.#backlogAt = 0
  }

  #violated(cause: unknown): void {
    const violation =
      cause instanceof ProtocolViolation ? cause : new ProtocolViolation('malformed', String(cause))
    this.#receiver?.violation(violation)
    this.#destroy(violation.message)
  }

  #destroy(reason: string): void {
    this.#input.destroy()
    this.#output.destroy()
    this.#finish(reason)
  }

  /** What came in before the end is still delivered, unless this side closed. */
  #finish(reason: string): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    this.#deliver(Number.POSITIVE_INFINITY)
    this.#closed = true
    this.#backlog = []
    this.#receiver?.closed(reason)
    this.#flush()
    this.#output.end()
    // The other side's end stands behind what it still sent.
    this.#input.resume()
    this.#linger()
  }

  /** What was sent still goes out, but a peer that neither reads nor closes does not keep the stream and its memory. */
  #linger(): void {
    if (this.#output.destroyed) return
    const destroy = () => {
      this.#input.destroy()
      this.#output.destroy()
    }
    const cancel = this.#clock.after(callDefaults.closeGrace, destroy, { background: true })
    this.#output.once('close', cancel)
  }
}

/** Ticks wait until no microtask is left: consumers have then taken what they can, without a turn of the event loop for it. */
function afterConsumers(run: () => void): void {
  queueMicrotask(() => process.nextTick(run))
}

const systemClock = new SystemClock()
