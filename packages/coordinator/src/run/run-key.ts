// Idempotency keys: the end of a run's id is derived from its principal and key, so that the trail itself tells whether
// there is such a run already. It replaces the random part of other ids.
import { createHmac } from 'node:crypto'
import { type IdSource, ok, type Result, type RunId, type RunKey } from '@parley/core'

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

type Started = Promise<Result<{ readonly run: RunId }>>

/** The run that a start under this key answers with, if there is one. */
export type FindKeyed = (principal: string, key: RunKey) => Promise<RunId | undefined>

/** Under a key there is one run, whoever asks for it how often. */
export class KeyedStarts {
  readonly #secret: Uint8Array
  readonly #ids: IdSource
  readonly #find: FindKeyed
  readonly #starting = new Map<string, Started>()

  constructor(secret: Uint8Array, ids: IdSource, find: FindKeyed) {
    this.#secret = secret
    this.#ids = ids
    this.#find = find
  }

  once(principal: string, key: RunKey, start: (run: RunId) => Started): Started {
    const mark = keyMark(this.#secret, principal, key.text)
    const before = this.#starting.get(mark)
    if (before) return before
    const starting = this.#find(principal, key)
      .then(run => (run ? ok({ run }) : start(this.#newId(mark))))
      .finally(() => this.#starting.delete(mark))
    this.#starting.set(mark, starting)
    return starting
  }

  /** Its time stays, so that runs are listed in the order of their starts. */
  #newId(mark: string): RunId {
    return `${this.#ids.next('run').slice(0, -LENGTH)}${mark}` as RunId
  }
}
