// The objects of a run as the simulator's own model knows them: plain records, nothing shared with the kernel.
import type {
  CheckpointStatus,
  EnvelopePriority,
  RightType,
  SignalType,
  TaskPriority,
  TaskStatus,
  WorkspaceState,
} from '@parley/trail/events'

export interface WorkspaceModel {
  readonly id: string
  readonly role: string
  readonly parent: string | null
  readonly delegate: boolean
  readonly owner: string
  readonly visibility: ReadonlySet<string>
  readonly resources: readonly string[]
  readonly task: string | null
  readonly directive: string | null
  /** Whether the runtime sends the directive by itself. */
  readonly dispatches: boolean
  readonly children: string[]
  status: WorkspaceState
  remembered: string | null
  ready: boolean
  readonly inbox: string[]
  /** Senders with something on its way here, and what. */
  readonly channels: Map<string, string[]>
  readonly register: string[]
  deliverable: string | null
  readonly memory: Map<string, string>
  integration: { readonly target: string; readonly checkpoint: string | null } | null
  /** The source that holds its integration lock. */
  merging: string | null
  readonly merges: string[]
}

export interface EnvelopeModel {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly priority: EnvelopePriority
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
  readonly to: string | null
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
}
