// The closed sets against the counts of the sheets: a member too few or too many is a change of the protocol.
import { expect, it } from 'vitest'
import * as names from './names.ts'

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
