// What stands before an entry in the two chains of its run: read from where it lies, or from the manifests where retention took it
// (W-TRAIL-29).
import type { RunId, WorkspaceId } from '@parley/core'
import type { Manifest } from './archive/manifest.ts'
import { globalEntry } from './chain.ts'
import { entryAt } from './store/entry-at.ts'
import type { TrailStore } from './store/store.ts'

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

  /** Local hash of the newest entry of a workspace before this place. */
  async localHash(workspace: WorkspaceId | null, before: number): Promise<string | null> {
    if (workspace === null) return null
    const query = { run: this.#run, spans: [{ workspace }], before, order: 'descending', limit: 1 } as const
    const [stored] = (await this.#store.select(query)).entries
    const at = stored?.seq ?? 0
    const gone = (await this.#gone()).filter(
      each => each.workspace === workspace && each.seq < before && each.seq > at,
    )
    const newest = gone.toSorted((one, other) => other.seq - one.seq)[0]
    if (newest) return newest.local_hash
    return stored ? (globalEntry(stored).integrity.local_hash ?? null) : null
  }

  /** What retention deleted and the manifests still tell of. */
  #gone(): Promise<Manifest['entries']> {
    this.#deleted ??= this.#store
      .manifests(this.#run)
      .then(manifests => manifests.filter(each => each.deleted).flatMap(({ entries }) => entries))
    return this.#deleted
  }
}
