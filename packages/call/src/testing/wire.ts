// Transports for tests that show or rule the wire: two nodes with everything between them recorded, a link whose queue
// the test fills, and a link of several streams. Node.js only.
import type { Clock } from '@parley/core'
import { callLimits } from '../limits.ts'
import type { Link } from '../link/link.ts'
import type { LinkOptions } from '../link/link-options.ts'
import { CallNode } from '../node.ts'
import type { Handler } from '../operation.ts'
import { FrameDecoder } from '../transport/frame.ts'
import { memoryPair } from '../transport/memory.ts'
import { connectTcp, listenTcp } from '../transport/sockets.ts'
import type { Receiver, StreamId, Transport } from '../transport/transport.ts'
import { type Envelope, type ProtocolViolation, parseText } from '../wire/envelope.ts'
import { registryOf } from './peer.ts'

export const WIRES = ['memory', 'tcp'] as const
export type Wire = (typeof WIRES)[number]

export interface Sent {
  readonly by: 'caller' | 'handler'
  readonly envelope: Envelope
}

/** Passes everything on, and notes what is sent. */
function tapped(transport: Transport, by: Sent['by'], wire: Sent[]): Transport {
  return {
    kind: transport.kind,
    identity: transport.identity,
    maxBody: transport.maxBody,
    get queued() {
      return transport.queued
    },
    start: receiver => transport.start(receiver),
    send(text, stream) {
      wire.push({ by, envelope: parseText(text) })
      transport.send(text, stream)
    },
    close: reason => transport.close(reason),
  }
}

async function pairOf(kind: Wire): Promise<{ ends: readonly [Transport, Transport]; stop(): Promise<void> }> {
  if (kind === 'memory') return { ends: memoryPair(), stop: () => Promise.resolve() }
  const accepted = Promise.withResolvers<Transport>()
  const listening = await listenTcp({}, accepted.resolve)
  const caller = await connectTcp({ port: listening.port! })
  return { ends: [caller, await accepted.promise], stop: () => listening.close() }
}

export interface Joined extends AsyncDisposable {
  readonly caller: Link
  readonly handler: Link
  /** Everything that both sides sent. */
  readonly wire: readonly Sent[]
  /** The types of what one side sent, in order. */
  types(by: Sent['by']): readonly string[]
}

/** Two nodes with a link between them; the handlers are those of one. */
export async function joined(
  kind: Wire,
  handlers: Readonly<Record<string, Handler>>,
  options: Pick<LinkOptions, 'profile'> & { readonly clock?: Clock } = {},
): Promise<Joined> {
  const { ends, stop } = await pairOf(kind)
  const wire: Sent[] = []
  const { profile, clock } = options
  const own = { ...(clock && { clock }) }
  const handler = new CallNode({ registry: registryOf(handlers), ...own }).attach(tapped(ends[1], 'handler', wire))
  const caller = new CallNode({ registry: registryOf({}), ...own }).attach(
    tapped(ends[0], 'caller', wire),
    profile ? { profile } : {},
  )
  return {
    caller,
    handler,
    wire,
    types: by => wire.filter(sent => sent.by === by).map(({ envelope }) => envelope.type),
    async [Symbol.asyncDispose]() {
      caller.close()
      handler.close()
      await stop()
    },
  }
}

/** A link that sends nothing on until the test says so: what is sent counts as queued. */
export class HeldTransport implements Transport {
  readonly kind = 'held'
  readonly identity = undefined
  readonly maxBody = callLimits.frameBytes
  readonly held: Envelope[] = []
  receiver!: Receiver
  queued = 0

  start(receiver: Receiver): void {
    this.receiver = receiver
  }

  send(text: string): void {
    this.held.push(parseText(text))
    this.queued += text.length
  }

  /** Everything goes out but so many bytes. */
  drain(left = 0): void {
    this.queued = left
    this.receiver.drain()
  }

  deliver(type: string, id: string, payload: unknown = {}): void {
    this.receiver.envelope({ type, id, payload })
  }

  close(reason = 'closed'): void {
    this.receiver.closed(reason)
  }
}

/** A link of several streams, and its scripted peer: this side opens odd ones, the peer even ones. */
export class StreamsTransport implements Transport {
  readonly kind = 'streams'
  readonly identity = undefined
  readonly maxBody = callLimits.frameBytes
  readonly queued = 0
  readonly sent: { readonly stream: StreamId | undefined; readonly envelope: Envelope }[] = []
  readonly #streams = new Map<StreamId, FrameDecoder>()
  #receiver!: Receiver
  #opened = 0
  #closed = false

  get open(): readonly StreamId[] {
    return [...this.#streams.keys()]
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver
  }

  openStream(): StreamId {
    const stream = 2 * this.#opened++ + 1
    this.#streams.set(stream, new FrameDecoder())
    return stream
  }

  send(text: string, stream?: StreamId): void {
    this.sent.push({ stream, envelope: parseText(text) })
  }

  /**
   * The peer sends bytes on a stream, a new one if need be. What breaks the rules ends that stream, and the link with
   * its last one.
   */
  bytes(stream: StreamId, bytes: Buffer): void {
    const decoder = this.#streams.get(stream) ?? new FrameDecoder()
    this.#streams.set(stream, decoder)
    try {
      decoder.push(bytes, envelope => this.#receiver.envelope(envelope, stream))
    } catch (cause) {
      this.#receiver.violation(cause as ProtocolViolation)
      this.reset(stream)
    }
  }

  reset(stream: StreamId): void {
    this.#streams.delete(stream)
    this.#receiver.streamClosed?.(stream)
    if (this.#streams.size === 0) this.close('the last stream is gone')
  }

  close(reason = 'closed'): void {
    if (this.#closed) return
    this.#closed = true
    this.#streams.clear()
    this.#receiver.closed(reason)
  }
}
