// A node under attack, for tests: it listens on TCP, on a Unix socket and for WebSockets, and honest clients on all
// three are at work the whole time. Whatever happens on other links, theirs go on. Node.js only.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Link } from '../link/link.ts'
import { CallNode } from '../node.ts'
import type { Handler } from '../operation.ts'
import type { OperationRegistry } from '../registry.ts'
import { connectTcp, connectUnix, type Listening, listenTcp, listenUnix } from '../transport/sockets.ts'
import type { Transport } from '../transport/transport.ts'
import { type AttachedWebSockets, attachWebSocket, connectWebSocket } from '../transport/websocket.ts'
import type { Envelope } from '../wire/envelope.ts'
import { heldBytes } from './memory.ts'
import { BytePeer, echo, frameOf, registryOf, turn } from './peer.ts'

export const CARRIERS = ['tcp', 'unix', 'websocket'] as const
export type Carrier = (typeof CARRIERS)[number]

/**
 * Bytes that may be held more after an attack than before it: compiled code and the like, but no trace of the attack.
 */
const LEFTOVER = 24 * 2 ** 20

/** What every attacker can do, whatever carries its frames. */
export interface Attacker {
  /** Everything that came, in order. */
  readonly received: readonly unknown[]
  /** Resolves when the connection is over; to the close code of a WebSocket. */
  readonly closed: Promise<unknown>
  body(body: string | Uint8Array): void
  send(type: string, id: string, payload?: unknown): void
  next(): Promise<Envelope>
  close(): Promise<unknown>
}

/** One honest client: it calls without end and minds every answer. */
class HonestClient {
  readonly #link: Link
  readonly #waiting = new Set<() => void>()
  answered = 0
  failure: unknown
  #stopped = false

  constructor(link: Link) {
    this.#link = link
    void this.#work()
  }

