// What scenarios do to stored records: entries changed or taken out, everything else as it was.
import type { StoredRecord } from '../faults.ts'
import type { Entry } from '../host.ts'

type Change = (records: readonly StoredRecord[]) => readonly StoredRecord[]

/** Each entry is what `change` makes of it. */
export function changing(change: (entry: Entry) => Entry): Change {
  return records =>
    records.map(record => (record.kind === 'entry' ? { ...record, entry: change(record.entry) } : record))
}

/** The entries that `drop` picks were never written, as by a runtime that died before it came to them. */
export function without(drop: (entry: Entry) => boolean): Change {
  return records => records.filter(record => record.kind !== 'entry' || !drop(record.entry))
}

/** The same entry at another time; copies of its stamp in the body move along. */
export function restamped(entry: Entry, timestamp: string): Entry {
  const copies = Object.keys(entry.body).filter(key => entry.body[key] === entry.timestamp)
  const body = { ...entry.body, ...Object.fromEntries(copies.map(key => [key, timestamp])) }
  return { ...entry, timestamp, body }
}
