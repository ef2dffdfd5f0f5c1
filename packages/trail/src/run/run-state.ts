// What is held in memory of one run: where its chains stand, and the read model. Folded from what is durable; it can be
// kept as plain data and resumed, so that opening a long run need not read all of it.
import type { ObjectId, RunId } from '@parley/core'
import { bridgeOf } from '../archive/manifest.ts'
import type { Entry, EntryDraft, TrailObject } from '../entry.ts'
import { type ModelState, RunModel } from '../query/model.ts'
import type { BridgedEntry, TrailStore } from '../store/store.ts'
import { type ChainState, RunChain } from './run-chain.ts'

/** The objects of a run; a batch may consist of objects alone. */
interface ObjectsState {
  count: number
  /** How many stand behind the newest entry. */
  loose: number
  last: ObjectId | undefined
}

/** Plain data. It shares its parts with the run that it was asked of: it is good until the run's next append. */
export interface TrailState {
  readonly chain: ChainState
  readonly model: ModelState
  readonly objects: ObjectsState
}

export class RunState {
  readonly run: RunId
  /** Runs ahead of the disk while batches are on their way. */
  readonly chain: RunChain
  readonly model: RunModel
  readonly #objects: ObjectsState

  /** From the beginning of the run, or from where it was kept; what was kept is this object's from then on. */
  constructor(run: RunId, kept?: TrailState) {
    this.run = run
    this.chain = new RunChain(run, kept?.chain)
    this.model = new RunModel(kept?.model)
    this.#objects = { count: 0, loose: 0, last: undefined, ...kept?.objects }
  }

  kept(): TrailState {
    return { chain: this.chain.state(), model: this.model.state(), objects: { ...this.#objects } }
  }

  /** Takes the next entry of the log; false where it does not follow the one before. */
  follow(entry: Entry): boolean {
    const { chain } = this
    if (entry.seq !== chain.seq + 1 || entry.prev_hash !== chain.hash) return false
    chain.restore(entry, entry.integrity.entry_hash, entry.integrity.local_hash)
    this.committed([], [entry], entry.seq)
    return true
  }

  /** Takes a batch that became durable; its entries are in the chain already. */
  committed(objects: readonly TrailObject[], entries: readonly EntryDraft[], first: number): void {
    let seq = first
    for (const entry of entries) this.model.apply(entry, seq++)
    for (const { id } of objects) this.takeObject(id)
    if (entries.length > 0) this.#objects.loose = 0
  }

  takeObject(object: ObjectId): void {
    this.#objects.count++
    this.#objects.loose++
    this.#objects.last = object
  }

  /** Bridges entries that retention has deleted, by the manifests of their archives (W-TRAIL-29); returns them. */
  async bridge(store: TrailStore, until: number): Promise<readonly BridgedEntry[]> {
    const manifests = (await store.tiers.manifests(this.run)).filter(({ deleted }) => deleted)
    const bySeq = new Map(manifests.flatMap(({ entries }) => entries.map(each => [each.seq, each])))
    const bridged: BridgedEntry[] = []
    while (this.chain.seq + 1 < until) {
      const gone = bySeq.get(this.chain.seq + 1)
      if (!gone) break
      const bridge = bridgeOf(this.run, gone)
      this.chain.bridge(bridge, gone.timestamp)
      this.model.bridge(bridge.workspace, bridge.seq)
      bridged.push(bridge)
    }
    return bridged
  }
}
