// An index in the caller's thread, over tables in memory: for simulation, and where there is no disk. Deterministic: no
// threads, no timers.
import { AskedIndex } from '../../index/asked-index.ts'
import type { IndexOpening, LogPoint, LogReader } from '../../index/contract.ts'
import { asIndexError, busyError, closedError } from '../../index/error.ts'
import { indexLimits } from '../../index/limits.ts'
import { LiveIndex } from '../../index/live-index.ts'
import type { IndexAnswer, IndexAnswers, IndexOperation, IndexQuestion, IndexRequest } from '../../index/protocol.ts'
import { checkTables, readHeads } from '../../index/sqlite/sqlite-open.ts'
import type { Position } from '../../store/store.ts'
import { IndexDisk } from './index-disk.ts'

interface Waiting {
  readonly atLeast: Position
  readonly answer: () => void
  readonly refuse: () => void
}

interface MemoryIndexOptions {
  readonly reader: LogReader
  readonly trail: string
  readonly end: LogPoint
  /** Tables that somebody has left; without it the index starts empty and is gone when it is closed. */
  readonly disk?: IndexDisk | undefined
}

export class MemoryIndex extends AskedIndex {
  readonly #reader: LogReader
  readonly #disk: IndexDisk
  readonly #index: LiveIndex
  readonly #opening: IndexOpening
  #point: LogPoint
  #closed = false
  #waiting: Waiting[] = []
  #answers = 0

  constructor({ reader, trail, end, disk = new IndexDisk() }: MemoryIndexOptions) {
    super()
    this.#reader = reader
    this.#point = end
    this.#disk = disk
    disk.take(this)
    const found = disk.found()
    const wrong = found ? checkTables(found, trail, end, reader) : undefined
    const reusable = found !== undefined && wrong === undefined
    const oldHeads = found && wrong?.file === 'evidence' ? readHeads(found) : []
    this.#index = new LiveIndex(reusable ? found : disk.renew(trail), reader, () => disk.renew(trail))
    if (oldHeads.length > 0) while (!this.#index.step(end));
    this.#opening = {
      ...(reusable
        ? { state: 'current' }
        : { state: 'rebuilt', reason: wrong?.reason ?? 'The index was made anew because there was none.' }),
      lostHeads: this.#index.lostHeads(oldHeads),
    }
  }

  async opening(): Promise<IndexOpening> {
    return this.#opening
  }

  advance(point: LogPoint): void {
    if (this.#closed || point.frame < this.#point.frame) return
    this.#point = point
    const ready = this.#waiting.filter(each => each.atLeast <= point.frame)
    if (ready.length === 0) return
    this.#waiting = this.#waiting.filter(each => each.atLeast > point.frame)
    for (const each of ready) each.answer()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const each of this.#waiting) each.refuse()
    this.#waiting = []
    this.#commit()
  }

  protected get newest(): Position {
    return this.#point.frame
  }

  /** Answers at once, or as soon as the log has come as far as the question asks. */
  protected ask<K extends IndexOperation>(
    kind: K,
    args: IndexQuestion<K>,
    atLeast: Position,
  ): Promise<IndexAnswers[K]> {
    if (this.#closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      const answer = () => {
        try {
          resolve(this.#answer({ kind, args } as IndexRequest) as IndexAnswers[K])
        } catch (cause) {
          reject(asIndexError(cause))
        }
      }
      if (this.#point.frame >= atLeast) answer()
      else if (this.#waiting.length >= indexLimits.waitingQueries) reject(busyError())
      else this.#waiting.push({ atLeast, answer, refuse: () => reject(closedError()) })
    })
  }

  #answer(request: IndexRequest): IndexAnswer {
    if (!this.#disk.isUsedBy(this)) throw closedError()
    this.#reader.follow(this.#point)
    while (!this.#index.step(this.#point));
    const work = this.#index.start(request)
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) {
        if (++this.#answers % indexLimits.answersPerCommit === 0) this.#commit()
        return step.value
      }
      // Archives that were asked for are taken in between.
      this.#index.step(this.#point)
    }
  }

  /** As on a thread of its own: a commit that fails concerns nobody, and what it held is taken from the log again. */
  #commit(): void {
    try {
      if (this.#disk.isUsedBy(this)) this.#index.commit()
    } catch {
      // The log has it.
    }
  }
}
