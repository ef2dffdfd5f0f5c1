// Event streams (ALX-RUN-06, -07, -09). A stream is a place in the events of a run, which all of its streams share;
// what a client does not read costs what its socket holds and nothing more.
import type { ServerResponse } from 'node:http'
import { type CancelTimer, type Clock, ticksPerMillisecond } from '@parley/core'
import { alxLimits } from '../limits.ts'
import { frameOf, type LiveRun } from '../run/live-run.ts'

export interface StreamOptions {
  readonly live: LiveRun
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, number | string | readonly string[] | undefined>>
  /** Events up to this `seq` are not sent. */
  readonly after: number
  /**
   * Of a solve: the last frame, sent behind the terminal event or behind what asks for approval. Without it the stream
   * goes on behind an approval.
   */
  readonly last?: () => string
  /** It has nothing but the last frame. */
  readonly replayed?: boolean
  /** Whether who asked for it may still have it. If not, it ends behind the last whole frame; no event is sent. */
  readonly allowed?: () => boolean
}

/** Half of the longest silence: whoever is asked so often is never silent for longer. */
const TICK = alxLimits.silenceMs / 2

export class Streams {
  readonly #clock: Clock
  readonly #now: () => string
  readonly #open = new Set<Stream>()
  #ticking: CancelTimer | undefined

  constructor(clock: Clock, now: () => string) {
    this.#clock = clock
    this.#now = now
  }

  get full(): boolean {
    return this.#open.size >= alxLimits.streams
  }

  get size(): number {
    return this.#open.size
  }

  open(options: StreamOptions): void {
    const stream = new Stream(options, this.#millis, () => {
      this.#open.delete(stream)
      if (this.#open.size > 0) return
      this.#ticking?.()
      this.#ticking = undefined
    })
    this.#open.add(stream)
    stream.begin(this.#now())
    if (this.#open.size > 0) this.#tick()
  }

  /** Each ends behind a whole frame, so that its client can resume. */
  close(): void {
    for (const stream of [...this.#open]) stream.end()
  }

  #tick(): void {
    this.#ticking ??= this.#clock.after(
      TICK,
      () => {
        this.#ticking = undefined
        for (const stream of [...this.#open]) stream.tick(this.#now())
        if (this.#open.size > 0) this.#tick()
      },
      { background: true },
    )
  }

  readonly #millis = (): number => this.#clock.now() / ticksPerMillisecond
}

class Stream {
  readonly #options: StreamOptions
  readonly #millis: () => number
  readonly #done: () => void
  /** Index of the next event. */
  #next: number
  #blocked = false
  #ended = false
  /** When something was written last, and when the client began not to read. */
  #written: number
  #off: () => void = () => undefined

  constructor(options: StreamOptions, millis: () => number, done: () => void) {
    this.#options = options
    this.#millis = millis
    this.#done = done
    this.#next = options.after
    this.#written = millis()
  }

  begin(now: string): void {
    const { response, headers, live, last, replayed = false } = this.#options
    response.on('close', () => this.#leave())
    response.on('error', () => this.#leave())
    response.on('drain', () => {
      this.#blocked = false
      this.#pump()
    })
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    response.flushHeaders()
    if (last && replayed) {
      response.write(last())
      this.end()
      return
    }
    this.#off = live.onChange(() => this.#pump())
    this.#pump()
    this.tick(now)
  }

  tick(now: string): void {
    const { live, response } = this.#options
    if (this.#ended) return
    if (this.#forbidden()) return
    const at = this.#millis()
    if (this.#blocked) {
      if (at - this.#written >= alxLimits.stallMs || response.writableLength > alxLimits.streamBytes) this.#cut()
      return
    }
    // The trail may say later that the time of an approval is over.
    const expired = live.fold.expired(now)
    if (expired && !this.#options.last) {
      for (const event of expired.events.slice(this.#next)) response.write(frameOf(event))
      this.end()
      return
    }
    if (at - this.#written < TICK) return
    this.#written = at
    this.#blocked = !response.write(': \n\n')
  }

  end(): void {
    if (this.#ended) return
    this.#options.response.end()
    this.#leave()
  }

  #pump(): void {
    const { live, response, last } = this.#options
    while (!this.#ended && !this.#blocked) {
      const frame = live.frame(this.#next)
      if (frame === undefined || this.#forbidden()) break
      const { type } = live.fold.events[this.#next]!
      this.#next++
      this.#written = this.#millis()
      this.#blocked = !response.write(frame)
      if (type === 'run.completed' || type === 'run.failed' || (last && type === 'approval.required')) {
        if (last) response.write(last())
        this.end()
      }
    }
    // Whoever has seen the last event is told that nothing comes behind it.
    if (live.fold.over && !this.#blocked) this.end()
    // A run that cannot be followed has no last frame: the connection breaks, and the client reads the run again.
    if (live.lost && !this.#ended) this.#break(live.lost)
  }

  /** Resumed, it is refused like every request with that token: so its client hears why. */
  #forbidden(): boolean {
    if (this.#options.allowed?.() ?? true) return false
    this.end()
    return true
  }

  #break(cause: Error & { readonly code?: string }): void {
    if (cause.code === 'unavailable') this.end()
    else this.#cut()
  }

  #cut(): void {
    this.#options.response.destroy()
    this.#leave()
  }

  #leave(): void {
    this.#ended = true
    this.#off()
    this.#done()
  }
}
