// What became durable lately in a run, as it was appended: whoever follows the run in this process need not ask the
// index for what passed through here a moment ago.
import type { ObjectId } from '@parley/core'
import type { EntryDraft, TrailObject } from '../entry.ts'
import { trailLimits } from '../limits.ts'

/** An entry without its place in the chain. */
export type FollowedEntry = EntryDraft & { readonly seq: number }

export class RecentRecords {
  #entries: FollowedEntry[] = []
  readonly #objects = new Map<ObjectId, TrailObject>()

  /** `seq` of the newest entry; 0 where there is none. */
  get newest(): number {
    return this.#entries.at(-1)?.seq ?? 0
  }

  /** Those behind a position, if all of them are still here. */
  after(seq: number): readonly FollowedEntry[] | undefined {
    const [oldest] = this.#entries
    if (!oldest || seq + 1 < oldest.seq) return undefined
    return this.#entries.slice(Math.max(0, seq + 1 - oldest.seq))
  }

  object(id: ObjectId): TrailObject | undefined {
    return this.#objects.get(id)
  }

  /** `objects`: those that are small enough to be kept. */
  add(entries: readonly EntryDraft[], first: number, objects: readonly TrailObject[]): void {
    for (const object of objects) this.#objects.set(object.id, object)
    for (const id of this.#objects.keys()) {
      if (this.#objects.size <= trailLimits.followedObjects) break
      this.#objects.delete(id)
    }
    // What another object has appended in between is not here.
    if (first !== this.newest + 1) this.#entries = []
    this.#entries.push(...entries.map((entry, index) => ({ ...entry, seq: first + index })))
    const over = this.#entries.length - trailLimits.followedEntries
    if (over > 0) this.#entries = this.#entries.slice(over)
  }
}
