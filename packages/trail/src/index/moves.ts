// What happens to entries after they were written: they move to an archive (W-TRAIL-25), and may be gone for good (W-TRAIL-28).
import type { EntryPlace, Place, Rows, RunRow } from './rows.ts'

export function moveEntry(rows: Rows, run: RunRow, entry: EntryPlace, { file, at, length }: Place): void {
  rows.moveEntry(run, entry.seq, { file, at, length })
  rows.hold(run, entry.file, -1)
  rows.hold(run, file, 1)
}

/** The caller saves the run. */
export function forgetEntries(rows: Rows, run: RunRow, seqs: Iterable<number>): void {
  for (const seq of seqs) {
    if (rows.addForgotten(run, seq)) run.forgotten++
    const entry = rows.entry(run, seq)
    if (!entry) continue
    rows.removeEntry(run, seq)
    rows.hold(run, entry.file, -1)
    run.entries--
  }
}
