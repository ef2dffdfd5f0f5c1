// A profile's ALP server: both transports with one conversation behind them (ALP-UNIX-03 to -05, ALP-TCP-05 to -09,
// -12). It starts every transport that it can, and stops without cutting an answer that is on its way.
import { type Clock, ticksPerMillisecond } from '@parley/core'
import { linkDefaults, linkLimits } from '../limits.ts'
import { type Carrier, type Channel, lineChannel, noiseChannel } from '../transport/channel.ts'
import type { Arrival, Listening, TcpPlan } from '../transport/listen.ts'
import { listenNoise, type NoiseArrival } from '../transport/listen-noise.ts'
import { MessageSocket } from '../transport/message-socket.ts'
import { Lines } from '../transport/split.ts'
import { Conversation, type ConversationOptions } from './conversation.ts'
import { listenUnix } from './unix-socket.ts'

export interface LinkServerOptions extends ConversationOptions {
  /** The path of the Unix socket; left out, there is none. */
  readonly socket?: string
  readonly tcp?: TcpPlan
}

export class LinkServer {
  readonly #conversation: Conversation
  readonly #clock: Clock
  readonly #options: LinkServerOptions
  readonly #listening = new Map<Carrier, Listening>()
  #closing: Promise<void> | undefined
  #roomyStrangers = 0

  /** A transport that cannot be started goes to the log, and the other one serves alone (ALP-TCP-01). */
  static async start(options: LinkServerOptions): Promise<LinkServer> {
    const server = new LinkServer(options)
    await server.#listen()
    return server
  }

  private constructor(options: LinkServerOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#conversation = new Conversation(options)
  }

  get carriers(): readonly Carrier[] {
    return [...this.#listening.keys()]
  }

  /** The TCP port that it listens on. */
  get port(): number | undefined {
    return this.#listening.get('tcp')?.port
  }

  /** Takes no more connections, lets running requests have their answer for a while, and ends. Safe to repeat. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const listening = [...this.#listening.values()]
    const cancel = this.#clock.after(linkDefaults.closeMs, () => {
      for (const each of listening) each.destroyAll()
    })
    await Promise.all(listening.map(each => each.stop()))
    cancel()
  }

  async #listen(): Promise<void> {
    const { socket, tcp, identity, log } = this.#options
    const greetLine = (arrival: Arrival) => void this.#greetLine(arrival)
    if (socket !== undefined) await this.#try('unix', listenUnix(socket, greetLine))
    if (tcp) {
      const serve = (arrived: NoiseArrival) => void this.#greetNoise(arrived)
      const elsewhere = (bound: string, cause: unknown) => log?.elsewhere?.(tcp.host, bound, cause)
      await this.#try('tcp', listenNoise({ ...tcp, own: identity.noise, clock: this.#clock, serve, elsewhere }))
    }
  }

  async #try(carrier: Carrier, starting: Promise<Listening>): Promise<void> {
    try {
      this.#listening.set(carrier, await starting)
    } catch (cause) {
      this.#options.log?.failed?.(`listening (${carrier})`, cause)
    }
  }

  /** ALP-UNIX-03: one line, its answer, the end. */
  async #greetLine(arrival: Arrival): Promise<void> {
    const { socket } = arrival
    // A caller that says no more may still listen, or be gone: writing nothing fails in the second case alone.
    socket.once('end', () => void (socket.writable && socket.write(Buffer.alloc(0))))
    const channel = lineChannel(new MessageSocket(socket, new Lines(linkLimits.lineBytes), this.#clock))
    await this.#attend(channel, arrival, undefined, async serve => {
      const line = await channel.receive(linkDefaults.lineMs)
      return typeof line !== 'string' && (await serve(line))
    })
  }

  /**
   * ALP-TCP-07: requests until a caller is idle for too long or was not answered. None waits for the one before it: ALP
   * queues nothing.
   */
  async #greetNoise({ arrival, noise, session }: NoiseArrival): Promise<void> {
    const known = this.#conversation.pinnedBy(session.remoteStatic)
    const channel = noiseChannel(noise.messages, session)
    noise.bulk(known === undefined ? this.#strangerRoom(channel) : linkLimits.frameBytes)
    if (known !== undefined) arrival.recognise(known)
    const patience = known === undefined ? linkDefaults.strangerMs : linkDefaults.serverIdleMs
    await this.#attend(channel, arrival, session.remoteStatic, async serve => {
      const serving = new Set<Promise<void>>()
      let active = this.#clock.now()
      for (;;) {
        const idleMs = () => (this.#clock.now() - active) / ticksPerMillisecond
        const frame = await channel.receive(Math.max(1, patience - idleMs()))
        if (frame === 'late') {
          if (serving.size > 0) active = this.#clock.now()
          if (idleMs() < patience) continue
        }
        if (typeof frame === 'string') {
          await Promise.all(serving)
          return false
        }
        const one = this.#served(serve(frame), channel).then(() => {
          serving.delete(one)
          active = this.#clock.now()
          if (this.#closing && serving.size === 0) channel.end(linkDefaults.closeMs)
        })
        serving.add(one)
        if (serving.size >= linkLimits.requestsAtOnce) await Promise.race(serving)
      }
    })
  }

  /** Never rejects: a caller that is not answered is left without a word. */
  async #served(serving: Promise<boolean>, channel: Channel): Promise<void> {
    try {
      if (!(await serving)) channel.destroy()
    } catch (cause) {
      this.#options.log?.failed?.('a connection', cause)
      channel.destroy()
    }
  }

  /** The most bytes of a stranger's frame. */
  #strangerRoom(channel: Channel): number {
    if (this.#roomyStrangers >= linkLimits.roomyStrangers) return linkLimits.strangerFrameBytes
    this.#roomyStrangers++
    void channel.closed.then(() => this.#roomyStrangers--)
    return linkLimits.frameBytes
  }

  /** Attends to one connection until `talk` says whether it ends with a goodbye or at once. */
  async #attend(
    channel: Channel,
    arrival: Arrival,
    noiseStatic: Buffer | undefined,
    talk: (serve: (bytes: Buffer) => Promise<boolean>) => Promise<boolean>,
  ): Promise<void> {
    const abort = new AbortController()
    // A caller that says no more over TCP is gone; on a Unix socket it may still listen.
    void (noiseStatic ? channel.ended : channel.closed).then(() => abort.abort())
    const connection = { carrier: channel.carrier, remote: arrival.remote, signal: abort.signal }
    const caller = { channel, connection, noiseStatic, recognise: arrival.recognise }
    let serving = 0
    const serve = async (bytes: Buffer): Promise<boolean> => {
      serving++
      arrival.busy = true
      try {
        return await this.#conversation.serve(bytes, caller)
      } finally {
        serving--
        arrival.busy = serving > 0
      }
    }
    try {
      if (await talk(serve)) channel.end(linkDefaults.closeMs)
      else channel.destroy()
    } catch (cause) {
      this.#options.log?.failed?.('a connection', cause)
      channel.destroy()
    }
  }
}
