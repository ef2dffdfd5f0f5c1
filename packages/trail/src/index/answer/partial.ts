// What an answer has to say about holes (W-TRAIL-29): damage that concerns the run asked for, archives that are gone.
import type { RunId } from '@parley/core'
import { indexLimits } from '../limits.ts'
import type { DamageRow, RunRow } from '../rows.ts'
import type { Rows } from '../sqlite/sqlite-rows.ts'

export function partialNotes(
  rows: Rows,
  run: RunId,
  row: RunRow | undefined,
  unreadable: Iterable<number>,
): { partial?: readonly string[] } {
  const notes = rows
    .damage(run)
    .filter(damage => (damage.run === run ? !isFilled(rows, row, damage) : mayConcern(damage, row)))
    .map(damage => damage.message)
  for (const file of new Set(unreadable)) notes.push(`archive ${-file}: not readable, its entries are left out`)
  if (notes.length === 0) return {}
  const most = indexLimits.partialNotes
  if (notes.length <= most) return { partial: notes }
  return { partial: [...notes.slice(0, most - 1), `and ${notes.length - most + 1} more`] }
}

/** Whether what was missing has turned up since, or is known to be gone for good. */
function isFilled(rows: Rows, row: RunRow | undefined, { first, last }: DamageRow): boolean {
  if (!row || last < first) return false
  const missing = last - first + 1
  const found = rows.count(row, { path: { by: 'run' }, after: first - 1, before: last + 1 }, missing)
  return found + rows.forgotten(row, first, last) === missing
}

/**
 * Whether a damaged place that names no run may have held records of this one. A run that continues behind it without a
 * gap lost nothing there (a gap is noted separately); one that had ended lost nothing that matters.
 */
function mayConcern(damage: DamageRow, row: RunRow | undefined): boolean {
  if (!row || row.head < 0) return true
  if (row.ended) return false
  if (damage.file < 0) return true
  return row.lastFile < damage.file || (row.lastFile === damage.file && row.lastAt < damage.at)
}
