// Where the newest objects lie in the log, so that reading one back need not wait for the index.
import type { ObjectId, RunId } from '@parley/core'
import type { StoredObject } from '../entry.ts'
import { fetchWhole, type RecordSource, unpackRecords, type Wanted } from '../index/answer/fetch.ts'
import { trailLimits } from '../limits.ts'

/** An object of one frame; `at` counts from the start of the frame. */
export interface FramedObject {
  readonly run: RunId
  readonly id: ObjectId
  readonly seq: number
  readonly at: number
  readonly length: number
  readonly crc: number
}

interface Recent extends Wanted {
  readonly run: RunId
}

export class RecentObjects {
  /** By id alone: should two runs use the same one, the first has it here, and the index knows both. */
  #young = new Map<ObjectId, Recent>()
  #old = new Map<ObjectId, Recent>()

  /** Takes the objects of a frame that is durable now. An id counts as it was first written, as in the index. */
  add(objects: readonly FramedObject[], segment: number, frameAt: number): void {
    for (const { run, id, seq, at, length, crc } of objects) {
      if (this.#young.has(id) || this.#old.has(id)) continue
      if (this.#young.size >= trailLimits.recentObjects) {
        this.#old = this.#young
        this.#young = new Map()
      }
      this.#young.set(id, { run, file: segment, at: frameAt + at, length, seq, id, crc })
    }
  }

  /** The object as the log holds it now; undefined where it is not among the newest or damaged: then ask the index. */
  read(reader: RecordSource, run: RunId, id: ObjectId): StoredObject | undefined {
    const place = this.#young.get(id) ?? this.#old.get(id)
    if (place?.run !== run) return undefined
    try {
      return unpackRecords(fetchWhole(reader, run, [place]).bytes)[0] as StoredObject
    } catch {
      return undefined
    }
  }
}
