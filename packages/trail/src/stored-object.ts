// Objects on their way into a store and back: checked, and in canonical form.
import { canonicalize, isId, ParleyError, type RunId } from '@parley/core'
import type { StoredObject, TrailObject } from './entry.ts'
import { trailLimits } from './limits.ts'

export function storeObject(object: TrailObject, run: RunId, seq: number): StoredObject | ParleyError {
  if (!isId(object.id) || !isId(object.kind)) {
    return new ParleyError(
      'invalid_object',
      'An object needs an id and a kind of 1 to 64 visible ASCII characters.',
    )
  }
  try {
    const data = canonicalize(object.value)
    if (data.length <= trailLimits.objectBytes) {
      return { kind: 'object', run, seq, id: object.id, objectKind: object.kind, data }
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

export function readObject(stored: StoredObject): TrailObject {
  return { id: stored.id, kind: stored.objectKind, value: JSON.parse(stored.data) as unknown }
}
