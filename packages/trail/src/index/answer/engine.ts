// What an index answers, from rows and the log. Long answers pause between bounded pieces of work.
import type { ObjectId, RunId, Ticks, WorkspaceId } from '@parley/core'
import type { AggregateRow, RunSummary, StoreAggregate, StoreFilter, StoreQuery } from '../../store/store.ts'
import type { IndexedHead, LogReader, RecordPlace, RunUsage, TakenRecords, TakeRequest } from '../contract.ts'
import { indexLimits } from '../limits.ts'
import { forgetEntries, moveRecords } from '../moves.ts'
import type { EntryPlace, RunRow } from '../rows.ts'
import type { Rows } from '../sqlite/sqlite-rows.ts'
import { Aggregation } from './aggregate.ts'
import { fetchRecords, fetchWhole, unreadableArchives, type Wanted } from './fetch.ts'
import { byBytes, fitting, Gathered, pageLimit, together } from './page.ts'
import { partialNotes } from './partial.ts'
import { Candidates, checkFilter, checkPath, planFilter } from './plan.ts'
import { type PackedReplay, replayPage } from './replay.ts'
import { takeRecords, usageOfRuns } from './take.ts'
import { readView, type View, valueAt } from './view.ts'

/** Work that pauses now and then, and then has a result. */
export type Work<Result> = Generator<undefined, Result>

export interface PackedPage {
  readonly records: Uint8Array
  readonly more: boolean
  readonly partial?: readonly string[]
}

interface Batch {
  readonly found: readonly { readonly record: Buffer; readonly view: View }[]
  readonly unreadable: readonly number[]
  /** Nothing is left to search behind it. */
  readonly last: boolean
}

export class Engine {
  readonly #rows: Rows
  readonly #reader: LogReader
  /** How often entries were moved or forgotten: a search that paused meanwhile must look again where they lie. */
  #moves = 0

  constructor(rows: Rows, reader: LogReader) {
    this.#rows = rows
    this.#reader = reader
  }

