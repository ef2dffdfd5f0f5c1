// What callers hand in to operations: mail, work, workspaces, runs and questions about the trail. Callers may hand in
// anything, so a host checks all of it as it checks any request.
type Json = unknown
type Id = string

export interface PayloadDraft {
  readonly format: string
  readonly content: string
  readonly attachments?: readonly Json[]
}

/** The limit fields of W-BUDGET-02. */
export interface BudgetDraft {
  readonly compute_budget?: {
    readonly token_limit?: number
    readonly compute_timeout?: number
    readonly wall_time_limit?: number
  }
  readonly memory_budget?: { readonly context_limit?: number }
  readonly storage_budget?: { readonly checkpoint_limit?: number; readonly trail_limit?: number }
  readonly network_budget?: { readonly bandwidth_limit?: number }
  readonly cost_limit?: number
}

export interface WorkspaceDraft {
  readonly role: string
  readonly parent?: Id
  readonly owner?: string
  readonly visibility?: readonly Id[]
  /** The resources of its authority; the actions are computed. */
  readonly resources?: readonly string[]
  readonly priority?: string
  readonly mounts?: readonly string[]
  readonly delegate?: boolean
  /** Its first envelope, sent at once unless `dispatch` is false. */
  readonly directive?: PayloadDraft | null
  readonly dispatch?: boolean
  readonly task?: Id | null
  readonly context?: Json
  readonly memory?: Readonly<Record<string, Json>>
  readonly timeout?: number
  readonly budget?: BudgetDraft
  readonly group?: string | null
  readonly liveness_interval?: number | null
  readonly caused_by?: Id
}

export interface EnvelopeDraft {
  readonly to: Id
  readonly type: string
  readonly payload: PayloadDraft
  readonly in_reply_to?: Id | null
  readonly rights?: readonly { readonly type: 'send' | 'send_once'; readonly target: Id }[]
  readonly priority?: 'normal' | 'urgent' | 'blocking'
  /** As `seal_envelope` made it. */
  readonly integrity?: { readonly proof: string; readonly algorithm: string }
}

export interface CheckpointDraft {
  readonly type: string
  readonly payload: {
    readonly files_changed?: readonly string[]
    readonly content?: string
    readonly artifacts?: readonly Json[]
  }
  readonly intent: string
  readonly parent?: Id | null
  readonly status: 'provisional' | 'final'
  readonly confidence: 'high' | 'medium' | 'low'
  readonly resource_usage?: {
    readonly tokens_consumed?: number
    readonly wall_time?: number
    readonly cost?: number
  }
}

/** Ids are the runtime's, so tasks of one submission name each other by `key`. */
export interface TaskDraft {
  readonly key?: string
  readonly name: string
  readonly description: string
  readonly depends_on?: readonly string[]
  readonly parent_task?: string | null
  readonly priority?: 'normal' | 'elevated' | 'urgent'
  readonly resource_estimate?: {
    readonly tokens?: number
    readonly wall_time?: number
    readonly cost?: number
  }
}

export interface RunDraft {
  readonly owner?: string
  readonly taxonomy?: Json
  /**
   * A preset's name, a configuration in the fields of W-HWY-01, or `off` for a run without a highway, as at level 1.
   */
  readonly highway?: Json
  readonly context?: Readonly<Record<string, Json>>
  /** Percent of a limit at which its warning is written (W-BUDGET-04). */
  readonly budget_warning?: number
}

/** Fields as the filter dimensions of W-TRAIL-17; `body` by dotted path. */
export interface TrailFilter {
  readonly scope?: 'local' | 'global'
  readonly workspace?: Id | readonly Id[]
  readonly actor?: string
  readonly role?: string
  readonly event_type?: string | readonly string[]
  readonly from?: string
  readonly to?: string
  readonly body?: Readonly<Record<string, string | number | boolean | null>>
  readonly originator?: string
  readonly owner?: string
  readonly group?: string
}
