// Noise between two ends of this process, over loopback: handshakes, each on a connection of its own, and bytes in
// frames one way.
import { dialNoise } from '@parley/link/testing'
import { NoiseStream } from '../../packages/link/src/call/noise-stream.ts'
import { noiseChannel } from '../../packages/link/src/transport/channel.ts'
import type { Listening } from '../../packages/link/src/transport/listen.ts'
import { listenNoise, type NoiseArrival } from '../../packages/link/src/transport/listen-noise.ts'
import { type Carrier, pumped } from './carrier.ts'
import { called, caller, clock, HOST } from './profile.ts'

const PATIENCE_MS = 60_000
const BULK_BYTES = 1_048_576

export class NoiseCarrier implements Carrier {
  readonly name = 'Noise XK'
  readonly #listening: Listening
  readonly #arrivals: ((arrived: NoiseArrival) => void)[]

  static async start(): Promise<NoiseCarrier> {
    const arrivals: ((arrived: NoiseArrival) => void)[] = []
    const listening = await listenNoise({
      host: HOST,
      port: 0,
      own: called.noise,
      clock,
      serve: arrived => arrivals.shift()!(arrived),
    })
    return new NoiseCarrier(listening, arrivals)
  }

  private constructor(listening: Listening, arrivals: ((arrived: NoiseArrival) => void)[]) {
    this.#listening = listening
    this.#arrivals = arrivals
  }

  async shake(): Promise<void> {
    const { dialled, arrived } = await this.#connected()
    dialled.noise.messages.destroy()
    arrived.arrival.destroy()
    await Promise.all([dialled.noise.messages.closed, arrived.noise.messages.closed])
  }

  /** Through the stream that carries the call protocol. */
  async pump(chunk: Buffer, milliseconds: number): Promise<number> {
    const { dialled, arrived } = await this.#connected()
    arrived.noise.bulk(BULK_BYTES)
    const client = new NoiseStream(dialled.noise, dialled.session)
    const server = new NoiseStream(arrived.noise, arrived.session)
    return pumped(client, server, chunk, milliseconds)
  }

  /** One frame for each chunk, as envelopes travel. */
  async pumpFrames(chunk: Buffer, milliseconds: number): Promise<number> {
    const { dialled, arrived } = await this.#connected()
    arrived.noise.bulk(BULK_BYTES)
    const from = noiseChannel(dialled.noise.messages, dialled.session)
    const to = noiseChannel(arrived.noise.messages, arrived.session)
    let bytes = 0
    const start = performance.now()
    const reading = (async () => {
      for (;;) {
        const frame = await to.receive(PATIENCE_MS)
        if (typeof frame === 'string') return
        bytes += frame.length
      }
    })()
    while (performance.now() - start < milliseconds) await from.send(chunk, PATIENCE_MS)
    from.end(PATIENCE_MS)
    await reading
    const rate = (bytes / (performance.now() - start)) * 1000
    to.destroy()
    await from.closed
    return rate
  }

  close(): Promise<void> {
    this.#listening.destroyAll()
    return this.#listening.stop()
  }

  async #connected() {
    const arriving = new Promise<NoiseArrival>(resolve => this.#arrivals.push(resolve))
    const dialled = await dialNoise({ host: HOST, port: this.#listening.port! }, called.id, {
      own: caller,
      clock,
      timeoutMs: PATIENCE_MS,
    })
    if (!dialled.ok) throw dialled.error
    return { dialled: dialled.value, arrived: await arriving }
  }
}
