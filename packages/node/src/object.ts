// Schemas of objects that have no other members than those named.
import { Type } from '@parley/core'

type Members = Parameters<typeof Type.Object>[0]

export function object<const P extends Members>(properties: P, options: { title?: string; description?: string } = {}) {
  return Type.Object<P>(properties, { additionalProperties: false, ...options })
}