  async #work(): Promise<void> {
    try {
      while (!this.#stopped) {
        const input = { call: this.answered, text: 'ä'.repeat(this.answered % 50) }
        const answer = await this.#link.call('/test/echo', input, { timeout: 20_000 })
        if (JSON.stringify(answer) !== JSON.stringify(input)) throw new Error('the answer is another one')
        this.answered++
        this.#wake()
        // An attacker in the same process needs its turns too.
        await turn()
      }
    } catch (thrown) {
      if (!this.#stopped) this.failure = thrown
      this.#wake()
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves when so many more calls were answered; rejects when the client was disturbed. */
  async more(calls: number): Promise<void> {
    const until = this.answered + calls
    while (this.answered < until && this.failure === undefined)
      await new Promise<void>(resolve => {
        const wake = () => {
          this.#waiting.delete(wake)
          resolve()
        }
        this.#waiting.add(wake)
      })
    if (this.failure !== undefined) throw this.failure
  }

  stop(): void {
    this.#stopped = true
    this.#link.close()
  }
}

export class Ground {
  readonly node: CallNode
  readonly logged: string[]
  readonly #folder: string
  readonly #tcp: Listening
  readonly #unix: Listening
  readonly #http: Server
  readonly #webSockets: AttachedWebSockets
  #honest: readonly HonestClient[] = []
  #heldBefore = 0
  #honestLinks: ReadonlySet<Link> = new Set()

  private constructor(
    node: CallNode,
    logged: string[],
    folder: string,
    listening: {
      readonly tcp: Listening
      readonly unix: Listening
      readonly http: Server
      readonly webSockets: AttachedWebSockets
    },
  ) {
    this.node = node
    this.logged = logged
    this.#folder = folder
    this.#tcp = listening.tcp
    this.#unix = listening.unix
    this.#http = listening.http
    this.#webSockets = listening.webSockets
  }

  static async open(
    handlers: Readonly<Record<string, Handler>> = {},
    register: (registry: OperationRegistry) => void = () => undefined,
  ): Promise<Ground> {
    const logged: string[] = []
    const registry = registryOf({ '/test/echo': echo, ...handlers })
    register(registry)
    const node = new CallNode({ registry, log: line => logged.push(line) })
    const folder = mkdtempSync(join(tmpdir(), 'parley-call-'))
    const accept = (transport: Transport) => void node.attach(transport)
    const http = createServer()
    const webSockets = attachWebSocket(http, accept, { identities: 'anonymous' })
    await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
    const tcp = await listenTcp({}, accept)
    const unix = await listenUnix(join(folder, 'node.sock'), accept)
    const ground = new Ground(node, logged, folder, { tcp, unix, http, webSockets })
    await ground.#hire()
    return ground
  }

  async #hire(): Promise<void> {
    const client = new CallNode({ registry: registryOf({}) })
    const transports = await Promise.all([
      connectTcp({ port: this.port }),
      connectUnix(this.path),
      connectWebSocket(this.url),
    ])
    this.#honest = transports.map(transport => new HonestClient(client.attach(transport)))
    await this.goOn()
    this.#honestLinks = new Set(this.node.links)
    this.#heldBefore = await heldBytes()
  }

  get port(): number {
    return this.#tcp.port!
  }

  get path(): string {
    return this.#unix.address
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#http.address() as AddressInfo).port}/alknet/call`
  }

  /** The node's ends of links that belong to no honest client. */
  get attacked(): readonly Link[] {
    return this.node.links.filter(link => !this.#honestLinks.has(link))
  }

  /** The node's end of the link that was opened last. */
  async lastAttacked(): Promise<Link> {
    for (;;) {
      const link = this.attacked.at(-1)
      if (link) return link
      await turn()
    }
  }

  /** A connection that goes away with the test. */
  async attacker(carrier: Carrier): Promise<Attacker> {
    return carrier === 'websocket' ? this.#closing(await WebSocketPeer.connect(this.url)) : this.raw(carrier)
  }

  /** The same below frames. */
  async raw(carrier: 'tcp' | 'unix'): Promise<BytePeer> {
    const where = carrier === 'tcp' ? { port: this.port } : { path: this.path }
    return this.#closing(await BytePeer.connect(where))
  }

  #closing<A extends Attacker>(attacker: A): A {
    onTestFinished(async () => {
      await attacker.close()
      await this.quiet()
    })
    return attacker
  }

  /** A connection that never reads. */
  async deaf(carrier: Carrier): Promise<Attacker> {
    if (carrier === 'websocket') {
      const peer = this.#closing(await WebSocketPeer.connect(this.url))
      peer.stopReading()
      return peer
    }
    const socket = carrier === 'tcp' ? connect(this.port, '127.0.0.1') : connect(this.path)
    socket.on('error', () => undefined)
    await new Promise<void>(resolve => socket.once('connect', resolve))
    return this.#closing(deafAttacker(socket))
  }

  /** Every honest client gets further answers: the attack does not reach them. */
  async goOn(calls = 5): Promise<void> {
    await Promise.all(this.#honest.map(client => client.more(calls)))
  }

  /**
   * The attack is over: honest clients went on and go on, no link of an attacker is left, and none of the memory that
   * it took.
   */
  async over(...attackers: readonly Pick<Attacker, 'close'>[]): Promise<void> {
    await this.goOn()
    await Promise.all(attackers.map(attacker => attacker.close()))
    await this.quiet()
    await this.goOn()
    expect((await heldBytes()) - this.#heldBefore).toBeLessThan(LEFTOVER)
  }

  /** The links of attackers are gone. */
  async quiet(): Promise<void> {
    while (this.attacked.length > 0) await turn()
  }

  async close(): Promise<void> {
    for (const client of this.#honest) client.stop()
    this.#webSockets.close()
    await Promise.all([this.#tcp.close(), this.#unix.close(), new Promise(resolve => this.#http.close(resolve))])
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A raw WebSocket: the library speaks its protocol, the messages are by hand. */
class WebSocketPeer implements Attacker {
  readonly received: Envelope[] = []
  readonly closed: Promise<number>
  readonly #ws: WebSocket
  #read = 0
  #wake: (() => void) | undefined

  private constructor(ws: WebSocket) {
    this.#ws = ws
    ws.on('message', (data: Buffer) => {
      this.received.push(JSON.parse(data.toString('utf8', 4)) as Envelope)
      this.#wake?.()
    })
    ws.on('error', () => undefined)
    this.closed = new Promise(resolve => ws.once('close', resolve))
  }

  static connect(url: string): Promise<WebSocketPeer> {
    const ws = new WebSocket(url, { perMessageDeflate: false })
    return new Promise((resolve, reject) => {
      ws.once('error', reject)
      ws.once('open', () => resolve(new WebSocketPeer(ws)))
    })
  }

  body(body: string | Uint8Array): void {
    this.#ws.send(frameOf(body), { binary: true })
  }

  send(type: string, id: string, payload: unknown = {}): void {
    this.body(JSON.stringify({ type, id, payload }))
  }

  async next(): Promise<Envelope> {
    while (this.#read >= this.received.length)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    return this.received[this.#read++]!
  }

  stopReading(): void {
    this.#ws.pause()
  }

  close(): Promise<unknown> {
    this.#ws.terminate()
    return this.closed
  }
}

/** Sends a request in the SEED profile. */
export function ask(attacker: Attacker, id: string, name: string, input: unknown = null, more: object = {}): void {
  attacker.send('call.requested', id, { name, input, ...more })
}

/** The next events, in the order of their arrival. */
export async function answers(attacker: Attacker, count: number): Promise<Envelope[]> {
  const all: Envelope[] = []
  while (all.length < count) all.push(await attacker.next())
  return all
}

/** Sends like the others, over a socket that is never read. */
function deafAttacker(socket: Socket): Attacker {
  const closed = new Promise(resolve => socket.once('close', resolve))
  const body = (text: string | Uint8Array) => void socket.write(frameOf(text))
  return {
    received: [],
    closed,
    body,
    send: (type, id, payload = {}) => body(JSON.stringify({ type, id, payload })),
    next: () => Promise.reject(new Error('it never reads')),
    close: () => {
      socket.destroy()
      return closed
    },
  }
}
