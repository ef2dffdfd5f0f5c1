// The registry of events (W-TRAIL-03): bodies field by field, and rules that no shape expresses.
import type { TSchema } from '@parley/core'
import { describe, expect, it } from 'vitest'
import { exampleBody, exampleGenesis } from '../testing/examples.ts'
import { checkpointEvents } from './checkpoint.ts'
import { envelopeEvents } from './envelope.ts'
import { highwayEvents } from './highway.ts'
import { integrationEvents } from './integration.ts'
import { WORKSPACE_REJECTION_REASONS, WORKSPACE_STATES } from './names.ts'
import { checkBody, compactionClass, EVENT_TYPES, type EventType, eventDefinition, isEventType } from './registry.ts'
import { GENESIS_FIELDS } from './rules.ts'
import { signalEvents } from './signal.ts'
import { recoveryEvents, securityEvents, trailEvents } from './system.ts'
import { taskEvents } from './task.ts'
import { userEvents } from './user.ts'
import { workspaceEvents } from './workspace.ts'

interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly maxProperties?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly pattern?: string
}

const schemaOf = (schema: TSchema) => schema as Schema
const rows = EVENT_TYPES.map(type => ({ type, schema: schemaOf(eventDefinition(type).body) }))

/** Every schema inside a schema, itself included, with its path. */
function* parts(schema: Schema, path: string): Generator<[string, Schema]> {
  yield [path, schema]
  for (const [name, field] of Object.entries(schema.properties ?? {})) yield* parts(field, `${path}.${name}`)
  for (const field of Object.values(schema.patternProperties ?? {})) yield* parts(field, `${path}.*`)
  for (const branch of schema.anyOf ?? []) yield* parts(branch, path)
  if (schema.items) yield* parts(schema.items, `${path}[]`)
}

const allParts = rows.flatMap(({ type, schema }) => [...parts(schema, type)])

/** Values that are never of the field's type. */
function wrongValues(schema: Schema): unknown[] {
  if (schema.anyOf) return [{ nope: true }, [true], true]
  if (schema.enum) return ['no_such_value', 7, null, { nope: true }]
  switch (schema.type) {
    case 'string':
      return [7, null, true, { nope: true }, ['text']]
    case 'number':
    case 'integer':
      return ['7', null, -1, Number.NaN, { nope: true }]
    case 'boolean':
      return ['true', null, 1]
    case 'array':
      return ['text', null, { nope: true }, [7]]
    case 'object':
      return ['text', null, [], { nope: true }]
    default:
      throw new Error(`no wrong value for ${JSON.stringify(schema)}`)
  }
}

const without = (body: object, field: string) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))

/** An example in which no rule ties that field to another one. */
function plainBody(type: EventType, field: string): object {
  if (field === 'deployment_model') return exampleGenesis()
  if (type === 'workspace_rejected') return exampleBody(type, { capacity_details: {} })
  return exampleBody(type)
}

describe('the closed registry', () => {
  it('W-TRAIL-03 has 72 event types in the families of the sheet', () => {
    const messages = [signalEvents, envelopeEvents, checkpointEvents, taskEvents, integrationEvents]
    const families = [
      workspaceEvents,
      userEvents,
      ...messages,
      highwayEvents,
      recoveryEvents,
      securityEvents,
      trailEvents,
    ]
    expect(families.map(({ length }) => length)).toEqual([22, 12, 2, 9, 3, 7, 3, 8, 2, 1, 3])
    expect(EVENT_TYPES).toHaveLength(72)
    expect(new Set(EVENT_TYPES).size).toBe(72)
  })

  it.each(['foo_bar', 'permission_denied', 'Workspace_created', '', '__proto__', 'x'.repeat(10_000)])(
    'W-TRAIL-03 refuses the unknown event type %.20s',
    type => {
      const error = checkBody(type, {})
      expect(error?.code).toBe('unknown_event_type')
      expect(error?.message.length).toBeLessThan(200)
      expect(isEventType(type)).toBe(false)
    },
  )
})

