// The eleven signals (W-SIG-01): what they mean for state and who must give a reason. Who may emit which is the role's
// affair.
import type { SignalId, WorkspaceId } from '@parley/core'
import type { SignalType, Trigger, WorkspaceState } from '@parley/trail/events'

interface SignalRule {
  readonly reasonRequired: boolean
  /** The transition that it drives when an agent emits it, by the state that it is emitted in. */
  readonly moves: { readonly [From in WorkspaceState]?: WorkspaceState }
  readonly trigger?: Trigger
  /** Emitted by the runtime for an operation; from the coordinator it is that operation (W-SIG-05). */
  readonly operation?: 'integrate' | 'suspend' | 'migrate'
}

const NOTHING: SignalRule = { reasonRequired: false, moves: {} }

/** W-SIG-01. `started` leaves `idle` only where W-LIFE-06 allows it, which the rule for leaving `idle` checks. */
export const SIGNAL_RULES: { readonly [T in SignalType]: SignalRule } = {
  ready: NOTHING,
  started: {
    reasonRequired: false,
    moves: { blocked: 'active', idle: 'active' },
    trigger: 'agent_started',
  },
  blocked: { reasonRequired: true, moves: { active: 'blocked' }, trigger: 'agent_blocked' },
  checkpoint: NOTHING,
  complete: { reasonRequired: false, moves: { active: 'integrating' }, trigger: 'agent_complete' },
  failed: {
    reasonRequired: true,
    moves: { idle: 'failed', active: 'failed', blocked: 'failed' },
    trigger: 'agent_failed',
  },
  integrate: { ...NOTHING, operation: 'integrate' },
  acknowledged: NOTHING,
  escalation: { reasonRequired: true, moves: {} },
  suspend: { ...NOTHING, operation: 'suspend' },
  migrate: { ...NOTHING, operation: 'migrate' },
}

export interface WaitingSignal {
  readonly id: SignalId
  readonly to: WorkspaceId
  /** It goes to the parent, whoever that is; receipts and notices go to the sender of an envelope (W-SIG-04). */
  readonly upward: boolean
  readonly type: SignalType
  readonly reason: string | undefined
  readonly ref: string | undefined
  readonly seq: number
}

/** The newest signals that reached a workspace, and whose they were. */
export type KnownSignals = Map<SignalId, WorkspaceId>

/** The notice of W-ENV-15; it never changes a state. */
export const DELIVERY_EXHAUSTED = 'delivery_exhausted'
