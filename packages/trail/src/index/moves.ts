// What happens to records later: they move to an archive (W-TRAIL-25), and may be deleted for good (W-TRAIL-28).
import type { WorkspaceId } from '@parley/core'
import type { RecordPlace } from './contract.ts'
import type { Place, RunRow } from './rows.ts'
import type { Rows } from './sqlite/sqlite-rows.ts'

/** A record counts where it lies in the archive with the highest number; any archive counts before the log. */
export function counts(place: Pick<Place, 'file'>, known: Pick<Place, 'file'>): boolean {
  return place.file < 0 && place.file < known.file
}

/** Records that are not there (any more) stay where they are. */
export function moveRecords(rows: Rows, run: RunRow, places: readonly RecordPlace[]): void {
  for (const file of new Set(places.map(place => place.file))) rows.setArchive(file, 'held')
  for (const { seq, id, file, at, length } of places) {
    const place = { file, at, length }
    const known = id === undefined ? rows.entry(run, seq) : rows.object(run, id)
    if (!known || !counts(place, known)) continue
    if (id === undefined) rows.moveEntry(run, seq, place)
    else rows.moveObject(run, id, place)
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

export function isFiled<Entry extends { readonly workspace: WorkspaceId | null }>(
  entry: Entry,
): entry is Entry & { readonly workspace: WorkspaceId } {
  return entry.workspace !== null
}
