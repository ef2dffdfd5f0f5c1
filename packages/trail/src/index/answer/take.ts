// Records of a run on their way out of the log: as bytes, in the order of the log, in pieces of the size of an archive.
import type { RunId } from '@parley/core'
import type { LogReader, RunPoint, RunUsage, SegmentUsage, TakenRecords, TakeRequest } from '../contract.ts'
import { indexLimits } from '../limits.ts'
import type { RunRow } from '../rows.ts'
import type { Rows } from '../sqlite/sqlite-rows.ts'
import type { Work } from './engine.ts'
import { fetchWhole, type Wanted } from './fetch.ts'
import { ENTRY, inLogOrder, type LogOrder } from './replay.ts'

export function* takeRecords(rows: Rows, reader: LogReader, request: TakeRequest): Work<TakenRecords> {
  const row = rows.run(request.run)
  if (!row) return { records: new Uint8Array(), ordinals: [], until: request.after, more: false }
  const wanted: (Wanted & LogOrder)[] = []
  const also = new Set(request.also)
  let { after: until } = request
  let bytes = 0
  let more = false
  for (const record of walk(rows, row, request.after)) {
    if (record === undefined) {
      yield
      continue
    }
    const { file, length, seq, ordinal, objects } = record
    if (!(file > 0 && file <= request.upTo) && !also.has(file)) continue
    more = wanted.length > 0 && (wanted.length === request.records || bytes + length > request.bytes)
    if (more) break
    wanted.push(record)
    bytes += length
    until = ordinal === ENTRY ? { seq: seq + 1, objects: 0 } : { seq, objects }
  }
  const ordinals = wanted.filter(each => each.ordinal !== ENTRY).map(each => each.ordinal)
  return { records: fetchWhole(reader, request.run, wanted).bytes, ordinals, until, more }
}

/** All records of a run from the first object of `after.seq` on, each with the count of objects of its `seq` so far. */
function* walk(
  rows: Rows,
  row: RunRow,
  after: RunPoint,
): Generator<(Wanted & LogOrder & { readonly objects: number }) | undefined> {
  let place: LogOrder = { seq: after.seq - 1, ordinal: ENTRY }
  let objects = 0
  for (;;) {
    const page = inLogOrder(rows, row, place, indexLimits.scanRows)
    for (const record of page) {
      objects = record.ordinal === ENTRY ? 0 : record.seq === place.seq ? objects + 1 : 1
      place = record
      yield { ...record, objects }
    }
    if (page.length < indexLimits.scanRows) return
    yield undefined
  }
}

/** Runs between two pauses. */
const RUNS = 16

export function* usageOfRuns(rows: Rows, run: RunId | undefined): Work<readonly RunUsage[]> {
  const found: RunUsage[] = []
  const one = run === undefined ? undefined : rows.run(run)
  const wanted = run === undefined ? rows.runs() : one ? [one] : []
  for (const [index, row] of wanted.entries()) {
    const segments: SegmentUsage[] = rows.usage(row)
    found.push({ run: row.run, ended: row.ended, segments })
    if (index % RUNS === RUNS - 1) yield
  }
  return found
}
