// Archives that somebody removed: the index still places entries in them. Where the log has dropped what they held,
// verification sees that entries are missing; where it has not, only readers would notice.
import type { RunId } from '@parley/core'
import type { Catalogue } from '../archive/catalogue.ts'
import { HeldRun } from '../archive/held.ts'
import type { TrailIndex } from '../index/contract.ts'
import type { Position } from './store.ts'

export interface LostArchive {
  readonly run: RunId
  /** An entry that it held. */
  readonly seq: number
  readonly archive: number
}

/**
 * At most one of each run. Runs move to archives from the beginning, so the first entry that no archive holds is in the
 * log, or in the first lost archive. A scan reports what `catalogue` cannot read.
 */
export async function* lostArchives(
  catalogue: Catalogue,
  index: TrailIndex,
  position: Position,
  only?: RunId,
): AsyncGenerator<LostArchive> {
  for (const { run, seq: head } of await index.runs(position)) {
    if (only !== undefined && run !== only) continue
    const held = new HeldRun()
    for await (const manifest of catalogue.inspect(run)) if (typeof manifest !== 'string') held.add(manifest)
    let seq = Math.max(1, held.until.seq)
    while (seq <= head && held.hasEntry(seq)) seq++
    const place = seq <= head ? await index.place(run, seq, position) : undefined
    if (place && place.file < 0 && catalogue.folder(-place.file) === undefined) yield { run, seq, archive: -place.file }
  }
}
