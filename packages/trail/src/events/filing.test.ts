// What the header of an entry says: its place (W-TRAIL-08), its actor (W-TRAIL-02), and the closed sets of names.

import type { WorkspaceId } from '@parley/core'
import { describe, expect, it } from 'vitest'
import { exampleBody, exampleGenesis } from '../testing/examples.ts'
import { actorAdmitted, actorKind, isReservedActor, RESERVED_ACTORS } from './actor.ts'
import { filedUnder } from './filing.ts'
import * as names from './names.ts'
import { EVENT_TYPES, type EventBody, type EventType } from './registry.ts'

const root = exampleGenesis().workspace_id as WorkspaceId

/** The body field that names the workspace, or `root`, `null`, `caller`. */
const TABLE: Readonly<Record<string, readonly EventType[]>> = {
  workspace_id: [
    'workspace_created',
    'workspace_state_changed',
    'budget_warning',
    'budget_exceeded',
    'budget_modified',
    'liveness_warning',
    'priority_changed',
    'visibility_granted',
    'migration_started',
    'migration_completed',
    'migration_failed',
    'suspension_started',
    'suspension_resumed',
    'graceful_termination_initiated',
    'graceful_termination_expired',
    'conflict_detected',
    'conflict_resolved',
    'workspace_ownership_transferred',
    'workspace_reparented',
  ],
  caller: [
    'workspace_rejected',
    'capability_denied',
    'trail_access_denied',
    'gate_resolved',
    'gate_timeout',
    'gate_reentry_blocked',
  ],
  root: [
    'batch_abort',
    'batch_priority_changed',
    'graph_created',
    'task_created',
    'task_approved',
    'task_assigned',
    'task_status_changed',
    'task_completed',
    'task_failed',
  ],
  from: ['signal_emitted', 'envelope_created', 'envelope_rejected', 'envelope_undeliverable'],
  delivered_to: ['signal_delivered'],
  to: ['envelope_delivered', 'envelope_redelivered', 'human_injection'],
  holder: ['port_right_created', 'port_right_revoked', 'port_right_consumed'],
  to_holder: ['port_right_transferred'],
  workspace: [
    'checkpoint_created',
    'checkpoint_rejected',
    'resource_discrepancy',
    'gate_triggered',
    'escalation_received',
    'escalation_resolved',
    'escalation_timeout',
  ],
  source: ['integration_started', 'integration_completed', 'integration_aborted'],
  null: [
    'user_created',
    'user_suspended',
    'user_resumed',
    'user_blocked',
    'user_unblocked',
    'user_deactivated',
    'user_reactivated',
    'authentication_succeeded',
    'authentication_failed',
    'capability_granted',
    'capability_revoked',
    'system_degraded',
    'recovery_completed',
    'integrity_violation',
    'trail_compacted',
    'trail_snapshot_created',
  ],
}

const expected = Object.entries(TABLE).flatMap(([place, types]) => types.map(type => ({ place, type })))

