// `parley-call/1`: a second listener on the same keys, whose handshakes have a prologue of their own and whose sessions
// carry the call protocol. Only pinned peers come in; whoever else connects is left without a byte after the handshake.
import { DuplexTransport, type Transport } from '@parley/call'
import type { Clock, Principal } from '@parley/core'
import { ImageCache } from '../identity/curve.ts'
import { type LinkIdentity, publicKeyOf } from '../identity/identity.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import type { LinkLog, Pins } from '../server/conversation.ts'
import type { Arrival } from '../transport/listen.ts'
import { listenNoise, type NoiseArrival } from '../transport/listen-noise.ts'
import { NoiseStream } from './noise-stream.ts'
import { PeerTransport } from './peer-transport.ts'

export const CALL_PROLOGUE: Buffer = Buffer.from('parley-call/1', 'ascii')
/** `Transport.kind`. */
export const CALL_KIND = 'noise'

export interface ListenCallOptions {
  readonly host: string
  /** 0 is any that is free. */
  readonly port: number
  /** Listened on where `host` is not the machine's own (ALP-TCP-01). */
  readonly fallback?: string
  readonly identity: LinkIdentity
  readonly clock: Clock
  /** Asked for every connection and every envelope. */
  readonly pins: Pick<Pins, 'identities'>
  /** Who a pinned identity is to operations; asked for every request. */
  readonly principal: (identity: string) => Principal | undefined
  /** A pinned peer is there; its transport is not started. */
  readonly accept: (transport: Transport) => void
  /** Bytes of the largest body, both ways; the call protocol's own limit by default. */
  readonly maxBody?: number
  readonly log?: Pick<LinkLog, 'failed'>
}

export interface CallListening {
  readonly host: string
  readonly port: number
  /**
   * Takes no more connections, closes those that are open after what was sent, and resolves when all are gone. Safe to
   * repeat.
   */
  close(): Promise<void>
}

/** Rejects with the system's error where nobody can listen there. */
export async function listenCall(options: ListenCallOptions): Promise<CallListening> {
  const { host, port, fallback, identity, clock } = options
  const open = new Map<Arrival, Transport>()
  const images = new ImageCache(publicKeyOf)
  const pinned = () => identitiesNow(options)
  const serve = ({ arrival, noise, session }: NoiseArrival) => {
    const peer = images.holder(session.remoteStatic, pinned())
    if (peer === undefined) return arrival.destroy()
    arrival.recognise(peer)
    // CALL-ROUTE-08: the transport finds links whose other end is gone.
    arrival.socket.setKeepAlive(true, linkDefaults.keepAliveMs)
    noise.bulk(linkLimits.frameBytes)
    const inner = new DuplexTransport(new NoiseStream(noise, session), {
      kind: CALL_KIND,
      clock,
      ...(options.maxBody !== undefined && { maxBody: options.maxBody }),
    })
    const transport = new PeerTransport(inner, {
      pinned: () => pinned().has(peer),
      principal: () => options.principal(peer),
    })
    open.set(arrival, transport)
    arrival.socket.once('close', () => open.delete(arrival))
    options.accept(transport)
  }
  const listening = await listenNoise({
    host,
    port,
    ...(fallback !== undefined && { fallback }),
    own: identity.noise,
    clock,
    prologue: CALL_PROLOGUE,
    serve,
  })
  return {
    host: listening.host!,
    port: listening.port!,
    close() {
      for (const [arrival, transport] of open) {
        // What was sent still goes out; a transport gives up on who does not take it.
        arrival.busy = true
        transport.close('the node is closing')
      }
      return listening.stop()
    },
  }
}

/** Where the list cannot be had nobody is pinned (ALP-ERR-05). */
function identitiesNow({ pins, log }: ListenCallOptions): ReadonlySet<string> {
  try {
    return pins.identities()
  } catch (cause) {
    log?.failed?.('the list of peers', cause)
    return NOBODY
  }
}

const NOBODY: ReadonlySet<string> = new Set()
