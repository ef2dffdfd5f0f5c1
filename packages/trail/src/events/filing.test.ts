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
const TABLE = {
  workspace_id: `
    workspace_created workspace_state_changed budget_warning budget_exceeded budget_modified liveness_warning
    priority_changed visibility_granted migration_started migration_completed migration_failed suspension_started
    suspension_resumed graceful_termination_initiated graceful_termination_expired conflict_detected
    conflict_resolved workspace_ownership_transferred workspace_reparented`,
  caller: 'workspace_rejected capability_denied trail_access_denied gate_resolved gate_timeout gate_reentry_blocked',
  root: `
    batch_abort batch_priority_changed graph_created task_created task_approved task_assigned task_status_changed
    task_completed task_failed`,
  from: 'signal_emitted envelope_created envelope_rejected envelope_undeliverable',
  delivered_to: 'signal_delivered',
  to: 'envelope_delivered envelope_redelivered human_injection',
  holder: 'port_right_created port_right_revoked port_right_consumed',
  to_holder: 'port_right_transferred',
  workspace: `
    checkpoint_created checkpoint_rejected resource_discrepancy gate_triggered escalation_received
    escalation_resolved escalation_timeout`,
  source: 'integration_started integration_completed integration_aborted',
  null: `
    user_created user_suspended user_resumed user_blocked user_unblocked user_deactivated user_reactivated
    authentication_succeeded authentication_failed capability_granted capability_revoked system_degraded
    recovery_completed integrity_violation trail_compacted trail_snapshot_created`,
}

/** A row for each type that a table names. */
const rowsOf = (table: Readonly<Record<string, string>>) =>
  Object.entries(table).flatMap(([key, types]) =>
    types
      .trim()
      .split(/\s+/)
      .map(type => ({ key, type: type as EventType })),
  )

const expected = rowsOf(TABLE)

describe('filing', () => {
  it('W-TRAIL-08 is fixed for all 72 types', () => {
    expect(expected.map(({ type }) => type).sort()).toEqual([...EVENT_TYPES].sort())
  })

  it.each(expected)('W-TRAIL-08 files $type under $key', ({ key: place, type }) => {
    const body = exampleBody(type)
    const fixed: Record<string, unknown> = { root, null: null, caller: 'caller' }
    expect(filedUnder(type, body, root)).toBe(place in fixed ? fixed[place] : body[place as keyof typeof body])
  })

  it.each([
    ['integration_started', { mode: 'salvage' }, 'target'],
    ['integration_completed', { mode: 'salvage' }, 'target'],
    ['integration_aborted', { mode: 'salvage' }, 'target'],
    ['conflict_detected', { mode: 'salvage' }, 'caller'],
    ['conflict_resolved', { mode: 'salvage' }, 'caller'],
    ['gate_triggered', { gate_type: 'task_approval' }, 'null'],
    ['gate_resolved', { gate_type: 'task_approval' }, 'null'],
    ['gate_timeout', { gate_type: 'task_approval' }, 'null'],
    ['gate_reentry_blocked', { gate_type: 'task_approval' }, 'null'],
    ['capability_denied', { user_id: 'alice' }, 'null'],
    ['capability_denied', { workspace: 'ws_1' }, 'null'],
  ] as const)(
    'W-INT-19 W-HWY-04 W-SEC-12 a body may say where: %s with %j is filed under %s',
    (type, change, place) => {
      const body: Readonly<Record<string, unknown>> = exampleBody(type, change as never)
      const fixed: Record<string, unknown> = { null: null, caller: 'caller' }
      expect(filedUnder(type, body as never, root)).toBe(place in fixed ? fixed[place] : body[place])
    },
  )

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

const BY_KINDS = {
  // Of what does not reach a person, the runtime says so (W-HWY-21, §9.1).
  srup: `
    workspace_created workspace_state_changed budget_modified priority_changed visibility_granted batch_abort
    batch_priority_changed migration_started suspension_started suspension_resumed graceful_termination_initiated
    conflict_detected workspace_ownership_transferred user_created user_suspended user_resumed user_blocked
    user_unblocked user_deactivated user_reactivated capability_granted capability_revoked port_right_created
    port_right_revoked task_assigned integration_started integration_completed integration_aborted capability_denied`,
  srupf: 'conflict_resolved task_status_changed',
  p: `
    workspace_rejected budget_warning budget_exceeded liveness_warning migration_completed migration_failed
    graceful_termination_expired authentication_failed signal_delivered envelope_delivered envelope_rejected
    envelope_undeliverable envelope_redelivered port_right_transferred port_right_consumed checkpoint_rejected
    resource_discrepancy task_completed task_failed gate_triggered gate_reentry_blocked recovery_completed
    integrity_violation trail_compacted`,
  sp: 'workspace_reparented system_degraded trail_snapshot_created escalation_received',
  srp: 'signal_emitted',
  // The word to go on that an escalation's fallback sends is no agent's (W-HWY-22, §9.1).
  sruf: 'envelope_created',
  sr: 'task_created trail_access_denied',
  s: 'graph_created',
  r: 'checkpoint_created',
  u: 'authentication_succeeded human_injection',
  // The coordinator decides what fell to it (W-HWY-10, §4.8).
  suf: 'task_approved',
  supf: 'gate_resolved',
  uf: 'escalation_resolved',
  f: 'gate_timeout escalation_timeout',
}

const expectedActors = rowsOf(BY_KINDS)

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

  it.each(expectedActors)('W-TRAIL-02 admits for $type the kinds $key and no other', ({ key: kinds, type }) => {
    const admitted = Object.entries(ACTORS).filter(([, actor]) => actorAdmitted(type, actor, roles))
    expect(admitted.map(([letter]) => letter).sort()).toEqual([...kinds].sort())
  })
})

