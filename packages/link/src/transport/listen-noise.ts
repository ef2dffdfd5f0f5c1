// Listening for Noise handshakes (ALP-TCP-03, -06). The result of one is a session whose other side has proved its
// static key. ALP is one protocol on top of it; another one has its own prologue and port.
import { type Clock, systemCode } from '@parley/core'
import type { KeyPair } from '../identity/identity.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { MESSAGE_BYTES, type Session } from '../noise/handshake.ts'
import { Slots } from './connection-limit.ts'
import { NoiseSocket, respond } from './handshake-io.ts'
import { type Arrival, type Listening, listen, type TcpPlan } from './listen.ts'

export interface NoiseArrival {
  readonly arrival: Arrival
  readonly noise: NoiseSocket
  readonly session: Session
}

export interface ListenNoiseOptions extends TcpPlan {
  /** Told when `fallback` is listened on. */
  readonly elsewhere?: (bound: string, cause: unknown) => void
  readonly own: KeyPair
  readonly clock: Clock
  /** Empty in ALP (ALP-NOISE-02). */
  readonly prologue?: Buffer
  /** The handshake is done; frames are cut as bulk once `noise.bulk` was called. */
  readonly serve: (arrived: NoiseArrival) => void
}

/** Rejects with the system's error if the machine cannot listen there. */
export async function listenNoise(options: ListenNoiseOptions): Promise<Listening> {
  const { port, fallback } = options
  const slots = new Slots(linkLimits.handshakes)
  const serve = (arrival: Arrival) => void greet(arrival, slots, options).catch(() => arrival.destroy())
  const bind = (host: string) => listen({ host, port }, linkLimits.tcpConnections, serve)
  try {
    return await bind(unbracketed(options.host))
  } catch (cause) {
    if (fallback === undefined || !ELSEWHERE.includes(systemCode(cause))) throw cause
    const listening = await bind(fallback)
    options.elsewhere?.(fallback, cause)
    return listening
  }
}

/** The system's codes for a name or an address that this machine does not have. */
const ELSEWHERE = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN']

export function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

async function greet(arrival: Arrival, slots: Slots, options: ListenNoiseOptions): Promise<void> {
  const { own, clock, prologue, serve } = options
  const noise = new NoiseSocket(arrival.socket, clock)
  const cancel = clock.after(linkDefaults.handshakeMs, () => arrival.destroy(), { background: true })
  // A connection that says nothing takes no place among the handshakes.
  const first = await noise.take(MESSAGE_BYTES[0])
  const session = first && (await slots.run(arrival, () => respond(noise, first, own, { prologue })))
  cancel()
  if (!session) return arrival.destroy()
  serve({ arrival, noise, session })
}
