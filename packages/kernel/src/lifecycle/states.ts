// Tables of the nine workspace states (W-LIFE-01): the 22 transitions with their triggers (W-LIFE-02), what each state
// allows (W-LIFE-04).
import type { EventBody, WorkspaceState } from '@parley/trail/events'

export type Trigger = EventBody<'workspace_state_changed'>['trigger']

const ABORT = ['aborted_by_coordinator', 'aborted_by_human', 'batch_abort', 'escalation_timeout'] as const
const ENDED = [...ABORT, 'parent_failed', 'system_shutdown'] as const
const RAN_OUT = ['timeout', 'budget_exceeded', 'graceful_termination_expired'] as const

/** W-LIFE-02: exactly these pairs, each with the codes that may cause it. */
export const TRANSITIONS: {
  readonly [From in WorkspaceState]: { readonly [To in WorkspaceState]?: readonly Trigger[] }
} = {
  idle: {
    active: ['first_envelope', 'agent_started'],
    failed: ['creation_error', 'timeout', 'agent_failed', ...ENDED],
  },
  active: {
    blocked: ['agent_blocked'],
    migrating: ['migration_initiated'],
    suspended: ['suspended_by_coordinator'],
    // The root cannot emit `complete`: the runtime moves it at the end of the run (W-LIFE-13, A-28).
    integrating: ['agent_complete', 'run_complete'],
    failed: ['agent_failed', ...RAN_OUT, ...ENDED],
  },
  blocked: {
    active: ['agent_started'],
    migrating: ['migration_initiated'],
    suspended: ['suspended_by_coordinator'],
    failed: ['agent_failed', ...RAN_OUT, ...ENDED],
  },
  migrating: {
    active: ['migration_succeeded'],
    blocked: ['migration_succeeded'],
    failed: ['migration_error', ...ENDED],
  },
  suspended: {
    active: ['resumed_by_coordinator'],
    blocked: ['resumed_by_coordinator'],
    failed: ENDED,
  },
  integrating: {
    closed: ['integration_succeeded', 'run_complete'],
    conflicted: ['conflict_detected'],
    failed: ['integration_error', 'revision_required', 'rejected', 'gate_rejected_by_human', ...ENDED],
  },
  conflicted: {
    closed: ['conflict_resolved'],
    failed: ['conflict_unresolvable', 'conflict_timeout', ...ENDED],
  },
  closed: {},
  failed: {},
}

/** Whether a pair is legal, and with this cause (W-LIFE-03: everything else is impossible). */
export function isTransition(from: WorkspaceState, to: WorkspaceState, trigger: Trigger): boolean {
  return TRANSITIONS[from][to]?.includes(trigger) ?? false
}

/** W-LIFE-04. `mail`: what happens to an envelope for a workspace in that state. */
interface StateRules {
  readonly mail: 'placed' | 'held' | 'refused'
  readonly consumes: boolean
  readonly sends: boolean
  readonly checkpoints: boolean
  readonly writesMemory: boolean
  readonly signals: 'recorded' | 'refused' | 'no_effect' | 'late'
  readonly createsChildren: boolean
  readonly raisesBudget: boolean
  readonly suspends: boolean
  readonly migrates: boolean
  readonly terminates: boolean
  readonly aborts: boolean
  /** Which of its clocks run; budgets act where wall time runs (W-BUDGET-05). */
  readonly clocks: Clocks
}

interface Clocks {
  readonly timeout: boolean
  readonly wallTime: boolean
  readonly computeTime: boolean
  readonly liveness: boolean
}

const STANDING: Clocks = { timeout: false, wallTime: false, computeTime: false, liveness: false }

const CLOSED: StateRules = {
  mail: 'refused',
  consumes: false,
  sends: false,
  checkpoints: false,
  writesMemory: false,
  signals: 'late',
  createsChildren: false,
  raisesBudget: false,
  suspends: false,
  migrates: false,
  terminates: false,
  aborts: false,
  clocks: STANDING,
}
const AT_WORK: StateRules = {
  mail: 'placed',
  consumes: true,
  sends: true,
  checkpoints: true,
  writesMemory: true,
  signals: 'recorded',
  createsChildren: true,
  raisesBudget: true,
  suspends: true,
  migrates: true,
  terminates: true,
  aborts: true,
  clocks: { timeout: true, wallTime: true, computeTime: true, liveness: true },
}
const RESOLVING: StateRules = { ...CLOSED, signals: 'no_effect', aborts: true }
const PAUSED: StateRules = { ...CLOSED, mail: 'held', signals: 'refused', aborts: true }

export const STATE_RULES: { readonly [State in WorkspaceState]: StateRules } = {
  idle: { ...CLOSED, mail: 'placed', signals: 'recorded', raisesBudget: true, aborts: true },
  active: AT_WORK,
  blocked: {
    ...AT_WORK,
    checkpoints: false,
    createsChildren: false,
    clocks: { ...AT_WORK.clocks, computeTime: false },
  },
  suspended: PAUSED,
  migrating: PAUSED,
  integrating: RESOLVING,
  conflicted: { ...RESOLVING, clocks: { ...STANDING, timeout: true } },
  closed: CLOSED,
  failed: CLOSED,
}
