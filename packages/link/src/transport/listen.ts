// Listening sockets with a bound on their connections, below both transports and any other protocol on the same
// handshake.
import { createServer, type Socket } from 'node:net'
import { linkLimits } from '../limits.ts'
import { ConnectionLimit, type Counted } from './connection-limit.ts'

export interface Arrival extends Counted {
  readonly socket: Socket
  /** `host:port` of the other side; undefined on a Unix socket. */
  readonly remote: string | undefined
  /** Set by its server while an answer is on its way: stopping waits for that. */
  busy: boolean
  /** A pinned peer has it: from now on no stranger takes its place. */
  recognise(peer: string): void
}

export interface Listening {
  readonly host: string | undefined
  readonly port: number | undefined
  /** Takes no more connections and ends those that are not busy; resolves when all are gone. */
  stop(): Promise<void>
  /** Ends every connection, now. */
  destroyAll(): void
}

export interface TcpPlan {
  /** What peers are told; listened on if the machine has it. */
  readonly host: string
  /** 0 is any that is free. */
  readonly port: number
  /** Listened on if the machine does not have `host`: behind a NAT, in a container (ALP-TCP-01). */
  readonly fallback?: string | undefined
}

/** Rejects with the system's error if the machine cannot listen there. */
export async function listen(
  where: { readonly path: string } | { readonly host: string; readonly port: number },
  most: number,
  serve: (arrival: Arrival) => void,
): Promise<Listening> {
  const limit = new ConnectionLimit(most)
  const open = new Set<Arrival>()
  // A side that says no more may still listen (ALP-UNIX-03).
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    const { remoteAddress, remotePort } = socket
    const arrival: Arrival = {
      socket,
      remote: remoteAddress === undefined ? undefined : `${remoteAddress}:${remotePort}`,
      address: remoteAddress ?? '',
      busy: false,
      recognise: peer => limit.recognise(arrival, peer),
      destroy: () => socket.destroy(),
    }
    open.add(arrival)
    socket.once('close', () => {
      open.delete(arrival)
      limit.leave(arrival)
    })
    // Until somebody serves it, an error would end the process.
    socket.on('error', () => undefined)
    if (limit.admit(arrival)) serve(arrival)
    else socket.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...where, backlog: linkLimits.backlog }, resolve)
  })
  // What goes wrong with single connections later (no descriptors left) is not the end of the listener.
  server.on('error', () => undefined)
  const address = server.address()
  const tcp = typeof address === 'object' && address !== null ? address : undefined
  let stopped: Promise<void> | undefined
  return {
    host: tcp?.address,
    port: tcp?.port,
    stop() {
      stopped ??= new Promise(resolve => server.close(() => resolve()))
      for (const arrival of open) if (!arrival.busy) arrival.destroy()
      return stopped
    },
    destroyAll() {
      for (const arrival of open) arrival.destroy()
    },
  }
}
