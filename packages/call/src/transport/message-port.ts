// MessagePort and Worker as a transport (CALL-TRANS-06), of browsers and of node:worker_threads: told apart by what
// they can do, so nothing of Node.js is imported. A port may be shared: what is not an envelope is ignored.
import type { Principal } from '@parley/core'
import { callLimits } from '../limits.ts'
import { type Envelope, ProtocolViolation, UnfitPayload } from '../wire/envelope.ts'
import { jsonProblem } from '../wire/json.ts'
import { Delivery } from './delivery.ts'
import { decodeMessage, encodeMessage, isPrefixed } from './message.ts'
import type { Receiver, Transport } from './transport.ts'

type Listen = (event: string, listener: (value: unknown) => void) => unknown

/** A MessagePort, a Worker, or the scope inside a worker. */
interface PortLike {
  postMessage(value: unknown, transfer: ArrayBuffer[]): void
  /** Node.js: listeners get the value. */
  on?: Listen
  /** Browsers: listeners get an event with the value as `data`. */
  addEventListener?: Listen
  start?(): void
  close?(): void
  terminate?(): unknown
}

/** How messages are sent; `auto` copies the form of the first envelope received, and is a frame until then. */
export type WorkerMessages = 'frame' | 'object' | 'auto'

export interface MessagePortOptions {
  /** Who is at the other end: only the code that made the port knows. */
  readonly identity?: Principal | undefined
  /** What is sent: bytes, transferred (the default), plain objects, or the peer's form. All forms are received. */
  readonly workerMessages?: WorkerMessages
  /** Bytes of the largest body, both ways. Plain objects have no bytes: what is received as one is not measured. */
  readonly maxBody?: number
}

/** Closing terminates a worker. A port does not tell how much it holds: `queued` is 0, producers are not held back. */
export class MessagePortTransport implements Transport {
  readonly kind = 'port'
  readonly identity: Principal | undefined
  readonly maxBody: number
  readonly queued = 0
  readonly #port: PortLike
  #form: 'frame' | 'bare' | 'object'
  #learns: boolean
  readonly #delivery = new Delivery()

  constructor(port: PortLike, options: MessagePortOptions = {}) {
    this.#port = port
    this.#form = options.workerMessages === 'object' ? 'object' : 'frame'
    this.#learns = options.workerMessages === 'auto'
    this.identity = options.identity
    this.maxBody = options.maxBody ?? callLimits.frameBytes
    this.#listen('close', () => this.#delivery.end('closed'))
    if (port.on) {
      // Of a worker: in Node.js both are its end. In a browser an error is not.
      port.on('error', cause => this.#delivery.end(cause instanceof Error ? cause.message : String(cause)))
      port.on('exit', () => this.#delivery.end('the worker ended'))
    }
    // A port keeps what comes until it is started; a worker keeps nothing.
    if (!port.start) this.#listenToMessages()
  }

  start(receiver: Receiver): void {
    this.#delivery.start(receiver)
    if (!this.#port.start) return
    this.#listenToMessages()
    this.#port.start()
  }

  send(text: string): void {
    if (this.#delivery.ended) return
    if (this.#form === 'object') {
      this.#port.postMessage(JSON.parse(text), [])
      return
    }
    const frame = encodeMessage(text, this.#form === 'frame')
    this.#port.postMessage(frame, [frame.buffer])
  }

  close(reason = 'closed'): void {
    if (this.#delivery.ended) return
    this.#shut()
    this.#delivery.close(reason)
  }

  #listenToMessages(): void {
    this.#listen('message', value => this.#take(value))
    this.#listen('messageerror', () => this.#violated(new ProtocolViolation('malformed', 'a message cannot be read')))
  }

  #listen(event: string, listener: (value: unknown) => void): void {
    if (this.#port.on) this.#port.on(event, listener)
    else this.#port.addEventListener?.(event, value => listener((value as { readonly data?: unknown } | null)?.data))
  }

  #take(value: unknown): void {
    if (this.#delivery.ended) return
    try {
      const envelope = this.#read(value)
      if (envelope && !this.#delivery.envelope(envelope)) {
        this.#shut()
        this.#delivery.end('nobody took what came')
      }
    } catch (cause) {
      if (!(cause instanceof ProtocolViolation)) throw cause
      this.#violated(cause)
    }
  }

  #read(value: unknown): Envelope | undefined {
    if (value instanceof Uint8Array) {
      const envelope = decodeMessage(value, this.maxBody)
      this.#learn(isPrefixed(value) ? 'frame' : 'bare')
      return envelope
    }
    if (!looksLikeEnvelope(value)) return undefined
    this.#learn('object')
    const { type, id, payload } = value
    const problem = jsonProblem(payload)
    return problem === undefined ? value : { type, id, payload: new UnfitPayload(payload, problem) }
  }

  #learn(form: 'frame' | 'bare' | 'object'): void {
    if (!this.#learns) return
    this.#learns = false
    this.#form = form
  }

  #violated(violation: ProtocolViolation): void {
    this.#shut()
    this.#delivery.end(violation.message, violation)
  }

  #shut(): void {
    if (this.#port.close) this.#port.close()
    else this.#port.terminate?.()
  }
}

function looksLikeEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null) return false
  const { type, id, payload } = value as Partial<Envelope>
  return typeof type === 'string' && typeof id === 'string' && payload !== undefined
}
