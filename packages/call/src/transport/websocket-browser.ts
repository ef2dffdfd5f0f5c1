// The WebSocket client for pages (CALL-TRANS-05), over the API of browsers, which newer Node.js has too.
import { type CancelTimer, type Clock, type Principal, SystemClock } from '@parley/core'
import { CallError } from '../error.ts'
import { callDefaults, callLimits } from '../limits.ts'
import { ProtocolViolation } from '../wire/envelope.ts'
import { Delivery } from './delivery.ts'
import { encodeMessage } from './message.ts'
import type { Receiver, Transport } from './transport.ts'
import * as frames from './websocket-frames.ts'

/** A page may close with 1000 and with codes of its own, and with no others: the last digits stay (CALL-WIRE-05). */
const OWN_CODES = 3000

const encoder = new TextEncoder()

class BrowserWebSocketTransport implements Transport {
  readonly kind = 'websocket'
  readonly identity: Principal | undefined
  readonly maxBody: number
  readonly #socket: WebSocket
  readonly #clock: Clock
  readonly #framing: frames.Framing
  readonly #delivery = new Delivery()
  #poll: CancelTimer | undefined

  constructor(socket: WebSocket, options: frames.WebSocketClientOptions) {
    this.#socket = socket
    this.#clock = options.clock ?? new SystemClock()
    this.#framing = new frames.Framing(options.wsFraming, options.wsText)
    this.identity = options.identity
    this.maxBody = options.maxBody ?? callLimits.frameBytes
    socket.addEventListener('message', event => this.#take(event.data))
    socket.addEventListener('close', ({ code, reason }) => this.#end(frames.closedBecause(code, reason)))
  }

  get queued(): number {
    return this.#socket.bufferedAmount
  }

  start(receiver: Receiver): void {
    this.#delivery.start(receiver)
  }

  send(text: string): void {
    if (this.#delivery.ended || this.#socket.readyState !== this.#socket.OPEN) return
    const { form } = this.#framing
    this.#socket.send(form === 'text' ? text : encodeMessage(text, form === 'prefixed'))
    const { queued } = this
    if (queued > callLimits.queuedBytes) this.#give('the peer does not read')
    else if (queued > callLimits.highWater) this.#watch()
  }

  close(reason = 'closed'): void {
    if (this.#delivery.ended) return
    this.#socket.close(frames.CLOSE_NORMAL, frames.closeReason(reason))
    this.#stop()
    this.#delivery.close(reason)
  }

  #take(data: unknown): void {
    if (this.#delivery.ended) return
    try {
      const envelope =
        data instanceof ArrayBuffer
          ? this.#framing.decode(new Uint8Array(data), this.maxBody)
          : this.#framing.decodeText(encoder.encode(String(data)), this.maxBody)
      if (!this.#delivery.envelope(envelope)) this.#give('nobody took what came')
    } catch (cause) {
      if (!(cause instanceof ProtocolViolation)) throw cause
      this.#socket.close(OWN_CODES + frames.CLOSE_CODES[cause.kind], frames.closeReason(cause.message))
      this.#end(cause.message, cause)
    }
  }

  /** The API has no event for this, so it is asked. */
  #watch(): void {
    this.#poll ??= this.#clock.after(
      callDefaults.drainPoll,
      () => {
        this.#poll = undefined
        if (this.queued > callLimits.highWater) this.#watch()
        else this.#delivery.drain()
      },
      { background: true },
    )
  }

  #give(reason: string): void {
    this.#socket.close(OWN_CODES + frames.CLOSE_NORMAL, frames.closeReason(reason))
    this.#end(reason)
  }

  #end(reason: string, violation?: ProtocolViolation): void {
    this.#stop()
    this.#delivery.end(reason, violation)
  }

  #stop(): void {
    this.#poll?.()
    this.#poll = undefined
  }
}

/** Rejects with `UNAVAILABLE`: why a connection failed, a refused token included, is not told to a page. */
export function connectBrowserWebSocket(url: string, options: frames.WebSocketClientOptions = {}): Promise<Transport> {
  return new Promise((resolve, reject) => {
    let socket: WebSocket
    try {
      const address = new URL(url)
      if (options.token !== undefined) address.searchParams.set('token', options.token)
      socket = new WebSocket(address)
    } catch {
      reject(frames.notAnAddress(url))
      return
    }
    socket.binaryType = 'arraybuffer'
    const refused = () =>
      reject(
        new CallError('UNAVAILABLE', `${frames.shownAddress(url)} cannot be reached, or does not accept the token`),
      )
    socket.addEventListener('close', refused)
    // The event says nothing that the closing does not, but in Node.js it must be listened to.
    socket.addEventListener('error', () => undefined)
    socket.addEventListener('open', () => {
      socket.removeEventListener('close', refused)
      resolve(new BrowserWebSocketTransport(socket, options))
    })
  })
}
