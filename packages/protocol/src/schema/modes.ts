// The two modes of ALX-TL-06, both made from the one schema of a shape. `emit` is closed: no member, event type or
// error code that this version does not know. `read` is open, so that a client survives a newer server.
import type { TSchema } from 'typebox'
import { ERROR_CODES, ERROR_TYPES } from '../errors.ts'
import { marks, oneOf, someText } from './scalars.ts'

export type Mode = 'emit' | 'read'

/** Keyword of a union of events: the vocabulary of their `type`. */
export const VOCABULARY = 'x-alx-vocabulary'

const loosely: Readonly<Record<string, TSchema>> = {
  [marks.identifier]: someText,
  [marks.errorCode]: someText,
  [marks.errorType]: someText,
}
const strictly: Readonly<Record<string, TSchema>> = {
  [marks.errorCode]: oneOf(ERROR_CODES),
  [marks.errorType]: oneOf(ERROR_TYPES),
}

/** What this module reads of a JSON Schema. */
export interface JsonSchema {
  readonly type?: string
  readonly format?: string
  readonly minLength?: number
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly not?: JsonSchema
  readonly [VOCABULARY]?: readonly string[]
}

export function modeOf(schema: TSchema, mode: Mode): TSchema {
  return rewrite(schema, mode) as TSchema
}

function rewrite(schema: JsonSchema, mode: Mode): JsonSchema {
  const { format, properties, items, anyOf, additionalProperties } = schema
  const marked = format === undefined ? undefined : (mode === 'read' ? loosely : strictly)[format]
  if (marked !== undefined) return marked
  const each = (child: JsonSchema) => rewrite(child, mode)
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([k, v]) => [k, each(v)])) }),
    ...(properties && mode === 'emit' && additionalProperties === undefined && { additionalProperties: false }),
    ...(items && { items: each(items) }),
    ...(anyOf && { anyOf: [...anyOf.map(each), ...unknownEvent(schema, mode)] }),
  }
}

/** ALX-RUN-10, ALX-TL-06: an event whose type is not known is opaque, whatever else it has. */
function unknownEvent({ [VOCABULARY]: known }: JsonSchema, mode: Mode): readonly JsonSchema[] {
  if (known === undefined || mode === 'emit') return []
  return [
    {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string', minLength: 1, not: { enum: known } } },
    },
  ]
}
