// A solve as a stream: its events for a loop, its answer as a promise. Either may be left alone.
import { ROUTES, type RunEvent } from '@alx/protocol'
import { AlxError } from '../errors.ts'
import type { Answer } from '../http/answer.ts'
import type { CallOptions } from '../http/request.ts'
import type { Wire } from '../http/wire.ts'
import { clientLimits } from '../limits.ts'
import { type Followed, follow, type Told } from './follow.ts'
import type { Position } from './position.ts'

export interface SolveStream extends AsyncIterable<RunEvent> {
  /**
   * How the run stands at the end of the stream; a run that waits for an approval ends it too. Rejects with AlxError
   * for a failed run. Need not be awaited.
   */
  readonly response: Promise<Answer<'SolveResponse'>>
  /** The key of this solve: repeat the call with it and no second run begins. */
  readonly idempotencyKey: string
  /** Known from the first event on. */
  readonly executionId: string | undefined
}

export interface StreamParts {
  readonly wire: Wire
  readonly options: CallOptions
  readonly idempotencyKey: string
  readonly at: Position
  /** What follows a run from a position on; the solve is sent while the run is not known. */
  readonly from: (at: Position, options: CallOptions) => Followed
  /** For a loop that is so far behind that events were not kept: follows from an event on. */
  readonly again: (after: number) => AsyncIterable<RunEvent>
}

/** How the telling of events stands. */
type Telling = { readonly state: 'open' | 'over' } | { readonly state: 'failed'; readonly error: unknown }

export class RunningSolve implements SolveStream {
  readonly idempotencyKey: string
  readonly #parts: StreamParts
  readonly #kept: Told[] = []
  #characters = 0
  /** Whether events were not kept. */
  #overflowed = false
  /** The last event that a loop was given. */
  #given: number
  /** A loop that waits for something to happen. */
  #wake = () => {}
  #events: Telling = { state: 'open' }
  #answer: Promise<Answer<'SolveResponse'>> | undefined
  #asked = false
  #leave = new AbortController()

  constructor(parts: StreamParts) {
    this.#parts = parts
    this.idempotencyKey = parts.idempotencyKey
    this.#given = parts.at.seq
    void this.#ensure()
  }

  get executionId(): string | undefined {
    return this.#parts.at.runId
  }

  get response(): Promise<Answer<'SolveResponse'>> {
    this.#asked = true
    return this.#ensure()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void> {
    void this.#ensure()
    try {
      for (;;) {
        const next = this.#kept.shift()
        if (next) {
          this.#characters -= next.length
          this.#given = next.event.seq
          yield next.event
        } else if (this.#overflowed) return yield* this.#parts.again(this.#given)
        else if (this.#events.state === 'failed') throw this.#events.error
        else if (this.#events.state === 'over') return
        else
          await new Promise<void>(resolve => {
            this.#wake = resolve
          })
      }
    } finally {
      // Nobody listens any more: the run goes on (ALX-HTTP-07), its connection need not. `response` takes it up again.
      if (this.#events.state === 'open' && !this.#asked) {
        this.#answer = undefined
        this.#leave.abort()
      }
    }
  }

  #ensure(): Promise<Answer<'SolveResponse'>> {
    if (this.#answer) return this.#answer
    this.#leave = new AbortController()
    this.#answer = this.#run(this.#leave.signal)
    // Whoever awaits it gets its rejection; whoever does not is not brought down by it.
    this.#answer.catch(() => {})
    return this.#answer
  }

  async #run(left: AbortSignal): Promise<Answer<'SolveResponse'>> {
    const { wire, at, from, options } = this.#parts
    const both = either(options.signal, left)
    const followed = from(at, { ...options, signal: both.signal })
    try {
      const events = follow(followed)
      let next = await events.next()
      for (; !next.done; next = await events.next()) this.#keep(next.value)
      this.#end({ state: 'over' })
      if (next.value instanceof AlxError) throw next.value
      return next.value
    } catch (error) {
      if (left.aborted) throw error
      this.#end({ state: 'failed', error })
      // The events are gone, the answer is not (ALX-RUN-07).
      if (!(error instanceof AlxError) || error.code !== 'RUN_EVENTS_EXPIRED') throw error
      const path = { executionId: at.runId! }
      return await wire.call({ ...followed.options, route: ROUTES.run, path })
    } finally {
      both.release()
    }
  }

  #keep(told: Told): void {
    const full =
      this.#kept.length >= clientLimits.bufferedEvents ||
      this.#characters + told.length > clientLimits.bufferedCharacters
    if (full && this.#kept.length > 0) this.#overflowed = true
    if (this.#overflowed) return
    this.#kept.push(told)
    this.#characters += told.length
    this.#wake()
  }

  #end(state: Telling): void {
    // A failed run is told by its `run.failed` and by `response`; the loop just ends.
    if (this.#events.state === 'open') this.#events = state
    this.#wake()
  }
}

/** A signal that fires with either. `AbortSignal.any` is younger than the oldest Node.js that this runs on. */
function either(caller: AbortSignal | undefined, left: AbortSignal): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  const releases = [caller, left].flatMap(signal => {
    if (!signal) return []
    const stop = () => controller.abort(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    return [() => signal.removeEventListener('abort', stop)]
  })
  const release = () => {
    for (const remove of releases) remove()
  }
  return { signal: controller.signal, release }
}
