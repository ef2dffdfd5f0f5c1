// The objects of a run as the simulator's own model knows them: plain records, nothing shared with the kernel.
import { parseTimestamp } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type {
  Budget,
  BudgetDimension,
  Capability,
  CheckpointStatus,
  EnvelopePriority,
  EscalationFallback,
  EventBody,
  GateAction,
  GateFallback,
  GateType,
  IntegrationStrategy,
  RightType,
  SignalType,
  TaskPriority,
  TaskStatus,
  UserState,
  WorkspacePriority,
  WorkspaceState,
} from '@parley/trail/events'

export interface WorkspaceModel {
  readonly id: string
  readonly role: string
  parent: string | null
  /** Everybody it ever stood under, and everybody who ever owned it: whoever was obeyed was one of them. */
  readonly parents: string[]
  owner: string
  readonly owners: string[]
  readonly originator: string
  readonly delegate: boolean
  readonly visibility: Set<string>
  readonly resources: readonly string[]
  readonly group: string | null
  readonly timeout: number | null
  readonly livenessInterval: number | null
  /** Ticks. */
  readonly created: number
  priority: WorkspacePriority
  budget: Budget | undefined
  /** Reparented by a failure and not reassigned since. */
  orphan: boolean
  /** Since when it is in its state, and the ticks of states before that count towards its timeout. */
  since: number
  spent: number
  /** Ticks that it was `active` or `blocked` before its state. */
  wall: number
  /** The newest entry filed under it, and the newest that is no warning of silence. */
  lastEntry: number
  lastActivity: string
  readonly usage: { tokens: number; cost: number; context: number }
  /** Limits whose warning is on record. */
  readonly warned: Set<string>
  /** Open conflicts. */
  readonly conflicts: Set<string>
  readonly task: string | null
  readonly directive: string | null
  /** Whether the runtime sends the directive by itself. */
  readonly dispatches: boolean
  readonly children: string[]
  /** Who speaks for it, and who is being prepared to. */
  agent: string | null
  successor: string | null
  /** It was asked to wind down: when its time is up, in ticks, and what told it. */
  /** `end` is known once the agent was told. */
  grace: { readonly period: number; end: number | null; envelope: string | null } | null
  status: WorkspaceState
  remembered: string | null
  ready: boolean
  readonly inbox: string[]
  /** Senders with something on its way here, and what. */
  readonly channels: Map<string, string[]>
  readonly register: string[]
  deliverable: string | null
  readonly memory: Map<string, string>
  integration: {
    readonly target: string
    readonly checkpoint: string | null
    readonly strategy: IntegrationStrategy
  } | null
  /** The source that holds its integration lock. */
  merging: string | null
  readonly merges: string[]
  /** Files that merges into it changed, each with the time of the newest. */
  readonly files: Map<string, number>
}

export interface SalvageModel {
  readonly source: string
  readonly target: string
  readonly checkpoint: string
  /** Open conflicts: they are the salvage's, not the source's. */
  readonly conflicts: Set<string>
  result: string | null
  aborted: string | null
}

export interface GateModel {
  readonly id: string
  readonly type: GateType
  readonly subject: string
  readonly workspace: string | null
  readonly task: string | null
  readonly timeout: number | null
  readonly fallback: GateFallback
  readonly addressee: string
  /** Ticks. */
  readonly opened: number
  /** What it holds up, as it is stored. */
  readonly paused: Readonly<Record<string, unknown>>
  timedOut: boolean
  /** Since when it waits for the coordinator. */
  handedOver: number | null
}

export interface GateEnd {
  readonly gate: GateModel
  readonly action: GateAction
  readonly actor: string
}

export interface EscalationModel {
  readonly signal: string
  readonly workspace: string
  /** Ticks. */
  readonly received: number
  /** The envelope that answers it and is on its way. */
  answer: string | null
}

export interface HighwayModel {
  readonly gates: {
    readonly [Type in GateType]: {
      readonly on: boolean
      readonly timeout: number | null
      readonly fallback: GateFallback
    }
  }
  readonly injection: boolean
  readonly escalation: {
    readonly enabled: boolean
    readonly timeout: number | null
    readonly fallback: EscalationFallback
  }
}

export interface UserModel {
  readonly id: string
  state: UserState
  suspended: boolean
  readonly capabilities: Set<Capability>
  /** How often anything about the user changed. */
  changes: number
}

export type Measured = Extract<BudgetDimension, 'token_limit' | 'cost_limit' | 'context_limit'>

export interface EnvelopeModel {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly type: string
  readonly priority: EnvelopePriority
  readonly origin: EventBody<'envelope_created'>['origin']
  readonly originator: string
  readonly rights: readonly { readonly type: string; readonly target: string }[]
  status: 'validated' | 'delivered' | 'acknowledged' | 'rejected'
  undeliverable: string | null
  consumed: boolean
  repeats: number
}

export interface RightModel {
  readonly id: string
  readonly type: RightType
  holder: string
  readonly target: string
  status: 'active' | 'consumed' | 'revoked'
}

export interface SignalModel {
  readonly id: string
  readonly from: string
  /** Null: goes to nobody. */
  to: string | null
  /** To the parent, whichever that is when it arrives. */
  readonly upward: boolean
  readonly order: number
  readonly type: SignalType
  deliveries: number
}

export interface TaskModel {
  readonly id: string
  readonly graph: string
  readonly priority: TaskPriority
  readonly dependsOn: readonly string[]
  readonly parent: string | null
  status: TaskStatus
  workspace: string | null
  readonly history: string[]
  checkpoint: string | null
}

export interface CheckpointModel {
  readonly id: string
  readonly workspace: string
  readonly parent: string | null
  readonly status: CheckpointStatus
  readonly files: readonly string[]
}

export function isOver(status: string): boolean {
  return status === 'closed' || status === 'failed'
}

export function ticksOf({ timestamp }: Pick<EntryDraft, 'timestamp'>): number {
  return parseTimestamp(timestamp)!
}
