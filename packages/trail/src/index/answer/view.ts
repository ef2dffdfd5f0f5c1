// What the index looks at inside an entry's view: the header that it files entries by, and single values of the body.
import type { RecordSpan } from '../../log/record.ts'
import type { Scalar } from '../../store/store.ts'

export interface View {
  readonly actor: string
  readonly body: Readonly<Record<string, unknown>>
  readonly event_type: string
  readonly timestamp: string
  readonly workspace: string | null
}

export function readView(source: Buffer, span: RecordSpan): View | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(source.toString('utf8', span.payload, span.end))
  } catch {
    return undefined
  }
  return isView(parsed) ? parsed : undefined
}

function isView(value: unknown): value is View {
  if (!isObject(value)) return false
  const { actor, body, event_type, timestamp, workspace } = value
  return (
    typeof actor === 'string' &&
    typeof event_type === 'string' &&
    typeof timestamp === 'string' &&
    (workspace === null || typeof workspace === 'string') &&
    isObject(body)
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What stands at a path below an object; undefined when nothing does. Lists are values, not steps of a path. */
export function valueAt(body: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let value: unknown = body
  for (const step of path) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined
    value = value[step]
  }
  return value
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

// Entries that follow each other mostly share the second: parsing it once is a fifth of the cost.
let knownSecond = ''
let knownTicks = 0

/** Ticks of `YYYY-MM-DDTHH:MM:SS.ffffffZ`. Entries were checked when they were written; this only must not go wrong. */
export function ticksOf(timestamp: string): number | undefined {
  const second = timestamp.slice(0, 19)
  if (second !== knownSecond) {
    const milliseconds = Date.parse(`${second}Z`)
    if (Number.isNaN(milliseconds)) return undefined
    knownSecond = second
    knownTicks = milliseconds * 1000
  }
  const ticks = knownTicks + Number(timestamp.slice(20, 26))
  return timestamp.length === 27 && Number.isSafeInteger(ticks) && ticks >= 0 ? ticks : undefined
}