describe('filing', () => {
  it('W-TRAIL-08 is fixed for all 72 types', () => {
    expect(expected.map(({ type }) => type).sort()).toEqual([...EVENT_TYPES].sort())
  })

  it.each(expected)('W-TRAIL-08 files $type under $place', ({ place, type }) => {
    const body = exampleBody(type)
    const fixed: Record<string, unknown> = { root, null: null, caller: 'caller' }
    expect(filedUnder(type, body, root)).toBe(place in fixed ? fixed[place] : body[place as keyof typeof body])
  })

  it.each(['integration_started', 'integration_completed', 'integration_aborted'] as const)(
    'W-INT-19 files %s of a salvage under the target',
    type => {
      const body = exampleBody(type, { mode: 'salvage' })
      expect(filedUnder(type, body, root)).toBe(body.target)
    },
  )

  it.each(['conflict_detected', 'conflict_resolved'] as const)(
    'W-INT-19 files %s of a salvage under the integrator, not under the source',
    type => {
      expect(filedUnder(type, exampleBody(type, { mode: 'salvage' }), root)).toBe('caller')
    },
  )

  it.each(['gate_triggered', 'gate_resolved', 'gate_timeout', 'gate_reentry_blocked'] as const)(
    'W-HWY-04 files %s of a task approval under no workspace',
    type => {
      expect(filedUnder(type, exampleBody(type, { gate_type: 'task_approval' }), root)).toBeNull()
    },
  )

  it('W-SEC-12 files the denial of a user, and of an agent whose workspace is terminal, under no workspace', () => {
    expect(filedUnder('capability_denied', exampleBody('capability_denied', { user_id: 'alice' }), root)).toBeNull()
    const late = exampleBody('capability_denied', { workspace: 'ws_1' })
    expect(filedUnder('capability_denied', late, root)).toBeNull()
  })

  it.each([
    [{ status: 'delivered' }, 'ws_1'],
    [{ status: 'rejected', reason: 'workspace_sealed' }, 'ws_1'],
    [{ status: 'rejected', reason: 'workspace_terminal' }, null],
    [{ status: 'rejected', reason: 'target_not_found' }, null],
    [{ status: 'rejected', reason: 'invalid_structure', to: null }, null],
    [{ status: 'rejected', reason: 'invalid_type' }, 'caller'],
  ] satisfies [Partial<EventBody<'human_injection'>>, string | null][])(
    'W-HWY-18 files an injection under its target if that can take entries: %j',
    (overrides, place) => {
      const body = exampleBody('human_injection', { to: 'ws_1', ...overrides })
      expect(filedUnder('human_injection', body, root)).toBe(place)
    },
  )
})

const roles = new Set(['coordinator', 'worker', 'observer', 'reviewer'])

/** One actor of each kind, by the letter that the table below uses. */
const ACTORS = { s: 'system', r: 'reviewer', u: 'alice', p: 'protocol', f: 'fallback' } as const

const BY_KINDS: Readonly<Record<string, readonly EventType[]>> = {
  srup: [
    'workspace_created',
    'workspace_state_changed',
    'budget_modified',
    'priority_changed',
    'visibility_granted',
    'batch_abort',
    'batch_priority_changed',
    'migration_started',
    'suspension_started',
    'suspension_resumed',
    'graceful_termination_initiated',
    'conflict_detected',
    'workspace_ownership_transferred',
    'user_created',
    'user_suspended',
    'user_resumed',
    'user_blocked',
    'user_unblocked',
    'user_deactivated',
    'user_reactivated',
    'capability_granted',
    'capability_revoked',
    'port_right_created',
    'port_right_revoked',
    'task_assigned',
    'integration_started',
    'integration_completed',
    'integration_aborted',
    // Of what does not reach a person, the runtime says so (W-HWY-21, §9.1).
    'capability_denied',
  ],
  srupf: ['conflict_resolved', 'task_status_changed'],
  p: [
    'workspace_rejected',
    'budget_warning',
    'budget_exceeded',
    'liveness_warning',
    'migration_completed',
    'migration_failed',
    'graceful_termination_expired',
    'authentication_failed',
    'signal_delivered',
    'envelope_delivered',
    'envelope_rejected',
    'envelope_undeliverable',
    'envelope_redelivered',
    'port_right_transferred',
    'port_right_consumed',
    'checkpoint_rejected',
    'resource_discrepancy',
    'task_completed',
    'task_failed',
    'gate_triggered',
    'gate_reentry_blocked',
    'recovery_completed',
    'integrity_violation',
    'trail_compacted',
  ],
  sp: ['workspace_reparented', 'system_degraded', 'trail_snapshot_created', 'escalation_received'],
  srp: ['signal_emitted'],
  // The word to go on that an escalation's fallback sends is no agent's (W-HWY-22, §9.1).
  sruf: ['envelope_created'],
  sr: ['task_created', 'trail_access_denied'],
  s: ['graph_created'],
  r: ['checkpoint_created'],
  u: ['authentication_succeeded', 'human_injection'],
  // The coordinator decides what fell to it (W-HWY-10, §4.8).
  suf: ['task_approved'],
  supf: ['gate_resolved'],
  uf: ['escalation_resolved'],
  f: ['gate_timeout', 'escalation_timeout'],
}

const expectedActors = Object.entries(BY_KINDS).flatMap(([kinds, types]) => types.map(type => ({ kinds, type })))

