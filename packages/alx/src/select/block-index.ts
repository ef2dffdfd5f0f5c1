// The index of Knowledge Blocks follows the library by itself: it reads what its file does not know yet, and what
// comes. A search waits until the index has seen what its caller has seen. Without the file, or with a broken one, it
// is made again from the library.
import { asParleyError, type Clock, type Library, type LibraryRecord, type ParleyError, pause } from '@parley/core'
import { blockBodyOf, curatorOf, envelopeOf, holderOf, statusBodyOf } from '../kb/records.ts'
import { wordsOf } from '../kb/rendering.ts'
import type { FedRow, Hit, IndexPoint, Search } from './index-protocol.ts'
import { IndexBroken, IndexThread } from './index-thread.ts'
import { selectLimits } from './limits.ts'

export interface BlockIndexOptions {
  readonly library: Library
  readonly clock: Clock
  /** `alx.index.db`: it can be deleted while nothing has it open. */
  readonly file: string
  /** The library could not be read, or the index is made again. */
  readonly onFailure?: (error: ParleyError) => void
}

interface Waiter {
  readonly at: number
  readonly resolve: () => void
  readonly reject: (error: IndexBroken) => void
}

export class BlockIndex {
  readonly #options: BlockIndexOptions
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #thread: IndexThread | undefined
  #fed = 0
  #waiters: Waiter[] = []
  #givenUp = false

  constructor(options: BlockIndexOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  /** Hits, best first, of an index that knows the library up to `atLeast`. Throws IndexBroken. */
  async search(search: Search, atLeast: number): Promise<readonly Hit[]> {
    if (this.#givenUp || this.#closing.signal.aborted) throw new IndexBroken('there is no index')
    if (this.#waiters.length + (this.#thread?.waiting ?? 0) >= selectLimits.waitingSearches)
      throw new IndexBroken('too many searches wait')
    await this.#until(atLeast)
    if (!this.#thread) throw new IndexBroken('the index is being made again')
    return this.#thread.search(search)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  #until(at: number): Promise<void> {
    if (this.#fed >= at) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ at, resolve, reject }))
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    for (let broken = 0; !signal.aborted && broken <= selectLimits.rebuilds; ) {
      try {
        await this.#follow(signal)
      } catch (thrown) {
        this.#options.onFailure?.(asParleyError(thrown))
        // The library is asked again after a while; the index can be made again at once.
        if (thrown instanceof IndexBroken) broken++
        else await pause(this.#options.clock, selectLimits.retryMs, signal)
      }
    }
    this.#givenUp = true
    for (const { reject } of this.#waiters) reject(new IndexBroken('there is no index'))
    this.#waiters = []
  }

  /** Returns when the signal fires. Throws IndexBroken when the thread is lost, or what reading the library throws. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { library, file } = this.#options
    const life = new AbortController()
    const thread = new IndexThread(file, () => life.abort())
    this.#thread = thread
    try {
      const known = await this.#agreed(thread, await thread.opened())
      if (known) this.#reached(known.at)
      const feeder = new Feeder(thread, point => this.#reached(point.at))
      const follow = AbortSignal.any([signal, life.signal])
      for await (const record of library.read({ ...(known && { after: known.at }), follow })) await feeder.add(record)
      await feeder.idle()
    } catch (thrown) {
      throw thread.lost ?? thrown
    } finally {
      this.#thread = undefined
      this.#fed = 0
      await thread.close()
    }
    if (thread.lost && !signal.aborted) throw thread.lost
  }

  /** An index of another library, or of one that has lost its end since, begins again. */
  async #agreed(thread: IndexThread, point: IndexPoint | undefined): Promise<IndexPoint | undefined> {
    if (!point) return undefined
    for await (const record of this.#options.library.read({ after: point.at - 1 })) {
      if (record.at === point.at && markOf(record) === point.mark) return point
      break
    }
    await thread.clear()
    return undefined
  }

  #reached(at: number): void {
    this.#fed = at
    for (const waiter of this.#waiters) if (waiter.at <= at) waiter.resolve()
    this.#waiters = this.#waiters.filter(waiter => waiter.at > at)
  }
}

/** Gathers records while the thread is busy, so that many take one transaction, and one is there at once. */
class Feeder {
  readonly #thread: IndexThread
  readonly #onFed: (point: IndexPoint) => void
  #rows: FedRow[] = []
  #records = 0
  #characters = 0
  #point: IndexPoint | undefined
  #feeding: Promise<void> | undefined
  #failure: unknown

  constructor(thread: IndexThread, onFed: (point: IndexPoint) => void) {
    this.#thread = thread
    this.#onFed = onFed
  }

  /** Waits while as much is gathered as goes in at once. */
  async add(record: LibraryRecord): Promise<void> {
    const row = rowOf(record)
    if (row) this.#rows.push(row)
    this.#records++
    this.#characters += row?.kind === 'block' ? row.words.length : 0
    this.#point = { at: record.at, mark: markOf(record) }
    this.#feeding ??= this.#feed()
    if (this.#records >= selectLimits.fedRecords || this.#characters >= selectLimits.fedCharacters) await this.#feeding
    this.#check()
  }

  async idle(): Promise<void> {
    await this.#feeding
    this.#check()
  }

  async #feed(): Promise<void> {
    try {
      // What else is on record already comes along.
      await new Promise(resolve => setImmediate(resolve))
      while (this.#point) {
        const [rows, point] = [this.#rows, this.#point]
        this.#rows = []
        this.#records = 0
        this.#characters = 0
        this.#point = undefined
        await this.#thread.feed(rows, point)
        this.#onFed(point)
      }
    } catch (thrown) {
      this.#failure = thrown
    }
    this.#feeding = undefined
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}

function rowOf(record: LibraryRecord): FedRow | undefined {
  const block = blockBodyOf(record)
  // What the registry cannot read is not there for it either.
  const envelope = block && envelopeOf(block)
  if (envelope) {
    const { type, domain, tier } = envelope
    const curator = curatorOf(record, block)
    return {
      kind: 'block',
      kbHash: block.kbHash,
      type,
      domain,
      isOpen: tier !== 'restricted',
      curator,
      words: wordsOf(envelope),
    }
  }
  const status = statusBodyOf(record)
  if (!status) return undefined
  const { kbHash, act } = status
  if (act === 'share') return { kind: 'open', kbHash }
  if (act === 'deprecate' || act === 'slash') return { kind: 'retire', kbHash }
  return act === 'hold' ? { kind: 'reader', kbHash, user: holderOf(record, status) } : undefined
}

/** What tells a record from one of another library at the same position. */
function markOf({ timestamp, type, by }: LibraryRecord): string {
  return `${timestamp} ${type} ${by}`
}
