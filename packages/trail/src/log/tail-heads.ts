// The newest entry of each run that a frame holds, read from the frame itself.
import type { RunId } from '@parley/core'
import type { RunHead } from '../store/store.ts'
import { frameRecords } from './frame.ts'
import { KIND_ENTRY, recordHash, recordRun } from './record.ts'
import type { WalkedFrame } from './walk.ts'

/** Takes in a frame. Of two entries in the same place the first counts, as in the index. */
export function noteHeads({ source, frame }: WalkedFrame, heads: Map<RunId, RunHead>): void {
  try {
    for (const span of frameRecords(source, frame)) {
      if (span.kind !== KIND_ENTRY) continue
      const run = recordRun(source, span)
      if (span.seq > (heads.get(run)?.seq ?? 0)) heads.set(run, { run, seq: span.seq, hash: recordHash(source, span) })
    }
  } catch {
    // A malformed record in a sound frame: what is missing shows as a gap in the numbers of its run.
  }
}
