// What archives hold of a run, from manifests alone: enough to tell whether a record of the log still counts.
import type { ObjectId } from '@parley/core'
import type { RunPoint } from '../index/contract.ts'
import type { Manifest } from './manifest.ts'

export class HeldRun {
  /** Everything before is in archives, and so are those objects of `until.seq` that are in `#loose`. */
  until: RunPoint = { seq: 0, objects: 0 }
  #loose = new Map<ObjectId, number>()
  /** Entries from there on that are. */
  #seqs = new Set<number>()

  static async of(manifests: AsyncIterable<Manifest>): Promise<HeldRun> {
    const held = new HeldRun()
    for await (const manifest of manifests) held.add(manifest)
    return held
  }

  add({ until, entries, objects }: Manifest): void {
    if (until && isBehind(until, this.until)) {
      this.until = until
      for (const seq of this.#seqs) if (seq < until.seq) this.#seqs.delete(seq)
      for (const [id, seq] of this.#loose) if (seq < until.seq) this.#loose.delete(id)
    }
    for (const { seq } of entries) if (seq >= this.until.seq) this.#seqs.add(seq)
    for (const { id, seq } of objects) if (seq >= this.until.seq) this.#loose.set(id, seq)
  }

  hasEntry(seq: number): boolean {
    return seq < this.until.seq || this.#seqs.has(seq)
  }

  hasObject(id: ObjectId, seq: number): boolean {
    return seq < this.until.seq || this.#loose.has(id)
  }
}

export function isBehind(a: RunPoint, b: RunPoint): boolean {
  return a.seq > b.seq || (a.seq === b.seq && a.objects > b.objects)
}
