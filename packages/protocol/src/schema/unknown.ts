// Members that a request's shape does not know are dropped (ALX-ENV-07), but those of objects of the caller's.
import type { JsonSchema } from './modes.ts'

/** A copy of a value that fits the schema, with the members that the schema names. */
export function withoutUnknown(schema: JsonSchema, value: unknown): unknown {
  const { properties, items, additionalProperties } = schema
  if (Array.isArray(value)) return items ? value.map(item => withoutUnknown(items, item)) : value
  if (typeof value !== 'object' || value === null || !properties || additionalProperties === true) return value
  const known = Object.entries(properties).filter(([name]) => Object.hasOwn(value, name))
  return Object.fromEntries(
    known.map(([name, member]) => [name, withoutUnknown(member, (value as Record<string, unknown>)[name])]),
  )
}