describe.each(rows)('$type', ({ type, schema }) => {
  const fields = Object.entries(schema.properties!)

  it('accepts its example, which survives serialising and parsing unchanged', () => {
    const body = exampleBody(type)
    expect(checkBody(type, body)).toBeUndefined()
    expect(JSON.parse(JSON.stringify(body))).toEqual(body)
  })

  it('W-TRAIL-03 refuses a body without a required field', () => {
    for (const field of schema.required!) {
      const error = checkBody(type, without(exampleBody(type), field))
      expect(error?.code, field).toBe('invalid_body')
      expect(error?.message, field).toContain(type)
      expect(error?.message, field).toContain(field)
    }
  })

  it('W-TRAIL-03 refuses a field of the wrong type', () => {
    for (const [field, fieldSchema] of fields) {
      for (const wrong of wrongValues(fieldSchema)) {
        const error = checkBody(type, { ...exampleBody(type), [field]: wrong })
        expect(error?.code, `${field}: ${String(wrong)}`).toBe('invalid_body')
        expect(error?.message, field).toContain(`${type}.${field}`)
      }
    }
  })

  it('W-TRAIL-03 refuses a field that the registry does not list', () => {
    expect(checkBody(type, { ...exampleBody(type), note: 'x' })?.code).toBe('invalid_body')
  })

  it('W-TRAIL-01 refuses a body that is no object', () => {
    for (const body of [null, undefined, [], [exampleBody(type)], 'text', 7, true]) {
      expect(checkBody(type, body)?.code, String(body)).toBe('invalid_body')
    }
  })

  it('W-TRAIL-32 refuses an embedded payload', () => {
    for (const field of ['payload', 'content', 'description', 'intent', 'files_changed', 'working_memory']) {
      if (field in schema.properties!) continue
      expect(checkBody(type, { ...exampleBody(type), [field]: 'x' })?.code, field).toBe('invalid_body')
    }
  })
})

const oldPriority = (old_priority: object) => ({ old_priority })
const BAD_PRIORITIES = [
  { ws_1: 'urgent' },
  { '': 'normal' },
  { 'ws\n1': { payload: 'x' } },
  { ['x'.repeat(65)]: 'normal' },
]
const modified = (modifications: object) => ({ modifications })
const REFERENCE = { kind: 'payload', id: 'obj_1', digest: 'ab' }
const RENAMED = { name: 'Parser', description: REFERENCE, priority: 'urgent' }
const BAD_CHANGES = [
  { payload: { format: 'json', content: '{}' } },
  { description: 'a longer text' },
  { depends_on: [] },
  {},
]
const SUBJECT = { kind: 'task', id: 'task_1', digest: 'ab', name: 'Parser', depends_on: [] }
const TIMESTAMPS = [
  '2026-03-01T09:05:00.042Z',
  '2026-03-01T09:05:00.000042+00:00',
  '2026-03-01 09:05:00.000042Z',
  '2026-03-01T09:05:00.000042Z\n',
  '',
]

