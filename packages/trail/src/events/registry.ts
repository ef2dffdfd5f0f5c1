// The closed registry of the 72 event types (wacp-mechanisms 1.5), and the check of a body against its row
// (W-TRAIL-03); appending also demands a canonical form (W-TRAIL-11).
import { assertNever, compile, ParleyError, type Static, type TSchema } from '@parley/core'
import { checkpointEvents } from './checkpoint.ts'
import type { ActorKind, Compaction, Filing, Level } from './definition.ts'
import { envelopeEvents } from './envelope.ts'
import { highwayEvents } from './highway.ts'
import { integrationEvents } from './integration.ts'
import { isTerminal } from './names.ts'
import { RULES } from './rules.ts'
import { signalEvents } from './signal.ts'
import { recoveryEvents, securityEvents, trailEvents } from './system.ts'
import { taskEvents } from './task.ts'
import { userEvents } from './user.ts'
import { workspaceEvents } from './workspace.ts'

const DEFINITIONS = [
  ...workspaceEvents,
  ...userEvents,
  ...signalEvents,
  ...envelopeEvents,
  ...checkpointEvents,
  ...taskEvents,
  ...integrationEvents,
  ...highwayEvents,
  ...recoveryEvents,
  ...securityEvents,
  ...trailEvents,
] as const

type Definitions = typeof DEFINITIONS
type EventBodies = { [D in Definitions[number] as D['type']]: Static<D['body']> }

export type EventType = Definitions[number]['type']
export type EventBody<T extends EventType = EventType> = EventBodies[T]

interface EventDefinition<T extends EventType = EventType> {
  readonly type: T
  readonly filed: Filing
  readonly actors: readonly ActorKind[]
  readonly compaction: Compaction
  readonly level: Level
  readonly body: TSchema
}

type TypesOf<Rows extends readonly { type: string }[]> = { readonly [K in keyof Rows]: Rows[K]['type'] }

export const EVENT_TYPES = DEFINITIONS.map(definition => definition.type) as unknown as TypesOf<Definitions>

const byType = new Map<string, EventDefinition>(DEFINITIONS.map(definition => [definition.type, definition]))

export function isEventType(text: string): text is EventType {
  return byType.has(text)
}

export function eventDefinition<T extends EventType>(type: T): EventDefinition<T> {
  return byType.get(type) as EventDefinition<T>
}

/** Whether compaction keeps an entry in the warm tier or moves it to the cold one (W-TRAIL-27). */
export function compactionClass<T extends EventType>(type: T, body: EventBody<T>): 'E' | 'A' {
  const { compaction } = eventDefinition(type)
  switch (compaction) {
    case 'E':
    case 'A':
      return compaction
    case 'E-if-terminal':
      return isTerminal((body as EventBody<'workspace_state_changed'>).to_state) ? 'E' : 'A'
    default:
      return assertNever(compaction)
  }
}

type Check = (body: unknown) => ParleyError | undefined

const checks = new Map<string, Check>()

/** Undefined if the body may be appended, else `unknown_event_type` or `invalid_body` (W-TRAIL-03). */
export function checkBody(type: string, body: unknown): ParleyError | undefined {
  const check = checks.get(type) ?? makeCheck(type)
  return check(body)
}

/** Compiled on first use: a process that only reads a trail never pays for 72 validators. */
function makeCheck(type: string): Check {
  if (!isEventType(type)) return () => unknownType(type)
  const validator = compile(eventDefinition(type).body, { name: type })
  const rule = RULES[type] as ((body: unknown) => string | undefined) | undefined
  const made: Check = body => {
    if (!validator.is(body)) {
      const result = validator.check(body, 'invalid_body')
      return result.ok ? undefined : result.error
    }
    const broken = rule?.(body)
    return broken === undefined ? undefined : new ParleyError('invalid_body', `${type}.${broken}`)
  }
  checks.set(type, made)
  return made
}

function unknownType(type: string): ParleyError {
  const shown = type.length > 64 ? `${type.slice(0, 64)}…` : type
  return new ParleyError('unknown_event_type', `'${shown}' is not one of the 72 event types of the trail`)
}