/** The closed sets by the number of their members. */
const SIZES = {
  2: `
    TERMINAL_STATES RESUMABLE_STATES REPARENT_REASONS INTEGRATION_MODES INTEGRATION_RESULTS CONFLICT_OUTCOMES
    ENVELOPE_ORIGINS CHECKPOINT_STATUSES APPROVAL_SOURCES REENTRY_CONVERSIONS INJECTION_STATUSES TRAIL_SCOPES`,
  3: `
    DEPLOYMENT_MODELS INTEGRATION_STRATEGIES RESOLUTION_STRATEGIES DEACTIVATABLE_STATES ENVELOPE_PRIORITIES
    RIGHT_TYPES CONFIDENCES USAGE_FIELDS TASK_PRIORITIES GATE_ACTIONS GATE_FALLBACKS ESCALATION_FALLBACKS
    ESCALATION_RESPONSES VIOLATION_ACTIONS`,
  4: `
    WORKSPACE_PRIORITIES CONFLICT_TYPES RECORDED_RESOLUTION_STRATEGIES USER_STATES DEGRADED_SCOPES
    COORDINATOR_ACTIONS VIOLATION_SUBJECTS VIOLATIONS`,
  5: 'UNDELIVERABLE_REASONS CHECKPOINT_REJECTION_REASONS',
  6: 'GATE_TYPES',
  8: 'BUDGET_DIMENSIONS ENVELOPE_REJECTION_REASONS TASK_STATUSES',
  9: 'WORKSPACE_STATES DENIAL_REASONS',
  10: 'WORKSPACE_REJECTION_REASONS',
  11: 'SIGNAL_TYPES',
  17: 'CAPABILITIES',
  30: 'TRIGGERS',
}

it('W-TRAIL-03 closed sets have as many members as the sheets list, each once', () => {
  const sets = Object.entries(names).filter(([, value]) => Array.isArray(value)) as [string, readonly string[]][]
  const sizes = rowsOf(SIZES).map(({ key, type }) => [type, Number(key)])
  expect(Object.fromEntries(sets.map(([name, members]) => [name, members.length]))).toEqual(Object.fromEntries(sizes))
  for (const [name, members] of sets) expect(new Set(members).size, name).toBe(members.length)
})

it('W-LIFE-01 closed and failed are the terminal states', () => {
  expect(names.WORKSPACE_STATES.filter(names.isTerminal)).toEqual(names.TERMINAL_STATES)
})
