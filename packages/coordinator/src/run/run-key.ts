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
