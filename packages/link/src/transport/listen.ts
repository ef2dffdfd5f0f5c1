// Listening sockets: every connection passes a door, and stopping ends them all. Below both transports, and below any
// other protocol on the same handshake.
import { createServer, type Server, type Socket } from 'node:net'
import { linkLimits } from '../limits.ts'
import { ConnectionLimit, type Counted } from './connection-limit.ts'

export interface Arrival extends Counted {
  readonly socket: Socket
  /** `host:port` of the other side; undefined on a Unix socket. */
  readonly remote: string | undefined
  /** Set by whoever serves it, while an answer is on its way: stopping waits for that. */
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

export type Where = { readonly path: string } | { readonly host: string; readonly port: number }

/** Rejects with the system's error where nobody can listen there. */
export async function listen(where: Where, most: number, serve: (arrival: Arrival) => void): Promise<Listening> {
  const limit = new ConnectionLimit(most)
  const open = new Set<Arrival>()
  // A side that says no more may still listen (ALP-UNIX-03).
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    const arrival = arrivalOf(socket, peer => limit.recognise(arrival, peer))
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
  await bound(server, where)
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

function arrivalOf(socket: Socket, recognise: (peer: string) => void): Arrival {
  const { remoteAddress, remotePort } = socket
  return {
    socket,
    remote: remoteAddress === undefined ? undefined : `${remoteAddress}:${remotePort}`,
    address: remoteAddress ?? '',
    busy: false,
    recognise,
    destroy: () => socket.destroy(),
  }
}

function bound(server: Server, where: Where): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...where, backlog: linkLimits.backlog }, () => {
      server.off('error', reject)
      // What goes wrong with single connections later (no descriptors left) is not the end of the listener.
      server.on('error', () => undefined)
      resolve()
    })
  })
}
