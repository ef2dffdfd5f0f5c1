// Reading the cold tier and the log as one: archived entries take their places between the others, in `seq` order, and the
// manifest stands in for those that were deleted.
import type { RunId } from '@parley/core'
import type { BridgedEntry, ScannedRecord } from '../store/store.ts'
import type { Archives } from './archives.ts'
import type { Manifest } from './manifest.ts'

interface Place {
  readonly manifest: Manifest
  readonly index: number
}

export class ColdMerge {
  readonly #archives: Archives
  /** What is archived of each run, in ascending `seq`; `next` is the first that was not handed out yet. */
  readonly #runs = new Map<
    RunId,
    { readonly seqs: number[]; readonly places: Map<number, Place>; next: number }
  >()

  constructor(archives: Archives, run: RunId | undefined) {
    this.#archives = archives
    for (const manifest of archives.manifests(run)) {
      const cold = this.#runs.get(manifest.run) ?? { seqs: [], places: new Map<number, Place>(), next: 0 }
      this.#runs.set(manifest.run, cold)
      for (const [index, { seq }] of manifest.entries.entries()) {
        cold.seqs.push(seq)
        cold.places.set(seq, { manifest, index })
      }
    }
    for (const cold of this.#runs.values()) cold.seqs.sort((a, b) => a - b)
  }

  /** The records of the log with the archived ones put in. A copy that is still in the log is not the one that counts. */
  *merge(records: readonly ScannedRecord[]): Generator<ScannedRecord> {
    for (const record of records) {
      const cold = record.kind === 'entry' ? this.#runs.get(record.run) : undefined
      if (!cold || record.kind !== 'entry') {
        yield record
        continue
      }
      yield* this.#upTo(record.run, record.seq)
      if (!cold.places.has(record.seq)) yield record
    }
  }

  /** What is archived behind the last entry that the log holds. */
  *rest(): Generator<ScannedRecord> {
    for (const run of this.#runs.keys()) yield* this.#upTo(run, Number.POSITIVE_INFINITY)
  }

  *#upTo(run: RunId, seq: number): Generator<ScannedRecord> {
    const cold = this.#runs.get(run)!
    for (; cold.next < cold.seqs.length && cold.seqs[cold.next]! <= seq; cold.next++) {
      yield this.#read(cold.places.get(cold.seqs[cold.next]!)!)
    }
  }

  #read({ manifest, index }: Place): ScannedRecord {
    const listed = manifest.entries[index]!
    if (manifest.deleted) return bridge(manifest, listed)
    try {
      return this.#archives.entry(manifest, index)
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : 'unreadable'
      return { kind: 'damage', where: `archive ${manifest.archive}, entry ${listed.seq}`, message }
    }
  }
}

function bridge(manifest: Manifest, listed: Manifest['entries'][number]): BridgedEntry {
  return {
    kind: 'bridge',
    run: manifest.run,
    seq: listed.seq,
    workspace: manifest.workspace,
    hash: listed.hash,
    localHash: listed.local_hash,
  }
}
