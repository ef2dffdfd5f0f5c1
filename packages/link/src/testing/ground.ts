// A server of one of the vectors' identities on both transports, and whoever calls it, for tests: real sockets on
// loopback.
import { mkdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { type Clock, ManualClock } from '@parley/core'
import { expect, onTestFinished } from 'vitest'
import { LinkClient } from '../client/client.ts'
import type { Target } from '../client/target.ts'
import { ReplayJournal } from '../envelope/replay-journal.ts'
import type { DropReason } from '../envelope/verify.ts'
import { linkPaths } from '../identity/files.ts'
import type { LinkIdentity } from '../identity/identity.ts'
import { parseWire } from '../json/parse.ts'
import type { WireObject } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import { Initiator } from '../noise/handshake.ts'
import type { LinkHandler, Reply, StreamPart } from '../server/request.ts'
import { LinkServer, type LinkServerOptions } from '../server/server.ts'
import type { Carrier } from '../transport/channel.ts'
import { vectorClock } from './clock.ts'
import { temporaryFolder, writeKeys } from './homes.ts'
import { identityOf } from './vectors.ts'

export interface GroundOptions {
  readonly handler?: LinkHandler
  readonly pinned?: readonly string[]
  readonly clock?: Clock
}

/** Answers with what it was asked. */
export const echo: LinkHandler = ({ method, params }) => ({ result: { method, params: params ?? 'none' } })

/** A streamed answer of these parts. */
export function streamOf(...parts: StreamPart[]): Reply {
  return {
    stream: (async function* () {
      yield* parts
    })(),
  }
}

/** A call that fails here with this code. */
export function failure(code: string, more: object = {}) {
  return { ok: false, error: { where: 'local', error: { code, ...more } } }
}

export class Ground {
  readonly home = temporaryFolder()
  readonly identity: LinkIdentity = identityOf('bob')
  readonly clock: Clock
  readonly pinned: Set<string>
  readonly strangers: (readonly [string, string | undefined])[] = []
  readonly dropped: (readonly [DropReason, Carrier])[] = []
  readonly failed: string[] = []
  readonly socket = linkPaths(this.home).socket
  readonly journal: ReplayJournal
  server!: LinkServer

  constructor({ pinned = ['alice'], clock = vectorClock() }: GroundOptions = {}) {
    this.clock = clock
    this.pinned = new Set(pinned.map(name => identityOf(name).id))
    writeKeys(this.home, 'bob')
    const path = linkPaths(this.home).replay
    mkdirSync(dirname(path), { recursive: true })
    this.journal = ReplayJournal.open(path, { clock })
    onTestFinished(() => this.journal.close())
  }

  static async start(options: GroundOptions = {}): Promise<Ground> {
    const ground = new Ground(options)
    await ground.serve(options.handler ?? echo)
    return ground
  }

  async serve(handler: LinkHandler): Promise<void> {
    this.server = await this.listen({ handler, socket: this.socket, tcp: { host: '127.0.0.1', port: 0 } })
  }

  /** A server of this profile. */
  async listen(options: Pick<LinkServerOptions, 'handler' | 'socket' | 'tcp' | 'log'>): Promise<LinkServer> {
    const { identity, clock, journal } = this
    const pins = {
      identities: () => this.pinned,
      stranger: (identity: string, remote: string | undefined) => this.strangers.push([identity, remote]),
    }
    const log: LinkServerOptions['log'] = {
      dropped: (reason, carrier) => this.dropped.push([reason, carrier]),
      failed: (what, cause) => this.failed.push(`${what}: ${String(cause)}`),
    }
    const server = await LinkServer.start({ identity, clock, journal, pins, log, ...options })
    onTestFinished(async () => {
      const closing = server.close()
      this.pass(linkDefaults.closeMs)
      await closing
    })
    return server
  }

  /** Lets time pass, where it is a test's to move. */
  pass(milliseconds: number): void {
    if (this.clock instanceof ManualClock) this.clock.advance(milliseconds)
  }

  target(carrier: Carrier): Target {
    return {
      identity: this.identity.id,
      at: carrier === 'unix' ? { path: this.socket } : { host: '127.0.0.1', port: this.server.port! },
    }
  }

  client(name = 'alice', clock: Clock = this.clock): LinkClient {
    return new LinkClient({ identity: identityOf(name), clock })
  }

  /** A caller that has had the second message of the handshake, and stops there. */
  async halfway(name = 'alice'): Promise<{ readonly peer: RawPeer; readonly initiator: Initiator }> {
    const peer = await this.raw('tcp')
    const initiator = new Initiator(identityOf(name).noise, this.identity.noise.publicKey)
    peer.write(framed(2, initiator.first()!))
    await peer.frame(2)
    return { peer, initiator }
  }

  /** A bare socket, which goes when the test is over. */
  raw(carrier: Carrier): Promise<RawPeer> {
    const socket = carrier === 'unix' ? connect(this.socket) : connect(this.server.port!, '127.0.0.1')
    return RawPeer.connected(socket)
  }
}

/** Says any bytes, and keeps what comes back. */
export class RawPeer {
  readonly socket: Socket
  received: Buffer = Buffer.alloc(0)
  readonly closed: Promise<void>
  #heard: (() => void) | undefined

  static connected(socket: Socket): Promise<RawPeer> {
    const peer = new RawPeer(socket)
    return new Promise((resolve, reject) => {
      socket.once('connect', () => resolve(peer))
      socket.once('error', reject)
    })
  }

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk])
      this.#heard?.()
    })
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    void this.closed.then(() => this.#heard?.())
    onTestFinished(() => {
      socket.destroy()
    })
  }

  write(bytes: Buffer | string): void {
    this.socket.write(bytes)
  }

  /** That the other side closes without a byte more. */
  async expectSilence(): Promise<void> {
    await this.closed
    expect(this.received).toHaveLength(0)
  }

  /** Waits until so many bytes have come and takes them. */
  async take(bytes: number): Promise<Buffer> {
    while (this.received.length < bytes) {
      if (this.socket.destroyed) throw new Error(`closed after ${this.received.length} of ${bytes} bytes`)
      await new Promise<void>(resolve => {
        this.#heard = resolve
      })
    }
    const taken = this.received.subarray(0, bytes)
    this.received = this.received.subarray(bytes)
    return taken
  }

  async frame(prefix: 2 | 4): Promise<Buffer> {
    return this.take((await this.take(prefix)).readUIntBE(0, prefix))
  }
}

/** The lines that come back for one line on a Unix socket. */
export async function linesOf(socket: string, line: Buffer): Promise<Buffer[]> {
  const peer = await RawPeer.connected(connect(socket))
  peer.write(Buffer.concat([line, Buffer.from('\n')]))
  await peer.closed
  const lines = peer.received.toString().split('\n').filter(Boolean)
  return lines.map(each => Buffer.from(each))
}

/** The same, parsed. */
export async function answersOf(socket: string, line: Buffer): Promise<WireObject[]> {
  return (await linesOf(socket, line)).map(each => parseWire(each) as WireObject)
}

/** Lets the event loop turn this often. */
export async function idle(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** Waits until a number stays the same. */
export async function settled(read: () => number): Promise<number> {
  let before = -1
  while (before !== read()) {
    before = read()
    await idle(500)
  }
  return before
}

export function framed(prefix: 2 | 4, message: Buffer): Buffer {
  const length = Buffer.alloc(prefix)
  length.writeUIntBE(message.length, 0, prefix)
  return Buffer.concat([length, message])
}

/** Waits, in turns of the event loop, until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 100_000) throw new Error('it never came to hold')
    await new Promise(resolve => setImmediate(resolve))
  }
}
