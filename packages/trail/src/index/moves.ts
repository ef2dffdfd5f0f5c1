// What happens to entries after they were written: they move to an archive (W-TRAIL-25), and may be gone for good (W-TRAIL-28).
import type { RecordPlace } from './contract.ts'
import type { Rows, RunRow } from './rows.ts'

/** Entries that are not there (any more) stay where they are. */
export function moveEntries(rows: Rows, run: RunRow, places: readonly RecordPlace[]): void {
  for (const { seq, file, at, length } of places) {
    rows.setArchive(file, 'held')
    if (rows.entry(run, seq)) rows.moveEntry(run, seq, { file, at, length })
  }
}

/** The caller saves the run. */
export function forgetEntries(rows: Rows, run: RunRow, seqs: Iterable<number>): void {
  for (const seq of seqs) {
    if (rows.addForgotten(run, seq)) run.forgotten++
    if (!rows.entry(run, seq)) continue
    rows.removeEntry(run, seq)
    run.entries--
  }
}