describe('bodies', () => {
  it('W-TRAIL-32 hold a description only of a conflict, and no payload', () => {
    const listing = (field: string) => rows.filter(row => field in row.schema.properties!).map(row => row.type)
    expect(['description', 'payload', 'content'].map(listing)).toEqual([['conflict_detected'], [], []])
  })

  it('are closed and bounded in every part', () => {
    for (const [path, part] of allParts) {
      if (part.type === 'string') expect(part.maxLength ?? part.pattern, path).toBeDefined()
      if (part.type === 'array') expect(part.maxItems, path).toBeDefined()
      if (part.type === 'object') expect(part.additionalProperties, path).toBe(false)
      if (part.patternProperties) expect(part.maxProperties, path).toBeDefined()
    }
  })

  it('W-TRAIL-03 draw closed sets from their members only', () => {
    const closed = rows.flatMap(({ type, schema }) =>
      Object.entries(schema.properties!).flatMap(([field, { enum: values }]) =>
        values ? [{ type, field, values }] : [],
      ),
    )
    expect(closed.length).toBeGreaterThan(50)
    for (const { type, field, values } of closed) {
      const trial = (value: string) => checkBody(type, { ...plainBody(type, field), [field]: value })?.code
      for (const value of values) {
        expect(trial(value), `${type}.${field}: ${value}`).toBeUndefined()
        expect(trial(value.toUpperCase()), `${type}.${field}: ${value}`).toBe('invalid_body')
        expect(trial(`${value} `), `${type}.${field}: ${value}`).toBe('invalid_body')
      }
    }
  })

  const code = (type: EventType, overrides: object) => checkBody(type, { ...exampleBody(type), ...overrides })?.code

  it.each<[string, EventType, readonly object[]]>([
    ['W-CLOCK-08 a timestamp of 27 characters', 'user_created', [{ timestamp: '2026-03-01T09:05:00.000042Z' }]],
    [
      'W-CLOCK-04 durations in whole milliseconds',
      'suspension_resumed',
      [0, 1, 86_400_000].map(duration => ({ duration })),
    ],
    ['long ids', 'envelope_created', [{ to: 'x'.repeat(64), originator: 'u'.repeat(256) }]],
    [
      'A-19 the old priorities of a batch',
      'batch_priority_changed',
      [{}, { ws_1: 'normal', ws_2: 'critical' }].map(oldPriority),
    ],
    ['W-HWY-08 changed texts by reference', 'gate_resolved', [{ payload: REFERENCE }, RENAMED].map(modified)],
    ['null', 'workspace_created', [{ group: null, directive: null, task_ref: null, liveness_interval: null }]],
    ['null', 'graceful_termination_expired', [{ partial_checkpoint: null }]],
    ['null', 'capability_denied', [{ user_id: null }]],
    ['null', 'envelope_created', [{ in_reply_to: null }]],
    ['null', 'envelope_rejected', [{ to: null, type: null }]],
    ['null', 'checkpoint_created', [{ parent: null }]],
    ['null', 'checkpoint_rejected', [{ type: null }]],
    ['null', 'task_created', [{ parent_task: null }]],
    ['null', 'task_status_changed', [{ workspace_id: null }]],
    ['null', 'integration_started', [{ checkpoint_ref: null }]],
    ['null', 'gate_triggered', [{ workspace: null, task_ref: null, graph_ref: null, timeout: null }]],
    ['null', 'human_injection', [{ to: null, type: null }]],
    ['null', 'integrity_violation', [{ expected: null, actual: null }]],
  ])('may have %s: %s', (_what, type, bodies) => {
    for (const overrides of bodies) expect(code(type, overrides), JSON.stringify(overrides)).toBeUndefined()
  })

  it.each<[string, EventType, readonly object[]]>([
    ['W-CLOCK-08 a timestamp that is spelled otherwise', 'user_created', TIMESTAMPS.map(timestamp => ({ timestamp }))],
    [
      'W-CLOCK-04 another duration',
      'suspension_resumed',
      [-1, 0.5, Number.POSITIVE_INFINITY, 2 ** 53].map(duration => ({ duration })),
    ],
    [
      'an empty id or a longer one',
      'envelope_created',
      [{ to: '' }, { to: 'x'.repeat(65) }, { originator: 'u'.repeat(257) }],
    ],
    ['A-19 old priorities that are none', 'batch_priority_changed', BAD_PRIORITIES.map(oldPriority)],
    ['W-HWY-08 changed texts themselves', 'gate_resolved', BAD_CHANGES.map(modified)],
    ['W-TRAIL-32 the subject of a gate itself', 'gate_triggered', [{ subject: SUBJECT }]],
    ['W-LIFE-05 an empty reason', 'workspace_state_changed', [{ reason: '' }]],
  ])('cannot have %s: %s', (_what, type, bodies) => {
    for (const overrides of bodies) expect(code(type, overrides), JSON.stringify(overrides)).toBe('invalid_body')
  })

  it('allow what only higher levels know to be absent', () => {
    expect(checkBody('workspace_created', without(exampleBody('workspace_created'), 'agent'))).toBeUndefined()
    expect(checkBody('checkpoint_created', without(exampleBody('checkpoint_created'), 'integrity'))).toBeUndefined()
  })

  it('never echo a long value when they are refused', () => {
    const huge = 'secret'.repeat(10_000)
    for (const body of [{ note: huge }, { ...exampleBody('user_created'), user_id: huge }, huge]) {
      const error = checkBody('user_created', body)
      expect(error?.code).toBe('invalid_body')
      expect(JSON.stringify(error).length).toBeLessThan(2000)
    }
  })
})

