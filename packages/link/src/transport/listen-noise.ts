// Listening for Noise handshakes (ALP-TCP-03, -06): what comes of one is a session whose other side has proved its static key. ALP is one
// protocol on top of it; another one has its own prologue and port.
import type { Clock } from '@parley/core'
import type { KeyPair } from '../identity/identity.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { MESSAGE_BYTES, type Session } from '../noise/handshake.ts'
import { Slots } from './door.ts'
import { NoiseSocket, respond } from './handshake-io.ts'
import { type Arrival, type Listening, listen } from './listen.ts'

export interface NoiseArrival {
  readonly arrival: Arrival
  readonly noise: NoiseSocket
  readonly session: Session
}

export interface ListenNoiseOptions {
  readonly host: string
  readonly port: number
  readonly own: KeyPair
  readonly clock: Clock
  /** Empty in ALP (ALP-NOISE-02). */
  readonly prologue?: Buffer
  /** The handshake is done; frames are cut as bulk once `noise.bulk` was called. */
  readonly serve: (arrived: NoiseArrival) => void
}

export function listenNoise(options: ListenNoiseOptions): Promise<Listening> {
  const slots = new Slots(linkLimits.handshakes)
  return listen(
    { host: options.host, port: options.port },
    linkLimits.tcpConnections,
    arrival => void greet(arrival, slots, options).catch(() => arrival.destroy()),
  )
}

async function greet(arrival: Arrival, slots: Slots, options: ListenNoiseOptions): Promise<void> {
  const { own, clock, prologue, serve } = options
  const noise = new NoiseSocket(arrival.socket, clock)
  const cancel = clock.after(linkDefaults.handshakeMs, () => arrival.destroy(), { background: true })
  // A connection that says nothing takes no place among the handshakes.
  const first = await noise.take(MESSAGE_BYTES[0])
  const handshake = prologue === undefined ? {} : { prologue }
  const session = first && (await slots.run(arrival, () => respond(noise, first, own, handshake)))
  cancel()
  if (!session) return arrival.destroy()
  serve({ arrival, noise, session })
}
