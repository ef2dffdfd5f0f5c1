// Filing against the table of wacp-primitives 0.4 and the column "filed under" of wacp-mechanisms 1.5.
import type { WorkspaceId } from '@parley/core'
import { describe, expect, it } from 'vitest'
import { exampleBody, exampleGenesis } from '../testing/examples.ts'
import { filedUnder } from './filing.ts'
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