describe('actors', () => {
  it('W-TRAIL-02 names reserved words, roles and users apart', () => {
    for (const actor of ['system', 'protocol', 'fallback']) expect(actorKind(actor, roles)).toBe(actor)
    expect(actorKind('reviewer', roles)).toBe('role')
    expect(actorKind('alice', roles)).toBe('user')
    expect(actorKind('reviewer', new Set())).toBe('user')
  })

  it('W-TRAIL-02 never admits coordinator, which the trail writes as system', () => {
    expect(actorKind('coordinator', roles)).toBeUndefined()
    for (const type of EVENT_TYPES) expect(actorAdmitted(type, 'coordinator', roles), type).toBe(false)
  })

  it('W-TRAIL-02 reserves the four words and every role name against use as a user id', () => {
    for (const word of [...RESERVED_ACTORS, ...roles]) expect(isReservedActor(word, roles), word).toBe(true)
    for (const name of ['alice', 'System', 'human']) expect(isReservedActor(name, roles), name).toBe(false)
  })

  it('W-TRAIL-02 fixes the actors of all 72 types', () => {
    expect(expectedActors.map(({ type }) => type).sort()).toEqual([...EVENT_TYPES].sort())
  })

  it.each(expectedActors)('W-TRAIL-02 admits for $type the kinds $kinds and no other', ({ kinds, type }) => {
    const admitted = Object.entries(ACTORS).filter(([, actor]) => actorAdmitted(type, actor, roles))
    expect(
      admitted
        .map(([letter]) => letter)
        .sort()
        .join(''),
    ).toBe([...kinds].sort().join(''))
  })
})

const COUNTS = {
  WORKSPACE_STATES: 9,
  TERMINAL_STATES: 2,
  RESUMABLE_STATES: 2,
  WORKSPACE_PRIORITIES: 4,
  TRIGGERS: 30,
  WORKSPACE_REJECTION_REASONS: 10,
  BUDGET_DIMENSIONS: 8,
  REPARENT_REASONS: 2,
  DEPLOYMENT_MODELS: 3,
  INTEGRATION_MODES: 2,
  INTEGRATION_STRATEGIES: 3,
  INTEGRATION_RESULTS: 2,
  CONFLICT_TYPES: 4,
  RESOLUTION_STRATEGIES: 3,
  RECORDED_RESOLUTION_STRATEGIES: 4,
  CONFLICT_OUTCOMES: 2,
  USER_STATES: 4,
  DEACTIVATABLE_STATES: 3,
  CAPABILITIES: 17,
  DENIAL_REASONS: 9,
  SIGNAL_TYPES: 11,
  ENVELOPE_PRIORITIES: 3,
  ENVELOPE_ORIGINS: 2,
  ENVELOPE_REJECTION_REASONS: 8,
  UNDELIVERABLE_REASONS: 5,
  RIGHT_TYPES: 3,
  CHECKPOINT_STATUSES: 2,
  CONFIDENCES: 3,
  CHECKPOINT_REJECTION_REASONS: 5,
  USAGE_FIELDS: 3,
  TASK_STATUSES: 8,
  TASK_PRIORITIES: 3,
  APPROVAL_SOURCES: 2,
  GATE_TYPES: 6,
  GATE_ACTIONS: 3,
  GATE_FALLBACKS: 3,
  REENTRY_CONVERSIONS: 2,
  INJECTION_STATUSES: 2,
  ESCALATION_FALLBACKS: 3,
  ESCALATION_RESPONSES: 3,
  DEGRADED_SCOPES: 4,
  COORDINATOR_ACTIONS: 4,
  VIOLATION_SUBJECTS: 4,
  VIOLATIONS: 4,
  VIOLATION_ACTIONS: 3,
  TRAIL_SCOPES: 2,
}

it('W-TRAIL-03 closed sets have as many members as the sheets list, each once', () => {
  const sets = Object.entries(names).filter(([, value]) => Array.isArray(value)) as [string, readonly string[]][]
  expect(Object.fromEntries(sets.map(([name, members]) => [name, members.length]))).toEqual(COUNTS)
  for (const [name, members] of sets) expect(new Set(members).size, name).toBe(members.length)
})

it('W-LIFE-01 closed and failed are the terminal states', () => {
  expect(names.WORKSPACE_STATES.filter(names.isTerminal)).toEqual(names.TERMINAL_STATES)
})
