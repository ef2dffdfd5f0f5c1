// Objects on their way into a store and back: checked, in canonical form, and sealed where configured (W-SEC-16).
import { canonicalize, isId, ParleyError, type RunId } from '@parley/core'
import { type ContentProof, damagedContent } from '../content/cipher.ts'
import type { ContentKey } from '../content/keys.ts'
import type { RunContent } from '../content/run-content.ts'
import type { StoredObject, TrailObject } from '../entry.ts'
import { trailLimits } from '../limits.ts'

export function storeObject(
  object: TrailObject,
  run: RunId,
  seq: number,
  content: RunContent,
): StoredObject | ParleyError {
  if (!isId(object.id) || !isId(object.kind)) {
    return new ParleyError('invalid_object', 'An object needs an id and a kind of 1 to 64 visible ASCII characters.')
  }
  try {
    const data = canonicalize(object.value)
    if (data.length <= trailLimits.objectBytes) {
      const stored: StoredObject = { kind: 'object', run, seq, id: object.id, objectKind: object.kind, data }
      return content.seal(stored, object.scope)
    }
    const message = `The object ${object.id} has ${data.length} characters; the limit is ${trailLimits.objectBytes}.`
    return new ParleyError('object_too_large', message)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'no canonical form'
    return new ParleyError('invalid_object', `The object ${object.id} cannot be stored: ${message}`, {
      cause,
    })
  }
}

export function lostObject({ id, objectKind: kind, lost = '' }: StoredObject): TrailObject {
  return { id, kind, value: undefined, lost }
}

/** What happens to an object whose proof does not fit: it is refused, or returned as forged for the caller to judge. */
export type Forged = 'refused' | 'shown'

/** Throws `blob_missing`, and `content_key_missing` and `content_damaged` (content/cipher.ts). */
export function readObject(
  stored: StoredObject,
  content: RunContent,
  forged: Forged = 'refused',
  key?: ContentKey,
): TrailObject {
  const { lost, blob } = stored
  if (lost !== undefined) throw new ParleyError('blob_missing', lost, { details: { blob } })
  const proof = content.proof(stored)
  if (proof === 'forged' && forged === 'refused') throw damagedContent(stored)
  return parsed(content.open(stored, key), proof)
}

function parsed(stored: StoredObject, proof: ContentProof): TrailObject {
  const { id, objectKind: kind, data } = stored
  return { id, kind, value: jsonOf(stored, data), ...(proof !== 'valid' && proof && { proof }) }
}

function jsonOf(stored: StoredObject, data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw damagedContent(stored, cause)
  }
}
