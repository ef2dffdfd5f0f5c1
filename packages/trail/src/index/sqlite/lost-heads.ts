// Evidence of a log that lost its end: heads that an old index knew, held against what the log says now.
import { recordHash } from '../../log/record.ts'
import type { RunHead } from '../../store/store.ts'
import { fetchRecords } from '../answer/fetch.ts'
import type { LogReader } from '../contract.ts'
import type { EntryPlace } from '../rows.ts'
import type { Rows } from './sqlite-rows.ts'

/** Which of these heads the log does not reach, or contradicts; the rows have seen the whole log. */
export function lostHeads(rows: Rows, reader: LogReader, heads: readonly RunHead[]): RunHead[] {
  return heads.filter(head => {
    const run = rows.run(head.run)
    if (!run || run.head < head.seq) return true
    if (run.head === head.seq) return run.hash !== head.hash
    const entry = rows.entry(run, head.seq)
    return entry !== undefined && !hasHash(reader, head, entry)
  })
}

/** An entry whose archive cannot be read contradicts nobody; a damaged one bears nobody out. */
function hasHash(reader: LogReader, { run, hash }: RunHead, entry: EntryPlace): boolean {
  try {
    const { bytes, spans } = fetchRecords(reader, run, [entry])
    return spans[0] === undefined || recordHash(bytes, spans[0]) === hash
  } catch {
    return false
  }
}
