// The newest entry of each run, as the log itself has it. A batch that does not follow it is refused here, whatever the
// caller believes: neither an index that lost something nor a kept state can put a second entry into a taken place.
import { invariant, ParleyError, type RunId } from '@parley/core'
import type { StoredEntry, StoredRecord } from '../entry.ts'
import type { RunHead } from '../store/store.ts'
import { viewFollows, viewTail } from './view.ts'

/**
 * Where one run stands. One object per run, changed in place: every append needs it, and two maps with a new object per
 * append took about a tenth of its processor time.
 */
interface Standing {
  readonly run: RunId
  /** The newest entry that is durable; 0 and `null` where there is none. */
  seq: number
  hash: string | null
  /** The newest entry that was taken: on its way, or durable by now. */
  takenSeq: number
  takenHash: string | null
  /** The segment of the newest durable entry, if it was written here; see `headsIn`. */
  segment: number
}

export class RunHeads {
  readonly #runs = new Map<RunId, Standing>()

  /** What is durable; undefined of a run that has nothing in the segments and was not asked for (`learn`). */
  of(run: RunId): RunHead | undefined {
    return headOf(this.#runs.get(run))
  }

  values(): RunHead[] {
    return Array.from(this.#runs.values(), headOf).filter(head => head !== undefined)
  }

  /** The head of a run whose newest entries have left the segments. */
  learn({ run, seq, hash }: RunHead): void {
    const standing = this.#standing(run)
    if (seq <= standing.seq) return
    if (standing.takenSeq <= seq) {
      standing.takenSeq = seq
      standing.takenHash = hash
    }
    standing.seq = seq
    standing.hash = hash
  }

  /** Takes a batch if each of its entries follows the one before it in its run; says otherwise which one does not. */
  take(records: readonly StoredRecord[]): ParleyError | undefined {
    let standing: Standing | undefined
    for (let index = 0; index < records.length; index++) {
      const record = records[index]!
      if (record.kind === 'object') continue
      if (standing?.run !== record.run) standing = this.#standing(record.run)
      if (record.seq !== standing.takenSeq + 1 || !viewFollows(record.view, standing.takenHash)) {
        const refused = conflict(record, standing.takenSeq)
        this.#giveBack(records.slice(0, index))
        return refused
      }
      standing.takenSeq = record.seq
      standing.takenHash = record.hash
    }
    return undefined
  }

  #giveBack(records: readonly StoredRecord[]): void {
    for (const record of records.toReversed()) {
      if (record.kind === 'object') continue
      const standing = this.#standing(record.run)
      standing.takenSeq = record.seq - 1
      standing.takenHash = viewTail(record.view)?.prevHash ?? null
    }
  }

  /** These entries, which were taken, are durable now, in this segment. */
  committed(entries: readonly StoredEntry[], segment: number): void {
    for (const { run, seq, hash } of entries) {
      const standing = this.#standing(run)
      invariant(seq > standing.seq, 'the newest entry of a run only becomes newer')
      standing.seq = seq
      standing.hash = hash
      standing.segment = segment
    }
  }

  /** The newest entry of these runs lies in this segment; said when a log is opened. */
  placed(runs: Iterable<RunId>, segment: number): void {
    for (const run of runs) this.#standing(run).segment = segment
  }

  /** The heads of all runs that have entries in the newest segment. */
  headsIn(segment: number): RunHead[] {
    const inside = Array.from(this.#runs.values()).filter(standing => standing.segment === segment)
    return inside.map(headOf).filter(head => head !== undefined)
  }

  /** Nothing that was taken and is not durable will be. */
  failed(): void {
    for (const standing of this.#runs.values()) {
      standing.takenSeq = standing.seq
      standing.takenHash = standing.hash
    }
  }

  #standing(run: RunId): Standing {
    let standing = this.#runs.get(run)
    if (!standing) {
      standing = { run, seq: 0, hash: null, takenSeq: 0, takenHash: null, segment: 0 }
      this.#runs.set(run, standing)
    }
    return standing
  }
}

function headOf(standing: Standing | undefined): RunHead | undefined {
  if (!standing || standing.hash === null) return undefined
  const { run, seq, hash } = standing
  return { run, seq, hash }
}

function conflict({ run, seq }: StoredEntry, last: number): ParleyError {
  const newest = last > 0 ? `its entry ${last}` : 'nothing of it'
  return new ParleyError(
    'trail_conflict',
    `Entry ${seq} of ${run} does not follow what the log holds, which is ${newest}; nothing was written. Read the run again.`,
    { details: { run, seq, last } },
  )
}
