// Actors against W-TRAIL-02 and the column "actor" of wacp-mechanisms 1.5.
import { describe, expect, it } from 'vitest'
import { actorAdmitted, actorKind, isReservedActor, RESERVED_ACTORS } from './actor.ts'
import { EVENT_TYPES, type EventType } from './registry.ts'

const roles = new Set(['coordinator', 'worker', 'observer', 'reviewer'])

/** One actor of each kind, by the letter that the table below uses. */
const ACTORS = { s: 'system', r: 'reviewer', u: 'alice', p: 'protocol', f: 'fallback' } as const

const TABLE: Readonly<Record<string, readonly EventType[]>> = {
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

const expected = Object.entries(TABLE).flatMap(([kinds, types]) => types.map(type => ({ kinds, type })))

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
    expect(expected.map(({ type }) => type).sort()).toEqual([...EVENT_TYPES].sort())
  })

  it.each(expected)('W-TRAIL-02 admits for $type the kinds $kinds and no other', ({ kinds, type }) => {
    const admitted = Object.entries(ACTORS).filter(([, actor]) => actorAdmitted(type, actor, roles))
    expect(
      admitted
        .map(([letter]) => letter)
        .sort()
        .join(''),
    ).toBe([...kinds].sort().join(''))
  })
})
