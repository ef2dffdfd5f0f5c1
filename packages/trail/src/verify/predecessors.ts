// What stands before an entry in the two chains of its run: read from the log, or from manifests (W-TRAIL-29).
import type { RunId } from '@parley/core'
import type { Manifest } from '../archive/manifest.ts'
import type { Entry } from '../entry.ts'
import { globalEntry, localHashOf } from '../run/chain.ts'
import { entryAt } from '../store/entry-at.ts'
import type { TrailStore } from '../store/store.ts'

const NONE = { seq: 0 }

export class Predecessors {
  readonly #store: TrailStore
  readonly #run: RunId
  #deleted: Promise<Manifest['entries']> | undefined

  constructor(store: TrailStore, run: RunId) {
    this.#store = store
    this.#run = run
  }

  /** Global hash of the entry before this place in the run. */
  async hash(before: number): Promise<string | null> {
    const seq = before - 1
    if (seq === 0) return null
    const stored = await entryAt(this.#store, this.#run, seq)
    return stored?.hash ?? (await this.#gone()).find(each => each.seq === seq)?.hash ?? null
  }

  async localHash(entry: Entry): Promise<string | null> {
    const { workspace, seq: before } = entry
    if (workspace === null) return null
    const query = { run: this.#run, spans: [{ workspace }], before, order: 'descending', limit: 1 } as const
    const [stored] = (await this.#store.select(query)).entries
    const kept = stored ? (globalEntry(stored).integrity.local_hash ?? null) : null
    // Its own hash tells that nothing stood in between; manifests are read only where something may have.
    if (localHashOf(entry, kept) === entry.integrity.local_hash) return kept
    let newest: { readonly seq: number; readonly local_hash: string | null } | undefined
    for (const each of await this.#gone())
      if (each.workspace === workspace && each.seq < before && each.seq > (newest ?? stored ?? NONE).seq) newest = each
    return newest ? newest.local_hash : kept
  }

  #gone(): Promise<Manifest['entries']> {
    this.#deleted ??= this.#store.tiers
      .manifests(this.#run)
      .then(manifests => manifests.filter(each => each.deleted).flatMap(({ entries }) => entries))
    return this.#deleted
  }
}