describe('compaction', () => {
  it('W-TRAIL-27 archives the types that the sheet marks A and keeps every other', () => {
    const archived = EVENT_TYPES.filter(type => eventDefinition(type).compaction === 'A')
    expect(archived).toEqual([
      'budget_warning',
      'liveness_warning',
      'priority_changed',
      'visibility_granted',
      'signal_delivered',
      'envelope_delivered',
    ])
    for (const type of archived) expect(compactionClass(type, exampleBody(type))).toBe('A')
    for (const type of EVENT_TYPES) {
      if (type === 'workspace_state_changed' || archived.includes(type)) continue
      expect(compactionClass(type, exampleBody(type)), type).toBe('E')
    }
  })

  it.each(WORKSPACE_STATES)('W-TRAIL-27 keeps a state change only into a terminal state: %s', to_state => {
    const body = exampleBody('workspace_state_changed', { to_state })
    const terminal = to_state === 'closed' || to_state === 'failed'
    expect(compactionClass('workspace_state_changed', body)).toBe(terminal ? 'E' : 'A')
  })
})

describe('genesis', () => {
  it('W-TRAIL-13 is accepted with all five fields, and without a taxonomy', () => {
    expect(checkBody('workspace_created', exampleGenesis())).toBeUndefined()
    const bare = exampleGenesis({ taxonomy_id: null, taxonomy_version: null })
    expect(checkBody('workspace_created', bare)).toBeUndefined()
  })

  it.each(GENESIS_FIELDS)('W-TRAIL-13 needs %s, which no other workspace has', field => {
    const also = { ...exampleBody('workspace_created'), [field]: exampleGenesis()[field] }
    for (const body of [without(exampleGenesis(), field), also]) {
      const error = checkBody('workspace_created', body)
      expect(error?.code).toBe('invalid_body')
      expect(error?.message).toContain(`workspace_created.${field}`)
    }
  })

  it.each(['single_runtime', 'cloud', ''])('W-SEC-13 refuses the deployment model %j', deployment_model => {
    expect(checkBody('workspace_created', { ...exampleGenesis(), deployment_model })?.code).toBe('invalid_body')
  })
})

describe('workspace_state_changed', () => {
  it.each(WORKSPACE_STATES)('W-LIFE-05 needs a reason only on the way to failed: %s', to_state => {
    const { reason: _, ...body } = exampleBody('workspace_state_changed', { to_state })
    const error = checkBody('workspace_state_changed', body)
    if (to_state !== 'failed') return expect(error).toBeUndefined()
    expect(error?.code).toBe('invalid_body')
    expect(error?.message).toContain('workspace_state_changed.reason')
  })
})

describe('workspace_rejected', () => {
  it.each(WORKSPACE_REJECTION_REASONS)('W-WS-05 has capacity details only for lack of capacity: %s', reason => {
    const empty = exampleBody('workspace_rejected', { reason, capacity_details: {} })
    expect(checkBody('workspace_rejected', empty)).toBeUndefined()
    const detailed = exampleBody('workspace_rejected', { reason })
    const code = reason === 'capacity_exhausted' ? undefined : 'invalid_body'
    expect(checkBody('workspace_rejected', detailed)?.code).toBe(code)
  })
})
