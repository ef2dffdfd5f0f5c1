// `parley-call/1`: a second listener on the same keys, whose handshakes have a prologue of their own and whose sessions
// carry the call protocol. Only pinned peers come in; everybody else gets no byte after the handshake.
import { DuplexTransport, type Receiver, type Transport } from '@parley/call'
import type { Clock, Principal } from '@parley/core'
import { ImageCache, type LinkIdentity } from '../identity/identity.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { type PinsAndLog, pinnedNow } from '../server/conversation.ts'
import type { Arrival, TcpPlan } from '../transport/listen.ts'
import { listenNoise, type NoiseArrival } from '../transport/listen-noise.ts'
import { NoiseStream } from './noise-stream.ts'

export const CALL_PROLOGUE: Buffer = Buffer.from('parley-call/1', 'ascii')
/** `Transport.kind`. */
export const CALL_KIND = 'noise'

export interface ListenCallOptions extends TcpPlan, PinsAndLog {
  readonly identity: LinkIdentity
  readonly clock: Clock
  /** Who a pinned identity is to operations; asked for every request. */
  readonly principal: (identity: string) => Principal | undefined
  /** Gets the transport of every pinned peer that connects, not started. */
  readonly accept: (transport: Transport) => void
  /** Bytes of the largest body, both ways; the call protocol's own limit by default. */
  readonly maxBody?: number
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

/** Rejects with the system's error if the machine cannot listen there. */
export async function listenCall(options: ListenCallOptions): Promise<CallListening> {
  const { identity, clock, maxBody } = options
  const open = new Map<Arrival, Transport>()
  const images = new ImageCache()
  const pinned = () => pinnedNow(options)
  const serve = ({ arrival, noise, session }: NoiseArrival) => {
    const peer = images.holder(session.remoteStatic, pinned())
    if (peer === undefined) return arrival.destroy()
    arrival.recognise(peer)
    // CALL-ROUTE-08: the transport finds links whose other end is gone.
    arrival.socket.setKeepAlive(true, linkDefaults.keepAliveMs)
    noise.bulk(linkLimits.frameBytes)
    const bytes = { kind: CALL_KIND, clock, ...(maxBody !== undefined && { maxBody }) }
    const transport = peerTransport(new DuplexTransport(new NoiseStream(noise, session), bytes), {
      pinned: () => pinned().has(peer),
      principal: () => options.principal(peer),
    })
    open.set(arrival, transport)
    arrival.socket.once('close', () => open.delete(arrival))
    options.accept(transport)
  }
  const { host, port, fallback } = options
  const how = { own: identity.noise, clock, prologue: CALL_PROLOGUE, serve }
  const listening = await listenNoise({ host, port, fallback, ...how })
  return {
    host: listening.host!,
    port: listening.port!,
    close() {
      for (const [arrival, transport] of open) {
        // What was sent still goes out; a transport gives up on a peer that does not take it.
        arrival.busy = true
        transport.close('the node is closing')
      }
      return listening.stop()
    },
  }
}

/**
 * A transport whose peer is looked up for every envelope, both ways, so that an edit of the peer list applies at once
 * (ALP-PEER-06), also to a subscription that began before.
 */
function peerTransport(
  inner: DuplexTransport,
  peer: { readonly pinned: () => boolean; readonly principal: () => Principal | undefined },
): Transport {
  const close = (reason?: string) => inner.close(reason)
  const stillPinned = () => {
    const pinned = peer.pinned()
    if (!pinned) close('the peer is not pinned any more')
    return pinned
  }
  return {
    kind: inner.kind,
    maxBody: inner.maxBody,
    get identity() {
      return peer.principal()
    },
    get queued() {
      return inner.queued
    },
    start: (receiver: Receiver) =>
      inner.start({
        envelope: envelope => {
          if (stillPinned()) receiver.envelope(envelope)
        },
        crowded: () => receiver.crowded?.() ?? false,
        violation: violation => receiver.violation(violation),
        drain: () => receiver.drain(),
        closed: reason => receiver.closed(reason),
      }),
    send: text => {
      if (stillPinned()) inner.send(text)
    },
    close,
  }
}
