// Objects on their way into a store and back: checked, in canonical form, and sealed where the trail seals content (W-SEC-16).
import { canonicalize, isId, ParleyError, type RunId } from '@parley/core'
import type { ContentKeyRing } from './content/keys.ts'
import type { RunContent } from './content/run-content.ts'
import type { StoredObject, TrailObject } from './entry.ts'
import { trailLimits } from './limits.ts'

export function storeObject(
  object: TrailObject,
  run: RunId,
  seq: number,
  content: RunContent,
): StoredObject | ParleyError {
  if (!isId(object.id) || !isId(object.kind)) {
    return new ParleyError(
      'invalid_object',
      'An object needs an id and a kind of 1 to 64 visible ASCII characters.',
    )
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

/** What is known of an object whose content is gone. */
export function lostObject({ id, objectKind: kind, lost = '' }: StoredObject): TrailObject {
  return { id, kind, value: undefined, lost }
}

/** Throws `blob_missing`, and `content_key_missing` and `content_damaged` (content/cipher.ts). */
export function readObject(stored: StoredObject, content: RunContent): TrailObject {
  requireThere(stored)
  return parsed(content.open(stored))
}

/** The same with nothing but the keys of a ring. */
export async function readObjectWith(
  ring: ContentKeyRing,
  stored: StoredObject,
  content: RunContent,
): Promise<TrailObject> {
  requireThere(stored)
  return parsed(await content.openWith(ring, stored))
}

function requireThere({ lost, blob }: StoredObject): void {
  if (lost !== undefined) throw new ParleyError('blob_missing', lost, { details: { blob } })
}

function parsed({ id, objectKind, data }: StoredObject): TrailObject {
  return { id, kind: objectKind, value: JSON.parse(data) as unknown }
}
