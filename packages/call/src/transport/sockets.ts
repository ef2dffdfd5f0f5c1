// Unix sockets, TCP and TLS: servers and clients of one duplex stream each.
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { type AddressInfo, connect as connectSocket, createServer, type Server, type Socket } from 'node:net'
import * as tls from 'node:tls'
import { isMainThread } from 'node:worker_threads'
import { type Principal, SystemClock } from '@parley/core'
import { callDefaults, callLimits } from '../limits.ts'
import { type DuplexOptions, DuplexTransport } from './duplex.ts'
import type { Transport } from './transport.ts'

export interface Listening {
  /** Where it listens: a path, or a host and port. */
  readonly address: string
  readonly port: number | undefined
  /** Stops listening and cuts every connection, except closed transports that still send what they were given. */
  close(): Promise<void>
}

export interface ListenOptions extends Pick<DuplexOptions, 'maxBody' | 'clock'> {
  /** Who a connection belongs to. Throwing, or exceeding `callDefaults.handshake`, refuses the connection. */
  readonly authenticate?: (socket: Socket) => Principal | undefined | Promise<Principal | undefined>
  /** At once; `callLimits.connections` by default. The longest silent anonymous connection gives way to a new one. */
  readonly maxConnections?: number
}

type Accept = (transport: Transport) => void

/** A socket for its owner only. Replaces one that a dead process left; `EADDRINUSE` if somebody listens there. */
export async function listenUnix(path: string, accept: Accept, options: ListenOptions = {}): Promise<Listening> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() && !(await answers(path))) rmSync(path, { force: true })
  const server = createServer()
  return listen(server, accept, 'unix', options, () => {
    // Where it can be had, from the first moment on: a thread cannot change the mask of its process.
    const mask = isMainThread ? process.umask(0o177) : undefined
    server.listen(path, callLimits.backlog, () => chmodSync(path, 0o600))
    if (mask !== undefined) process.umask(mask)
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connectSocket(path, () => {
      socket.destroy()
      resolve(true)
    }).once('error', () => resolve(false))
  })
}

interface Where {
  readonly host?: string
  readonly port?: number
}

export function listenTcp(where: Where, accept: Accept, options: ListenOptions = {}): Promise<Listening> {
  return listenAt(createServer(), where, accept, 'tcp', options)
}

export function listenTls(
  { tls: own, ...where }: Where & { readonly tls: tls.TlsOptions },
  accept: Accept,
  options: ListenOptions = {},
): Promise<Listening> {
  const server = tls.createServer({ handshakeTimeout: callDefaults.handshake, ...own })
  return listenAt(server, where, accept, 'tls', options)
}

function listenAt(server: Server, where: Where, accept: Accept, kind: string, options: ListenOptions) {
  const { port = 0, host = '127.0.0.1' } = where
  return listen(server, accept, kind, options, () => server.listen(port, host, callLimits.backlog))
}

function listen(
  server: Server,
  accept: Accept,
  kind: string,
  options: ListenOptions,
  start: () => void,
): Promise<Listening> {
  const { authenticate, maxConnections = callLimits.connections, clock = systemClock } = options
  const door = new Door(maxConnections)
  const open = new Set<Socket>()
  // Those that are still shaking hands are not at the door yet; they are as many again, and not for long.
  server.maxConnections = 2 * maxConnections
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  const greet = async (socket: Socket): Promise<void> => {
    // Until the transport listens, an error would end the process.
    const early = () => socket.destroy()
    socket.on('error', early)
    if (!door.admit(socket)) return
    const cancel = authenticate && clock.after(callDefaults.handshake, early, { background: true })
    try {
      const identity = await authenticate?.(socket)
      if (socket.destroyed) return
      const transport = socketTransport(socket, kind, { ...options, identity })
      door.known(socket, transport)
      accept(transport)
    } catch {
      socket.destroy()
    } finally {
      cancel?.()
    }
  }
  server.on(kind === 'tls' ? 'secureConnection' : 'connection', (socket: Socket) => void greet(socket))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', () => {
      server.off('error', reject)
      server.on('error', () => undefined)
      const bound = server.address() as AddressInfo | string
      const [address, port] = typeof bound === 'string' ? [bound] : [`${bound.address}:${bound.port}`, bound.port]
      resolve({
        address,
        port,
        close: () =>
          new Promise(done => {
            server.close(() => done())
            // A transport that was closed still sends what it was given, and gives up on a peer that does not read.
            for (const socket of open) if (!socket.writableEnded) socket.destroy()
          }),
      })
    })
    start()
  })
}

/** The bound on connections. Silent anonymous ones cannot keep others out. */
class Door {
  readonly #most: number
  readonly #inside = new Set<Socket>()
  /** In the order of their arrival: connections that may be silent, with their transport once they have one. */
  readonly #quiet = new Map<Socket, DuplexTransport | undefined>()

  constructor(most: number) {
    this.#most = most
  }

  admit(socket: Socket): boolean {
    if (this.#inside.size >= this.#most && !this.#giveWay()) {
      socket.destroy()
      return false
    }
    this.#inside.add(socket)
    this.#quiet.set(socket, undefined)
    socket.once('close', () => this.#forget(socket))
    return true
  }

  known(socket: Socket, transport: DuplexTransport): void {
    if (transport.identity) this.#quiet.delete(socket)
    else this.#quiet.set(socket, transport)
  }

  #giveWay(): boolean {
    for (const [socket, transport] of this.#quiet) {
      this.#quiet.delete(socket)
      if (transport && !transport.silent) continue
      this.#forget(socket)
      socket.destroy()
      return true
    }
    return false
  }

  #forget(socket: Socket): void {
    this.#inside.delete(socket)
    this.#quiet.delete(socket)
  }
}

const systemClock = new SystemClock()

function socketTransport(socket: Socket, kind: string, options: DuplexOptions): DuplexTransport {
  socket.setNoDelay(true)
  // CALL-ROUTE-08: the transport finds links whose other end is gone.
  socket.setKeepAlive(true, callDefaults.keepalive)
  return new DuplexTransport(socket, { ...options, kind })
}

export function connectUnix(path: string, options: DuplexOptions = {}): Promise<Transport> {
  return connected(connectSocket(path), 'connect', 'unix', options)
}

export function connectTcp(where: Where & { readonly port: number }, options: DuplexOptions = {}): Promise<Transport> {
  return connected(connectSocket(where.port, where.host ?? '127.0.0.1'), 'connect', 'tcp', options)
}

export function connectTlsSocket(where: tls.ConnectionOptions, options: DuplexOptions = {}): Promise<Transport> {
  return connected(tls.connect(where), 'secureConnect', 'tls', options)
}

function connected(socket: Socket, event: string, kind: string, options: DuplexOptions): Promise<Transport> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once(event, () => {
      socket.off('error', reject)
      resolve(socketTransport(socket, kind, options))
    })
  })
}
