// The newest records in memory, in order, for everyone who follows the library: one append is not read from disk once
// for each of them.
import { invariant } from '@parley/core'
import { libraryLimits } from './limits.ts'
import type { StoredRecord } from './stored-record.ts'

interface Slot {
  record: StoredRecord | undefined
  settled: boolean
}

export class Tail {
  /** Grows with every record. */
  count = 0
  readonly #records: StoredRecord[] = []
  #length = 0
  /** Everything behind this position is here; undefined before the first record since the start. */
  #floor: number | undefined
  #last = 0
  /** Records under way, in order: what is durable early waits for those before it. */
  readonly #slots: Slot[] = []
  readonly #wake = new Set<() => void>()

  /** The place of a record that is being filed now. The returned function says what came of it. */
  expect(): (record: StoredRecord | undefined) => void {
    const slot: Slot = { record: undefined, settled: false }
    this.#slots.push(slot)
    return record => {
      slot.record = record
      slot.settled = true
      this.#publish()
    }
  }

  covers(after: number): boolean {
    return this.#floor !== undefined && after >= this.#floor
  }

  /** The next records behind a position that it covers. */
  behind(after: number): readonly StoredRecord[] {
    const from = this.#records.findLastIndex(({ at }) => at <= after) + 1
    return this.#records.slice(from, from + libraryLimits.tailPage)
  }

  /** Resolves when there are more than `count` records, or one of the signals fires. */
  async more(count: number, ...signals: readonly AbortSignal[]): Promise<void> {
    if (this.count > count || signals.some(({ aborted }) => aborted)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake.add(resolve)
    const fired = () => resolve()
    for (const signal of signals) signal.addEventListener('abort', fired)
    await promise
    this.#wake.delete(resolve)
    for (const signal of signals) signal.removeEventListener('abort', fired)
  }

  #publish(): void {
    const before = this.count
    while (this.#slots[0]?.settled) {
      const { record } = this.#slots.shift()!
      if (record) this.#add(record)
    }
    if (this.count === before) return
    for (const wake of this.#wake) wake()
  }

  #add(record: StoredRecord): void {
    invariant(record.at > this.#last, 'records are published in the order of their positions')
    this.#last = record.at
    this.count++
    // Whether something stands right before the first one is not known here.
    if (this.#floor === undefined) {
      this.#floor = record.at
      return
    }
    this.#records.push(record)
    this.#length += record.content.length
    while (this.#records.length > libraryLimits.tailRecords || this.#length > libraryLimits.tailBytes) {
      const oldest = this.#records.shift()!
      this.#floor = oldest.at
      this.#length -= oldest.content.length
    }
  }
}
