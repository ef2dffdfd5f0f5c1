// WebSocket in Node.js (CALL-TRANS-05): a client, and a server that attaches to an HTTP server. One frame in one binary
// message; the messages of one turn of the event loop go out in one write.
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type CancelTimer, type Clock, type IdentityProvider, type Principal, SystemClock } from '@parley/core'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import { CallError } from '../error.ts'
import { callDefaults, callLimits, WEBSOCKET_PATH } from '../limits.ts'
import { type Envelope, ProtocolViolation } from '../wire/envelope.ts'
import { afterConsumers } from './after-consumers.ts'
import { Delivery } from './delivery.ts'
import { encodeFrame, PREFIX, parseBody } from './frame.ts'
import type { Receiver, Transport } from './transport.ts'
import * as frames from './websocket-frames.ts'

class WebSocketTransport implements Transport {
  readonly kind = 'websocket'
  readonly identity: Principal | undefined
  readonly maxBody: number
  readonly #ws: WebSocket
  readonly #socket: Duplex
  readonly #clock: Clock
  readonly #framing: frames.Framing
  readonly #delivery: Delivery
  #corked = false
  #corks = 0
  #probe: CancelTimer | undefined
  /** Pings since the last sign of life. */
  #missed = 0

  constructor(ws: WebSocket, socket: Duplex, identity: Principal | undefined, options: frames.WebSocketOptions) {
    this.#ws = ws
    this.#socket = socket
    this.#clock = options.clock ?? new SystemClock()
    this.#framing = new frames.Framing(options.wsFraming, options.wsText)
    this.identity = identity
    this.maxBody = options.maxBody ?? callLimits.frameBytes
    this.#delivery = new Delivery({ pause: () => ws.pause(), resume: () => ws.resume(), afterConsumers })
    ws.on('message', (data, binary) => this.#take(data, binary))
    ws.on('pong', () => {
      this.#missed = 0
    })
    ws.on('error', (cause: Error & { readonly code?: string }) => this.#failed(cause))
    ws.on('close', (code, reason) => this.#end(frames.closedBecause(code, reason.toString())))
    socket.on('drain', () => this.#delivery.drain())
    this.#keepAlive()
  }

  get queued(): number {
    return this.#ws.bufferedAmount
  }

  start(receiver: Receiver): void {
    this.#delivery.start(receiver)
  }

  send(text: string): void {
    if (this.#delivery.ended || this.#ws.readyState !== WebSocket.OPEN) return
    if (!this.#corked) {
      this.#corked = true
      this.#socket.cork()
      if (++this.#corks % CORKS_PER_TURN === 0) setImmediate(() => this.#uncork())
      else process.nextTick(() => this.#uncork())
    }
    const { form } = this.#framing
    if (form === 'text') this.#ws.send(text)
    else this.#ws.send(form === 'prefixed' ? encodeFrame(text) : Buffer.from(text), BINARY)
    const { queued } = this
    if (queued > callLimits.queuedBytes) this.#destroy('the peer does not read')
    // What is gathered must not grow without the operating system seeing any of it.
    else if (queued > callLimits.highWater) this.#uncork()
  }

  close(reason = 'closed'): void {
    if (this.#delivery.ended) return
    this.#shut(frames.CLOSE_NORMAL, reason)
    this.#delivery.close(reason)
  }

  #uncork(): void {
    if (!this.#corked) return
    this.#corked = false
    this.#socket.uncork()
  }

  #take(data: RawData, binary: boolean): void {
    if (this.#delivery.ended) return
    this.#missed = 0
    try {
      const envelope = binary
        ? this.#framing.decode(data as Buffer, this.maxBody, parseNode)
        : this.#framing.decodeText(data as Buffer, this.maxBody, parseNode)
      this.#delivery.envelope(envelope)
    } catch (cause) {
      if (!(cause instanceof ProtocolViolation)) throw cause
      this.#shut(frames.CLOSE_CODES[cause.kind], cause.message)
      this.#delivery.end(cause.message, cause)
    }
  }

  /** What the library finds wrong, it answers with the right close code itself. */
  #failed(cause: Error & { readonly code?: string }): void {
    const { code, message } = cause
    if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
      this.#end(message, new ProtocolViolation('too_large', `a message passes the limit of ${this.maxBody}`))
    else if (code?.startsWith('WS_ERR_')) this.#end(message, new ProtocolViolation('malformed', message))
    else this.#end(message)
  }

  /** CALL-ROUTE-08: finds a link whose other end is gone. */
  #keepAlive(): void {
    const probe = () => {
      if (this.#missed++ >= callDefaults.keepaliveMissed) this.#destroy('the peer does not answer')
      else {
        this.#ws.ping()
        this.#keepAlive()
      }
    }
    this.#probe = this.#clock.after(callDefaults.keepalive, probe, { background: true })
  }

  /** Everything that was sent goes out before the close frame. */
  #shut(code: number, reason: string): void {
    this.#probe?.()
    this.#uncork()
    this.#ws.close(code, frames.closeReason(reason))
    // The other side's close frame stands behind what it sent before.
    this.#ws.resume()
  }

  #destroy(reason: string): void {
    this.#ws.terminate()
    this.#end(reason)
  }

  #end(reason: string, violation?: ProtocolViolation): void {
    this.#probe?.()
    this.#delivery.end(reason, violation)
  }
}

/** Writes that may follow each other before the event loop gets a turn: both ends may be in this very process. */
const CORKS_PER_TURN = 64

const BINARY = { binary: true } as const

function parseNode(bytes: Uint8Array, start: number, end: number): Envelope {
  return parseBody(bytes as Buffer, start, end)
}

/** Compression is off: it costs more than it saves between machines, and mixes secrets with what others send. */
function wsOptions(options: frames.WebSocketOptions) {
  return {
    perMessageDeflate: false,
    maxPayload: (options.maxBody ?? callLimits.frameBytes) + PREFIX,
    closeTimeout: callDefaults.closeGrace,
  } as const
}

export interface WebSocketServerOptions extends frames.WebSocketOptions {
  /** Resolves tokens, within `callDefaults.handshake`. `anonymous` admits everybody, without an identity. */
  readonly identities: IdentityProvider | 'anonymous'
  /** `/alknet/call` by default. */
  readonly path?: string
  /**
   * Pages of which origins may connect. By default all may that have a token, and none where none is needed: a page on
   * the user's own machine would reach a local server that others cannot.
   */
  readonly allowOrigin?: (origin: string) => boolean
  /** Connections at once; further ones are refused. 10,000 by default. */
  readonly maxConnections?: number
}

export interface AttachedWebSockets {
  readonly connections: number
  /** Accepts no more connections and ends the open ones. The HTTP server keeps running. */
  close(): void
}

/** Serves links at one path of an HTTP or HTTPS server. A request without a good token gets 401 and no WebSocket. */
export function attachWebSocket(
  server: Server,
  accept: (transport: Transport) => void,
  options: WebSocketServerOptions,
): AttachedWebSockets {
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false, ...wsOptions(options) })
  const { clock = new SystemClock() } = options
  const open = new Set<Duplex>()
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const { pathname, token } = readTarget(request)
    if (pathname !== (options.path ?? WEBSOCKET_PATH)) {
      if (server.listenerCount('upgrade') === 1) refuse(socket, 404, 'Not Found')
      return
    }
    // Until the transport listens, an error would end the process.
    socket.on('error', () => socket.destroy())
    if (open.size >= (options.maxConnections ?? callLimits.connections)) {
      refuse(socket, 503, 'Service Unavailable')
      return
    }
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    if (!originAllowed(request.headers.origin, options)) {
      refuse(socket, 403, 'Forbidden')
      return
    }
    const late = clock.after(callDefaults.handshake, () => socket.destroy(), { background: true })
    const identity = await identify(options.identities, token)
    late()
    if (identity === 'refused') refuse(socket, 401, 'Unauthorized')
    else if (!socket.destroyed)
      sockets.handleUpgrade(request, socket, head, ws =>
        accept(new WebSocketTransport(ws, socket, identity, { ...options, clock })),
      )
  }
  const listener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void upgrade(request, socket, head)
  server.on('upgrade', listener)
  return {
    get connections() {
      return open.size
    },
    close() {
      server.off('upgrade', listener)
      for (const socket of open) socket.destroy()
    },
  }
}

/** Removes the token from the request's address too, so that logging the address does not log a secret. */
function readTarget(request: IncomingMessage): { pathname: string; token: string | undefined } {
  let target: URL
  try {
    target = new URL(request.url ?? '/', 'ws://localhost')
  } catch {
    return { pathname: '', token: undefined }
  }
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  const token = bearer ?? target.searchParams.get('token') ?? undefined
  target.searchParams.delete('token')
  request.url = target.pathname + target.search
  return { pathname: target.pathname, token }
}

function originAllowed(origin: string | undefined, options: WebSocketServerOptions): boolean {
  if (origin === undefined) return true
  return options.allowOrigin?.(origin) ?? options.identities !== 'anonymous'
}

/** If the directory cannot be read, access is refused. */
async function identify(
  identities: IdentityProvider | 'anonymous',
  token: string | undefined,
): Promise<Principal | undefined | 'refused'> {
  if (identities === 'anonymous') return undefined
  if (token === undefined || token.length > callLimits.tokenLength) return 'refused'
  try {
    return (await identities.byToken(token)) ?? 'refused'
  } catch {
    return 'refused'
  }
}

function refuse(socket: Duplex, status: number, words: string): void {
  const challenge = status === 401 ? 'WWW-Authenticate: Bearer\r\n' : ''
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${words}\r\n${challenge}Connection: close\r\nContent-Length: 0\r\n\r\n`)
}

/** Rejects with `FORBIDDEN` if the token was refused, with `UNAVAILABLE` if there is no connection. */
export function connectWebSocket(
  url: string,
  /** `ca`: certificates that a `wss:` server may show beside the system's. */
  options: frames.WebSocketClientOptions & { readonly ca?: string | Buffer } = {},
): Promise<Transport> {
  const shown = frames.shownAddress(url)
  return new Promise((resolve, reject) => {
    let ws: WebSocket
    try {
      ws = new WebSocket(url, {
        ...wsOptions(options),
        handshakeTimeout: callDefaults.dial,
        headers: options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` },
        ...(options.ca !== undefined && { ca: options.ca }),
      })
    } catch {
      reject(frames.notAnAddress(url))
      return
    }
    let socket: Duplex | undefined
    const failed = (cause: Error) =>
      reject(new CallError('UNAVAILABLE', `${shown} cannot be reached: ${cause.message}`))
    ws.on('error', failed)
    ws.once('unexpected-response', (request, { statusCode }) => {
      request.destroy()
      if (statusCode === 401 || statusCode === 403)
        reject(new CallError('FORBIDDEN', `${shown} does not accept the token`))
      else failed(new Error(`it answered with ${statusCode}`))
    })
    ws.once('upgrade', response => {
      socket = response.socket
    })
    ws.once('open', () => {
      ws.off('error', failed)
      resolve(new WebSocketTransport(ws, socket!, options.identity, options))
    })
  })
}
