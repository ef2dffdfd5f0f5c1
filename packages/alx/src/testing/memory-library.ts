// The library in memory, for tests: order, positions that are not dense, canonical bodies, refusals and failures on
// demand.
import {
  type Clock,
  canonicalize,
  err,
  formatTimestamp,
  type Library,
  type LibraryRecord,
  ManualClock,
  ok,
  ParleyError,
  type Result,
  refuse,
  StrictClock,
} from '@parley/core'

type Append = Parameters<Library['append']>[0]

export class MemoryLibrary implements Library {
  readonly records: LibraryRecord[] = []
  /** Refuses what it returns an error for; nothing is recorded then. */
  refuse: (record: Append) => ParleyError | undefined = () => undefined
  /** Ends readers, the waiting ones too, with this error while it is set. */
  #failure: ParleyError | undefined
  readonly #clock: StrictClock
  #wake = Promise.withResolvers<void>()

  constructor(clock: Clock = new ManualClock()) {
    this.#clock = new StrictClock(clock)
  }

  set failure(error: ParleyError | undefined) {
    this.#failure = error
    this.#news()
  }

  async append({ type, by, body }: Append): Promise<Result<LibraryRecord>> {
    // Not at once: what is durable took a moment.
    await new Promise(resolve => setImmediate(resolve))
    const refusal = this.refuse({ type, by, body })
    if (refusal) return err(refusal)
    const text = canonicalize(body)
    if (text.length > 8 * 1024 * 1024) return refuse('invalid_argument', 'the record is too large')
    return ok(this.put({ type, by: by === 'system' ? by : by.id, body }))
  }

  /** What somebody else recorded, whatever this version thinks of it. */
  put({ type, by, body }: { type: LibraryRecord['type']; by: string; body: LibraryRecord['body'] }): LibraryRecord {
    // Other records of the run lie between two of the library.
    const at = (this.records.at(-1)?.at ?? 4) + 3
    const timestamp = formatTimestamp(this.#clock.take())
    const record = { at, type, by, timestamp, body: JSON.parse(canonicalize(body)) as LibraryRecord['body'] }
    this.records.push(record)
    this.#news()
    return record
  }

  async *read({ after = 0, follow }: Parameters<Library['read']>[0] = {}): AsyncGenerator<LibraryRecord> {
    const stopped = Promise.withResolvers<void>()
    const stop = () => stopped.resolve()
    follow?.addEventListener('abort', stop)
    try {
      let next = this.#firstBehind(after)
      while (!follow?.aborted) {
        const news = this.#wake.promise
        if (this.#failure) throw this.#failure
        const record = this.records[next]
        if (record) {
          next++
          yield record
        } else if (follow) await Promise.race([news, stopped.promise])
        else return
      }
    } finally {
      follow?.removeEventListener('abort', stop)
    }
  }

  #firstBehind(after: number): number {
    let low = 0
    let high = this.records.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.records[middle]!.at > after) high = middle
      else low = middle + 1
    }
    return low
  }

  #news(): void {
    const woken = this.#wake
    this.#wake = Promise.withResolvers()
    woken.resolve()
  }
}

export function libraryFailure(code = 'trail_unavailable'): ParleyError {
  return new ParleyError(code, 'the disk /somewhere is full', { retryable: true })
}
