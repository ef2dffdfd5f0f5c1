// Scripted peers for tests: raw ends of a link that send what they are told and record what comes, one with envelopes
// over a transport in memory, one with bytes over a real socket. Bytes are cut and counted here by hand, so that a
// fault of the frame codec shows. Node.js only.
import { connect, createServer, type Socket } from 'node:net'
import type { Clock, Principal } from '@parley/core'
import type { Link } from '../link/link.ts'
import type { LinkOptions } from '../link/link-options.ts'
import { CallNode, type NodeOptions } from '../node.ts'
import type { Handler } from '../operation.ts'
import { OperationRegistry } from '../registry.ts'
import { memoryPair } from '../transport/memory.ts'
import type { Transport } from '../transport/transport.ts'
import type { Envelope } from '../wire/envelope.ts'

/** Values that come one at a time and may be waited for before they are there. */
class Arrivals<T> {
  readonly all: T[] = []
  #read = 0
  #wake: (() => void) | undefined

  add(value: T): void {
    this.all.push(value)
    this.#wake?.()
  }

  async next(): Promise<T> {
    while (this.#read >= this.all.length)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    return this.all[this.#read++]!
  }
}

/** The other end of a link in memory. */
export class EnvelopePeer {
  /** The end for the side under test. */
  readonly transport: Transport
  readonly #own: Transport
  readonly #arrivals = new Arrivals<Envelope>()
  /** Why the link was closed; undefined while it is open. */
  closed: string | undefined

  constructor(identity?: Principal) {
    const [own, transport] = memoryPair(identity ? { first: identity } : {})
    this.#own = own
    this.transport = transport
    own.start({
      envelope: envelope => this.#arrivals.add(envelope),
      violation: violation => {
        throw violation
      },
      drain: () => undefined,
      closed: reason => {
        this.closed = reason
      },
    })
  }

  /** Everything that came, in order. */
  get received(): readonly Envelope[] {
    return this.#arrivals.all
  }

  /** What came for one request. */
  of(id: string): readonly Envelope[] {
    return this.received.filter(
      envelope => envelope.id === id || (envelope.payload as { requestId?: unknown } | null)?.requestId === id,
    )
  }

  /** The next envelope that nobody has waited for yet. */
  next(): Promise<Envelope> {
    return this.#arrivals.next()
  }

  send(type: string, id: string, payload: unknown = {}): void {
    this.text(JSON.stringify({ type, id, payload }))
  }

  /** Sends a body as it is, sound or not. */
  text(body: string): void {
    this.#own.send(body)
  }

  close(): void {
    this.#own.close()
  }
}

/** The other end of a link over a socket. */
export class BytePeer {
  readonly socket: Socket
  readonly #frames = new Arrivals<Buffer>()
  #rest = Buffer.alloc(0)
  /** Resolves when the socket is closed, to what was cut off. */
  readonly closed: Promise<Buffer>

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    // The side under test may cut the connection; that is what some tests wait for.
    socket.on('error', () => undefined)
    this.closed = new Promise(resolve => socket.once('close', () => resolve(this.#rest)))
  }

  static connect(where: { readonly port: number } | { readonly path: string }): Promise<BytePeer> {
    const socket = connect({ host: '127.0.0.1', ...where })
    return new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.once('connect', () => resolve(new BytePeer(socket)))
    })
  }

  /** Every frame that came, prefix included. */
  get received(): readonly Buffer[] {
    return this.#frames.all
  }

  nextFrame(): Promise<Buffer> {
    return this.#frames.next()
  }

  async next(): Promise<Envelope> {
    return JSON.parse((await this.nextFrame()).toString('utf8', 4)) as Envelope
  }

  bytes(bytes: Uint8Array | string): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'hex') : bytes)
  }

  /** One frame around a body, sound or not. */
  body(body: string | Uint8Array): void {
    this.bytes(frameOf(body))
  }

  send(type: string, id: string, payload: unknown = {}): void {
    this.body(JSON.stringify({ type, id, payload }))
  }

  close(): Promise<unknown> {
    this.socket.destroy()
    return this.closed
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    for (;;) {
      const [a = 0, b = 0, c = 0, d = 0] = this.#rest
      const end = 4 + a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d
      if (this.#rest.length < 4 || this.#rest.length < end) return
      this.#frames.add(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** A frame by the letter of CALL-WIRE-02. */
export function frameOf(body: string | Uint8Array): Buffer {
  const bytes = Buffer.from(body)
  const { length } = bytes
  const prefix = Buffer.from([length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255])
  return Buffer.concat([prefix, bytes])
}

/** How a request of `/fs/x` is spelled. */
export const SPELLED = {
  seed: { type: 'call.requested', payload: { name: '/fs/x' } },
  core: { type: 'call.requested', payload: { operationId: '/fs/x' } },
  ops: { type: 'call.requested', id: '', payload: { operationId: 'fs.x' } },
} as const

/** A server of raw bytes for one connection. */
export async function acceptBytes(): Promise<{
  readonly port: number
  readonly peer: Promise<BytePeer>
  close(): Promise<void>
}> {
  const server = createServer()
  const peer = new Promise<BytePeer>(resolve => server.once('connection', socket => resolve(new BytePeer(socket))))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    peer,
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

/** Lets everything run that is due in this turn: what is in memory has then arrived. */
export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Comes back when something in memory has come about. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

/** A registry of open operations that take and give anything: generators stream, other functions answer. */
export function registryOf(handlers: Readonly<Record<string, Handler>>): OperationRegistry {
  const registry = new OperationRegistry()
  for (const [name, handler] of Object.entries(handlers)) {
    const streams = handler.constructor.name === 'AsyncGeneratorFunction'
    registry.register(
      {
        name,
        opType: streams ? 'subscription' : 'query',
        inputSchema: {},
        outputSchema: {},
        accessControl: {},
      },
      handler,
    )
  }
  return registry
}

export const echo: Handler = input => input

export interface Peered {
  readonly node: CallNode
  readonly link: Link
  readonly peer: EnvelopePeer
}

/** A node with `/test/echo` and what else is given, linked to a scripted peer in memory. */
export function peered(
  handlers: Readonly<Record<string, Handler>> = {},
  options: Partial<NodeOptions> & Pick<LinkOptions, 'profile'> & { readonly clock?: Clock } = {},
): Peered {
  const { profile, ...rest } = options
  const node = new CallNode({ registry: registryOf({ '/test/echo': echo, ...handlers }), ...rest })
  const peer = new EnvelopePeer()
  return { node, peer, link: node.attach(peer.transport, profile ? { profile } : {}) }
}
