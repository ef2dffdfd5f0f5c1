// Idempotency keys: the end of a run's id is derived from its principal and key, so that the trail itself tells whether
// there is such a run already. It replaces the random part of other ids.
import { createHmac } from 'node:crypto'
import type { RunId } from '@parley/core'

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

/** Which runs of one's own end in a mark: all of them are read once, and those that begin later are noted. */
export class MarkedRuns {
  readonly #all: () => Promise<readonly RunId[]>
  #marks: Promise<Map<string, RunId[]>> | undefined

  constructor(all: () => Promise<readonly RunId[]>) {
    this.#all = all
  }

  /** In no order. */
  async of(mark: string): Promise<readonly RunId[]> {
    this.#marks ??= this.#read()
    return (await this.#marks).get(mark) ?? []
  }

  /** A run that has begun. Before anybody has asked, it is found with all others. */
  async note(run: RunId): Promise<void> {
    if (this.#marks) noteIn(await this.#marks, run)
  }

  async #read(): Promise<Map<string, RunId[]>> {
    const marks = new Map<string, RunId[]>()
    try {
      for (const run of await this.#all()) noteIn(marks, run)
      return marks
    } catch (cause) {
      // The trail may be away only for now.
      this.#marks = undefined
      throw cause
    }
  }
}

function noteIn(marks: Map<string, RunId[]>, run: RunId): void {
  const mark = run.slice(-LENGTH)
  const known = marks.get(mark)
  if (!known) marks.set(mark, [run])
  else if (!known.includes(run)) known.push(run)
}
