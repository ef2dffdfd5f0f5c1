// Human highway events (wacp-mechanisms 1.5.8): gates, injection, escalation.
import { Type } from '@parley/core'
import { closed } from '../shapes.ts'
import { event, fallback, protocol, under, user } from './definition.ts'
import {
  Amount,
  Budget,
  Claim,
  Count,
  Duration,
  Flag,
  Id,
  listOf,
  Name,
  nullable,
  oneOf,
  optional,
  Reference,
  SubjectId,
  TaskName,
  Text,
  UserId,
} from './fields.ts'
import * as names from './names.ts'

const gate = { under: 'gate' } as const
const escalating = under('workspace')

const GateType = oneOf(names.GATE_TYPES)
/** Of a salvage's gates (W-INT-19). */
const Mode = optional(oneOf(names.INTEGRATION_MODES))

const ofGate = { gate_id: Id, gate_type: GateType, mode: Mode }

/** What a human may change at a gate (W-HWY-08). Task texts and payloads stay outside the trail (W-TRAIL-32). */
const Modifications = closed(
  {
    name: optional(TaskName),
    description: optional(Reference),
    priority: optional(Type.Union([oneOf(names.TASK_PRIORITIES), oneOf(names.WORKSPACE_PRIORITIES)])),
    resource_estimate: optional(
      closed({ tokens: optional(Count), wall_time: optional(Duration), cost: optional(Amount) }),
    ),
    budget: optional(Budget),
    visibility: optional(listOf(Id)),
    payload: optional(Reference),
    strategy: optional(Type.Union([oneOf(names.INTEGRATION_STRATEGIES), oneOf(names.RESOLUTION_STRATEGIES)])),
    resolution: optional(Text),
    reason: optional(Text),
  },
  { minProperties: 1 },
)

const ofEscalation = { signal_id: Id, workspace: Id }

export const highwayEvents = [
  event('gate_triggered', { under: 'gate', field: 'workspace' }, protocol, 'E', 2, {
    ...ofGate,
    subject: Reference,
    workspace: nullable(Id),
    task_ref: nullable(Id),
    graph_ref: nullable(Id),
    timeout: nullable(Duration),
    fallback: oneOf(names.GATE_FALLBACKS),
    queue_position: Count,
    addressee: UserId,
  }),
  event('gate_resolved', gate, ['user', 'system', 'fallback', 'protocol'], 'E', 2, {
    ...ofGate,
    action: oneOf(names.GATE_ACTIONS),
    modifications: optional(Modifications),
    actor: UserId,
    reason: optional(Text),
  }),
  event('gate_timeout', gate, fallback, 'E', 2, {
    ...ofGate,
    fallback_action: oneOf(names.GATE_FALLBACKS),
    elapsed: Duration,
  }),
  event('gate_reentry_blocked', gate, protocol, 'E', 2, {
    ...ofGate,
    subject_id: SubjectId,
    converted_to: oneOf(names.REENTRY_CONVERSIONS),
  }),
  event('human_injection', { under: 'injection' }, user, 'E', 2, {
    envelope_id: Id,
    actor: UserId,
    // As the user wrote them; null where there is none (W-HWY-17: a broken structure is recorded here too).
    to: nullable(Claim),
    type: nullable(Claim),
    status: oneOf(names.INJECTION_STATUSES),
    reason: optional(Name),
  }),
  event('escalation_received', escalating, ['system', 'protocol'], 'E', 2, {
    ...ofEscalation,
    reason: Text,
    addressee: UserId,
    queued: Flag,
  }),
  event('escalation_resolved', escalating, ['user', 'fallback'], 'E', 2, {
    ...ofEscalation,
    actor: UserId,
    response_type: oneOf(names.ESCALATION_RESPONSES),
    response_ref: optional(Id),
  }),
  event('escalation_timeout', escalating, fallback, 'E', 2, {
    ...ofEscalation,
    fallback_action: oneOf(names.ESCALATION_FALLBACKS),
    elapsed: Duration,
  }),
] as const
