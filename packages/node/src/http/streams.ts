// Streams of server-sent events: so many at once for each principal, whole frames only, signs of life, and an end where
// a reader takes in nothing any more.
import type { Clock, Principal } from '@parley/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type httpLimits, httpTimes } from './limits.ts'

export interface Frame {
  readonly event?: string
  /** The cursor, from which the next stream can continue. */
  readonly id?: string | number | undefined
  readonly data: unknown
}

/** `data` is JSON, which has no line breaks. */
export function frameText({ event, id, data }: Frame): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  return `${name}${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}

const ALIVE = ': alive\n\n'

export class Streams {
  readonly #clock: Clock
  /** Whether who asked for a stream may still have it. */
  readonly allowed: (request: FastifyRequest) => boolean
  readonly #limits: Pick<typeof httpLimits, 'streams'>
  readonly #open = new Map<string, number>()
  readonly #stop = new AbortController()
  #count = 0

  constructor(
    clock: Clock,
    limits: Pick<typeof httpLimits, 'streams'>,
    allowed: (request: FastifyRequest) => boolean = () => true,
  ) {
    this.#clock = clock
    this.allowed = allowed
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  /** Fires when the node stops: whoever writes a stream finishes the frame and ends it. */
  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Takes a place; the answer gives it back. Undefined where the principal has as many as one may have. */
  open({ id }: Pick<Principal, 'id'>): (() => void) | undefined {
    const mine = this.#open.get(id) ?? 0
    if (mine >= this.#limits.streams) return undefined
    this.#open.set(id, mine + 1)
    this.#count++
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#count--
      const left = (this.#open.get(id) ?? 1) - 1
      if (left > 0) this.#open.set(id, left)
      else this.#open.delete(id)
    }
  }

  /**
   * Writes the frames as they come, until they end, the reader leaves, the node stops or the token is no good any more;
   * for the last two `last` makes the frame before the end. Resolves when the stream has ended. `frames` is closed in
   * any case.
   */
  async write(
    reply: FastifyReply,
    frames: AsyncIterable<Frame>,
    last: (why: 'stopping' | 'unauthorized') => Frame,
  ): Promise<void> {
    reply.hijack()
    const { raw } = reply
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
    raw.setHeader('content-type', 'text/event-stream; charset=utf-8')
    raw.writeHead(200)
    raw.flushHeaders()
    const gone = Promise.withResolvers<'left' | 'stopping' | 'unauthorized'>()
    raw.once('close', () => gone.resolve('left'))
    const stopped = () => gone.resolve('stopping')
    this.stopping.addEventListener('abort', stopped, { once: true })
    if (this.stopping.aborted) stopped()
    const alive = this.#keepAlive(reply, () => gone.resolve('unauthorized'))
    let why: Awaited<typeof gone.promise> | undefined
    const iterator = frames[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = iterator.next()
        // It may fail after nobody waits for it any more.
        next.catch(() => undefined)
        const found = await Promise.race([next, gone.promise])
        if (typeof found === 'string') why = found
        else if (found.done) break
        else if (!this.allowed(reply.request)) why = 'unauthorized'
        if (why !== undefined) break
        const { value } = found as IteratorYieldResult<Frame>
        if (raw.write(frameText(value))) continue
        await Promise.race([new Promise(resolve => raw.once('drain', resolve)), gone.promise])
      }
      if (why === 'stopping' || why === 'unauthorized') raw.write(frameText(last(why)))
    } finally {
      alive()
      this.stopping.removeEventListener('abort', stopped)
      raw.end()
      void iterator.return?.().catch(() => undefined)
    }
  }

  /** A reader that takes in nothing for long is cut off: what waits for it takes room. */
  #keepAlive({ raw, request }: FastifyReply, forbid: () => void): () => void {
    let stuck = 0
    const look = () => {
      stuck = raw.writableNeedDrain ? stuck + httpTimes.heartbeat : 0
      if (!this.allowed(request)) forbid()
      if (stuck >= httpTimes.stalled) raw.destroy()
      else {
        if (stuck === 0) raw.write(ALIVE)
        cancel = this.#clock.after(httpTimes.heartbeat, look, { background: true })
      }
    }
    let cancel = this.#clock.after(httpTimes.heartbeat, look, { background: true })
    return () => cancel()
  }
}
