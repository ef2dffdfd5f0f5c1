// What fits into one page or one piece of work: a number of records and a number of bytes.
import { invalidQuery } from '../fault.ts'
import { indexLimits } from '../limits.ts'
import type { Place } from '../rows.ts'

export function pageLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1) throw invalidQuery('needs a limit of at least one')
  return Math.min(limit, indexLimits.pageRecords)
}

/** How many of these places one page carries. The first always fits. */
export function fitting(places: readonly Place[], limit: number): number {
  let count = 0
  let bytes = 0
  for (const { length } of places) {
    bytes += length
    if (count === limit || (count > 0 && bytes > indexLimits.pageBytes)) break
    count++
  }
  return count
}

export function* byBytes<P extends Place>(places: readonly P[]): Generator<readonly P[]> {
  let start = 0
  let bytes = 0
  for (const [index, { length }] of places.entries()) {
    if (index > start && bytes + length > indexLimits.scanBytes) {
      yield places.slice(start, index)
      start = index
      bytes = 0
    }
    bytes += length
  }
  if (start < places.length) yield places.slice(start)
}

export class Gathered {
  readonly #limit: number
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get full(): boolean {
    return this.#pieces.length === this.#limit
  }

  /** Copies a record, so that the read it came from can go; false when it does not fit any more. */
  add(record: Buffer): boolean {
    if (this.full || (this.#pieces.length > 0 && this.#bytes + record.length > indexLimits.pageBytes)) return false
    this.#pieces.push(Buffer.from(record))
    this.#bytes += record.length
    return true
  }

  records(): Buffer {
    return together(this.#pieces)
  }
}

/** All of them in a buffer of its own, which may be handed to another thread. */
export function together(pieces: readonly Buffer[]): Buffer {
  const all = Buffer.allocUnsafeSlow(pieces.reduce((bytes, { length }) => bytes + length, 0))
  let at = 0
  for (const piece of pieces) at += piece.copy(all, at)
  return all
}