  *select(query: StoreQuery): Work<PackedPage> {
    checkFilter(query)
    const limit = pageLimit(query.limit)
    const run = this.#rows.run(query.run)
    if (!run) return { records: new Uint8Array(), more: false, ...partialNotes(this.#rows, query.run, run, []) }
    if (!query.body?.length) return this.#selectByHeader(run, query, limit)
    const page = new Gathered(limit)
    const unreadable: number[] = []
    let more = false
    for (const batch of this.#search(run, query, query.order === 'descending')) {
      unreadable.push(...batch.unreadable)
      more = !batch.found.every(({ record }) => page.add(record)) || (page.full && !batch.last)
      if (more) break
      yield
    }
    return { records: page.records(), more, ...partialNotes(this.#rows, query.run, run, unreadable) }
  }

  *aggregate(query: StoreAggregate): Work<readonly AggregateRow[]> {
    const { filter, groupBy, sum } = query
    checkFilter(filter)
    if (sum) checkPath(sum)
    if (typeof groupBy === 'object') checkPath(groupBy.body)
    const aggregation = new Aggregation(query)
    const run = this.#rows.run(filter.run)
    if (!run) return aggregation.rows()
    if (!sum && typeof groupBy !== 'object' && !filter.body?.length) {
      for (const scan of planFilter(this.#rows, run, filter, true).scans) {
        for (const { key, count } of this.#rows.tally(run, scan, groupBy)) aggregation.tally(key, count, 0)
      }
      return aggregation.rows()
    }
    for (const batch of this.#search(run, filter, false)) {
      if (batch.unreadable.length > 0) throw unreadableArchives(run.run, batch.unreadable)
      for (const { view } of batch.found) aggregation.add(view)
      yield
    }
    return aggregation.rows()
  }

  head(run: RunId): IndexedHead | undefined {
    const row = this.#rows.run(run)
    if (!row || row.head < 0) return undefined
    return { run, seq: row.head, hash: row.hash, known: row.entries + row.forgotten }
  }

  runs(): readonly RunSummary[] {
    const withEntries = this.#rows.runs().filter(row => row.head >= 0)
    return withEntries.map(row => ({
      run: row.run,
      seq: row.head,
      hash: row.hash,
      root: row.root as WorkspaceId,
      created: row.created as Ticks,
      updated: row.updated as Ticks,
      entries: row.entries,
      ended: row.ended,
    }))
  }

  object(run: RunId, id: ObjectId): Uint8Array | undefined {
    const row = this.#rows.run(run)
    const object = row && this.#rows.object(row, id)
    return object && fetchWhole(this.#reader, run, [object]).bytes
  }

  /** A run of which nothing is filed under a workspace is left out. */
  *starts(runs: readonly RunId[]): Work<Uint8Array> {
    const found: Buffer[] = []
    for (const run of runs) {
      const row = this.#rows.run(run)
      const root = row && this.#rows.entry(row, row.rootSeq)
      if (!row || !root) continue
      const { bytes, spans } = fetchWhole(this.#reader, run, [root])
      found.push(bytes)
      const id = spans[0] && readView(bytes, spans[0])?.body.context
      const context = typeof id === 'string' ? this.#rows.object(row, id as ObjectId) : undefined
      if (context) found.push(fetchWhole(this.#reader, run, [context]).bytes)
      yield
    }
    return together(found)
  }

  place(run: RunId, seq: number): RecordPlace | undefined {
    const row = this.#rows.run(run)
    return row && this.#rows.entry(row, seq)
  }

  replay(run: RunId, after: number, limit: number, cursor: string | undefined): PackedReplay {
    return replayPage(this.#rows, this.#reader, run, after, limit, cursor)
  }

  relocate(run: RunId, places: readonly RecordPlace[]): void {
    const row = this.#rows.run(run)
    if (!row) return
    const wanted = places.flatMap(place => this.#expected(row, place))
    for (const piece of byBytes(wanted)) fetchWhole(this.#reader, run, piece)
    this.#change(() => moveRecords(this.#rows, row, places))
  }

  /** What must lie at a new place; nothing where the record is not known at all. */
  #expected(row: RunRow, { id, ...place }: RecordPlace): Wanted[] {
    if (id === undefined) return [place]
    const known = this.#rows.object(row, id)
    return known ? [{ ...place, id, crc: known.crc }] : []
  }

  take(request: TakeRequest): Work<TakenRecords> {
    return takeRecords(this.#rows, this.#reader, request)
  }

  usage(run?: RunId): Work<readonly RunUsage[]> {
    return usageOfRuns(this.#rows, run)
  }

  forget(run: RunId, seqs: readonly number[], file?: number): void {
    const row = this.#rows.run(run)
    if (!row) return
    this.#change(() => {
      forgetEntries(this.#rows, row, seqs)
      if (file !== undefined) {
        this.#rows.removeObjects(row, file)
        this.#rows.setArchive(file, 'gone')
      }
      this.#rows.saveRun(row)
    })
  }

  #change(change: () => void): void {
    this.#rows.begin()
    try {
      change()
      this.#rows.commit()
      this.#moves++
    } catch (cause) {
      this.#rows.rollback()
      throw cause
    }
  }

  #selectByHeader(run: RunRow, query: StoreQuery, limit: number): PackedPage {
    const plan = planFilter(this.#rows, run, query)
    const found = new Candidates(this.#rows, run, plan, query.order === 'descending').take(limit + 1)
    const count = fitting(found, limit)
    const { bytes, unreadable } = fetchRecords(this.#reader, run.run, found.slice(0, count))
    return {
      records: bytes,
      more: count < found.length,
      ...partialNotes(this.#rows, run.run, run, unreadable),
    }
  }

  /** Entries that match the whole filter, found by reading all that match its header conditions. */
  *#search(run: RunRow, filter: StoreFilter, descending: boolean): Generator<Batch> {
    const candidates = new Candidates(this.#rows, run, planFilter(this.#rows, run, filter), descending)
    const moves = this.#moves
    for (let last = false; !last; ) {
      const found = candidates.take(indexLimits.scanRows)
      last = found.length < indexLimits.scanRows
      let left = found.length
      for (const piece of byBytes(found)) {
        left -= piece.length
        const moved = moves !== this.#moves
        const places = moved ? piece.flatMap(({ seq }) => this.#rows.entry(run, seq) ?? []) : piece
        yield this.#match(run, places, filter, last && left === 0)
      }
    }
  }

  #match(run: RunRow, places: readonly EntryPlace[], filter: StoreFilter, last: boolean): Batch {
    const { bytes, spans, unreadable } = fetchRecords(this.#reader, run.run, places)
    const found: { record: Buffer; view: View }[] = []
    for (const span of spans) {
      const view = readView(bytes, span)
      if (view && matches(view, filter)) found.push({ record: bytes.subarray(span.start, span.end), view })
    }
    return { found, unreadable, last }
  }
}

function matches(view: View, filter: StoreFilter): boolean {
  return filter.body?.every(({ path, equals }) => valueAt(view.body, path) === equals) ?? true
}
