// A run in the order of the log: objects stand before the entry whose `seq` they carry, page by page.
import type { RunId } from '@parley/core'
import type { LogReader } from '../contract.ts'
import { invalidQuery } from '../fault.ts'
import type { RunRow } from '../rows.ts'
import type { Rows } from '../sqlite/sqlite-rows.ts'
import { fetchWhole, type Wanted } from './fetch.ts'
import { fitting, pageLimit } from './page.ts'
import { partialNotes } from './partial.ts'

export interface PackedReplay {
  readonly records: Uint8Array
  readonly cursor: string | undefined
  readonly partial?: readonly string[]
}

/** Stands behind every object of the same `seq`. */
export const ENTRY = Number.MAX_SAFE_INTEGER

export interface LogOrder {
  readonly seq: number
  readonly ordinal: number
}

export function replayPage(
  rows: Rows,
  reader: LogReader,
  run: RunId,
  after: number,
  limit: number,
  cursor: string | undefined,
): PackedReplay {
  const most = pageLimit(limit)
  const start = cursor === undefined ? { seq: after, ordinal: ENTRY } : parseCursor(cursor)
  const row = rows.run(run)
  const wanted = row ? inLogOrder(rows, row, start, most + 1) : []
  const count = fitting(wanted, most)
  return {
    records: fetchWhole(reader, run, wanted.slice(0, count)).bytes,
    cursor: count < wanted.length ? formatCursor(wanted[count - 1]!) : undefined,
    ...partialNotes(rows, run, row, []),
  }
}

function formatCursor({ seq, ordinal }: LogOrder): string {
  return `${seq}.${ordinal === ENTRY ? 'e' : ordinal}`
}

function parseCursor(cursor: string): LogOrder {
  const match = /^(\d{1,15})\.(\d{1,15}|e)$/.exec(cursor)
  if (!match) throw invalidQuery('has a cursor that no replay gave out')
  return { seq: Number(match[1]), ordinal: match[2] === 'e' ? ENTRY : Number(match[2]) }
}

export function inLogOrder(rows: Rows, run: RunRow, start: LogOrder, limit: number): (Wanted & LogOrder)[] {
  const after = start.ordinal === ENTRY ? start.seq : start.seq - 1
  const entries = rows.scan(run, { path: { by: 'run' }, after, before: run.head + 1 }, false, limit)
  const objects = rows.objects(run, start.seq, start.ordinal, limit)
  const merged: (Wanted & LogOrder)[] = []
  let nextEntry = 0
  let nextObject = 0
  while (merged.length < limit) {
    const entry = entries[nextEntry]
    const object = objects[nextObject]
    if (object && (!entry || object.seq <= entry.seq)) {
      merged.push(object)
      nextObject++
    } else if (entry) {
      merged.push({ seq: entry.seq, ordinal: ENTRY, file: entry.file, at: entry.at, length: entry.length })
      nextEntry++
    } else break
  }
  return merged
}
