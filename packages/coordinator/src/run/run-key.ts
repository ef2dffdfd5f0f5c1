// Idempotency keys: the end of a run's id is derived from its principal and key, so that the trail itself tells whether
// there is such a run already. It replaces the random part of other ids.
import { createHmac } from 'node:crypto'
import type { RunId } from '@parley/core'
import { coordinatorLimits } from '../limits.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** Characters of an id behind its time, five bits each. */
const LENGTH = 16

/** The end of the ids of runs that this principal starts under this key. It takes the secret to make one. */
export function keyMark(secret: Uint8Array, principal: string, key: string): string {
  const digest = createHmac('sha256', secret)
    .update(`parley-run-key\0${JSON.stringify([principal, key])}`)
    .digest()
  return [...digest.subarray(0, LENGTH)].map(byte => ALPHABET[byte & 31]).join('')
}

/** With another end, so that runs are still listed in the order of their starts. */
export function marked(id: string, mark: string): RunId {
  return `${id.slice(0, -LENGTH)}${mark}` as RunId
}

/**
 * Which runs of one's own end in a mark: all of them are read once, and those that begin later are noted. It takes the
 * same room however many there are: that there is none, which is the answer for every new key, is told by a filter; the
 * marks in use lately are kept; for any other one all runs are looked through.
 */
export class MarkedRuns {
  readonly #all: () => Promise<readonly RunId[]>
  /** The oldest first; each with all of its runs. */
  readonly #lately = new Map<string, readonly RunId[]>()
  #seen: Promise<MarkFilter> | undefined
  #noted = 0

  constructor(all: () => Promise<readonly RunId[]>) {
    this.#all = all
  }

  /** In no order. */
  async of(mark: string): Promise<readonly RunId[]> {
    const seen = await this.#filter()
    const known = this.#lately.get(mark) ?? (seen.has(mark) ? undefined : [])
    if (known) return known
    const noted = this.#noted
    const runs = (await this.#all()).filter(run => markOf(run) === mark)
    // One that began meanwhile may not be among them.
    if (noted === this.#noted) this.#keep(mark, runs)
    return runs
  }

  /** A run that has begun. Before anybody has asked, it is found with all others. */
  async note(run: RunId): Promise<void> {
    if (!this.#seen) return
    const seen = await this.#seen
    const mark = markOf(run)
    this.#noted++
    const before = this.#lately.get(mark) ?? (seen.has(mark) ? undefined : [])
    seen.add(mark)
    if (before && !before.includes(run)) this.#keep(mark, [...before, run])
  }

  #keep(mark: string, runs: readonly RunId[]): void {
    this.#lately.delete(mark)
    this.#lately.set(mark, runs)
    const [oldest] = this.#lately.keys()
    if (this.#lately.size > coordinatorLimits.keptKeys && oldest !== undefined) this.#lately.delete(oldest)
  }

  #filter(): Promise<MarkFilter> {
    this.#seen ??= this.#read()
    return this.#seen
  }

  async #read(): Promise<MarkFilter> {
    const seen = new MarkFilter()
    try {
      for (const run of await this.#all()) seen.add(markOf(run))
      return seen
    } catch (cause) {
      // The trail may be away only for now.
      this.#seen = undefined
      throw cause
    }
  }
}

/** Characters of a mark that say one place in the filter: 25 bits, so four megabytes, of which few are touched. */
const PLACE = 5

/** A Bloom filter. Marks are random, so parts of them are the hashes; of a million one in a thousand more is found. */
class MarkFilter {
  readonly #bits = new Uint8Array(2 ** (5 * PLACE - 3))

  has(mark: string): boolean {
    return places(mark).every(place => (this.#bits[place >>> 3]! & (1 << (place & 7))) !== 0)
  }

  add(mark: string): void {
    for (const place of places(mark)) this.#bits[place >>> 3]! |= 1 << (place & 7)
  }
}

function places(mark: string): readonly number[] {
  return [0, PLACE, 2 * PLACE].map(at => {
    let place = 0
    for (let index = at; index < at + PLACE; index++) place = (place << 5) | (ALPHABET.indexOf(mark[index]!) & 31)
    return place
  })
}

function markOf(run: RunId): string {
  return run.slice(-LENGTH)
}
