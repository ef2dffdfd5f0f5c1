// What happens to entries after they were written: they move to an archive (W-TRAIL-25), and may be gone for good (W-TRAIL-28).
import type { RecordPlace } from './contract.ts'
import type { Rows, RunRow } from './rows.ts'

/** Entries that are not there (any more) stay where they are. */
export function moveEntries(rows: Rows, run: RunRow, places: readonly RecordPlace[]): void {
  const holdings = new Holdings()
  for (const { seq, file, at, length } of places) {
    rows.setArchive(file, 'held')
    const entry = rows.entry(run, seq)
    if (!entry) continue
    rows.moveEntry(run, seq, { file, at, length })
    holdings.change(entry.file, -1)
    holdings.change(file, 1)
  }
  holdings.save(rows, run)
}

/** The caller saves the run. */
export function forgetEntries(rows: Rows, run: RunRow, seqs: Iterable<number>): void {
  const holdings = new Holdings()
  for (const seq of seqs) {
    if (rows.addForgotten(run, seq)) run.forgotten++
    const entry = rows.entry(run, seq)
    if (!entry) continue
    rows.removeEntry(run, seq)
    holdings.change(entry.file, -1)
    run.entries--
  }
  holdings.save(rows, run)
}

/** How many records more or fewer a run has in each file. */
export class Holdings {
  readonly #changes = new Map<number, number>()

  change(file: number, records: number): void {
    this.#changes.set(file, (this.#changes.get(file) ?? 0) + records)
  }

  save(rows: Rows, run: RunRow): void {
    for (const [file, records] of this.#changes) if (records !== 0) rows.hold(run, file, records)
  }
}
