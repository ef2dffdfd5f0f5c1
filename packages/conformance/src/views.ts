// What reading answers, in the names of the sheets. A host may add fields; these are the ones that scenarios look at.
import type { Entry } from './host.ts'

type Id = string

/** The record of W-WS-01 with the components of W-WS-02. */
export interface WorkspaceView {
  readonly id: Id
  readonly role: string
  readonly parent: Id | null
  readonly status: string
  readonly owner: string
  readonly originator: string
  /** Its own id included. */
  readonly visibility: readonly Id[]
  readonly authority: { readonly resources: readonly string[]; readonly actions: readonly string[] }
  readonly priority: string
  readonly mounts: readonly string[]
  readonly delegate: boolean
  readonly directive: Id | null
  readonly task_ref: Id | null
  readonly timeout: number | null
  readonly group: string | null
  /** The identity of its agent; null at level 1. */
  readonly agent: string | null
  readonly children: readonly Id[]
  /** Envelopes that its agent has not consumed, in the order in which it will. */
  readonly inbox: readonly Id[]
  /** The keys of its working memory. */
  readonly memory: readonly string[]
  readonly register: readonly CheckpointLine[]
  /** The newest final checkpoint (W-CP-08). */
  readonly deliverable: Id | null
  readonly meter: MeterView
  /** Each limit with what counts against it. */
  readonly limits: Readonly<Record<string, { readonly limit: number; readonly consumed: number }>>
}

export interface CheckpointLine {
  readonly id: Id
  readonly type: string
  readonly status: string
  readonly confidence: string
  readonly parent: Id | null
}

/** Times in milliseconds. */
export interface MeterView {
  readonly tokens: number
  readonly compute_time: number
  readonly wall_time: number
  readonly context: number
  readonly checkpoint_bytes: number
  readonly trail_bytes: number
  readonly bandwidth: number
  readonly cost: number
}

export interface EnvelopeView {
  readonly id: Id
  readonly from: Id
  readonly to: Id
  readonly type: string
  readonly priority: string
  readonly in_reply_to: Id | null
  readonly status: string
  /** Why it will never be delivered; null otherwise. */
  readonly undeliverable: string | null
  readonly origin: string
  readonly originator: string
  /** Null for one that was rejected, and where only lines are listed. */
  readonly payload: { readonly format: string; readonly content: string } | null
}

export interface RightView {
  readonly id: Id
  readonly type: string
  readonly holder: Id
  readonly target: Id
  /** `active`, or how it ended: `revoked`, `consumed`, `expired`. */
  readonly status: string
}

export interface TaskView {
  readonly id: Id
  readonly graph: Id
  readonly name: string
  readonly description: string
  readonly priority: string
  readonly depends_on: readonly Id[]
  readonly parent_task: Id | null
  readonly status: string
  readonly workspace_ref: Id | null
  readonly workspace_history: readonly Id[]
  readonly checkpoint_ref: Id | null
  readonly resource_estimate: Readonly<Record<string, number>> | null
}

export interface GraphView {
  readonly id: Id
  readonly root_task: Id
  /** In order of creation, cancelled ones among them. */
  readonly tasks: readonly TaskView[]
}

/** W-INT-21. */
export interface IntegrationView {
  readonly source: Id
  readonly target: Id
  readonly mode: string
  readonly strategy: string
  readonly checkpoint_ref: Id | null
  /** What the checkpoint counts as (W-INT-19). */
  readonly confidence: string | null
  readonly conflicts: readonly {
    readonly conflict_id: Id
    readonly type: string
    readonly strategy: string | null
    readonly outcome: string | null
  }[]
  readonly result: string | null
  readonly aborted: string | null
  readonly order_index: number | null
  readonly order_basis: string | null
}

export interface GateView {
  readonly id: Id
  readonly type: string
  readonly subject: unknown
  readonly workspace: Id | null
  readonly task_ref: Id | null
  readonly graph_ref: Id | null
  readonly timeout: number | null
  readonly fallback: string
  readonly addressee: string
  readonly handed_over: boolean
  readonly queue_position: number
}

export interface EscalationView {
  readonly signal: Id
  readonly workspace: Id
  readonly reason: string
  readonly addressee: string
  readonly queued: boolean
}

/** A configuration with everything said (W-HWY-14). */
export interface HighwayView {
  readonly gates: Readonly<
    Record<string, { readonly on: boolean; readonly timeout: number | null; readonly fallback: string }>
  >
  readonly visibility: boolean
  readonly injection: boolean
  readonly escalation: { readonly timeout: number | null; readonly fallback: string }
}

export interface UserView {
  readonly user: string
  readonly state: string
  readonly capabilities: readonly string[]
}

export interface ClockInfo {
  readonly source: string
  /** `1us`. */
  readonly tick: string
  /** `ms`. */
  readonly unit: string
}

export interface TrailPage {
  readonly entries: readonly Entry[]
  /** `seq` of the last entry: hand it back as `after`. */
  readonly cursor: number
  readonly more: boolean
}

export interface AggregateRow {
  readonly key: string | number | boolean | null
  readonly count: number
  readonly sum?: number
}

/** The views of W-TRAIL-22. `recoveries`, where a view has it, are the `seq` of its `recovery_completed` entries. */
export interface OverviewView {
  readonly workspaces: Readonly<
    Record<
      'productive' | 'suspended' | 'resolution' | 'terminal',
      readonly { readonly workspace: Id; readonly state: string }[]
    >
  >
  readonly tasks: { readonly done: number; readonly total: number }
  readonly recoveries: readonly number[]
}

/** Of one workspace, or of the highway. */
export interface EntriesView {
  readonly entries: readonly Entry[]
}

export interface MessagesView {
  readonly edges: readonly {
    readonly kind: 'envelope' | 'signal'
    readonly id: Id
    readonly from: Id
    /** Null for a signal that was not delivered. */
    readonly to: Id | null
    readonly type: string
  }[]
}

/** W-TRAIL-23, for one run. */
export interface RunMetrics {
  readonly total_cost: number
  readonly total_wall_time_ms: number
  readonly workspace_count: number
  readonly failure_count: number
  readonly retry_count: number
  readonly checkpoint_count: number
  readonly human_intervention_count: number
  /** By task. */
  readonly task_completion_ms: Readonly<Record<Id, number>>
}

export interface Verification {
  readonly findings: readonly { readonly seq: number; readonly violation: string }[]
}

/** Each link of the proof: whether it is there and verifies. */
export interface ProofReport {
  /** The agent or person that the proof names; null where it names none. */
  readonly who: string | null
  readonly identity: boolean
  readonly message: boolean
  readonly actor: boolean
  readonly chain: boolean
  readonly signature: boolean
}
