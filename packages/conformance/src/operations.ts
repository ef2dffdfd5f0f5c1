// The closed list of operations that scenarios ask for, with the parameters of each and what a host answers. Parameters
// are named as in the sheets; callers may hand in anything, so a host checks them as it checks any request.
import type {
  BudgetDraft,
  CheckpointDraft,
  EnvelopeDraft,
  RunDraft,
  TaskDraft,
  TrailFilter,
  WorkspaceDraft,
} from './drafts.ts'
import type {
  AggregateRow,
  ClockInfo,
  EntriesView,
  EnvelopeView,
  EscalationView,
  GateView,
  GraphView,
  HighwayView,
  IntegrationView,
  MessagesView,
  OverviewView,
  ProofReport,
  RightView,
  RunMetrics,
  TaskView,
  TrailPage,
  UserView,
  Verification,
  WorkspaceView,
} from './views.ts'

type Json = unknown
type Id = string

type Nothing = Readonly<Record<never, never>>
type About = { readonly workspace: Id }
type UserChange = { readonly user: string; readonly reason?: string }
type Strategy = 'direct' | 'layered' | 'evaluated'

/**
 * Each operation with its parameters and the value that it answers. Callers in brackets: A agent, U user, O outsider, R
 * runtime.
 */
export interface Operations {
  // Runs

  /** [R] Its root exists and its coordinator has said `ready`. */
  start_run: [RunDraft, { readonly run: Id; readonly root: Id }]
  /** [R] The normal shutdown (W-LIFE-13). */
  close_run: [Nothing, unknown]
  /** [R] The forced shutdown (W-LIFE-14). */
  stop_run: [Nothing, unknown]
  /** [R] W-CLOCK-09. */
  clock_info: [Nothing, ClockInfo]
  /** [R] What a preset or a configuration comes to (W-HWY-14, -15), without starting a run. */
  expand_highway: [{ readonly highway?: Json }, HighwayView]

  // People: the boundary, and what the system or another user changes about them

  /** [O] Somebody claims to be a user; `proven` is what the authentication boundary found out. */
  authenticate: [{ readonly user: string; readonly proven: boolean }, { readonly user: string }]
  /** [R, U] W-USER-03. */
  suspend_user: [UserChange, unknown]
  resume_user: [UserChange, unknown]
  block_user: [UserChange, unknown]
  unblock_user: [UserChange, unknown]
  deactivate_user: [UserChange, unknown]
  reactivate_user: [UserChange, unknown]
  grant_capability: [{ readonly user: string; readonly capability: string }, unknown]
  revoke_capability: [{ readonly user: string; readonly capability: string; readonly reason?: string }, unknown]
  get_user: [{ readonly user: string }, UserView]

  // Agents

  /** [O] Somebody claims to be the agent of a workspace (W-SEC-03, -04). */
  attach: [{ readonly workspace: Id; readonly identity: string }, unknown]
  /** [A] `from` is for those who pretend to be another workspace. */
  emit_signal: [
    { readonly type: string; readonly reason?: string; readonly ref?: Id; readonly from?: Id },
    {
      readonly signal?: Id
      readonly outcome: 'applied' | 'recorded' | 'absorbed'
      /** Of a `complete` that was applied: the checkpoint that will be integrated, null where there is none. */
      readonly integrates?: Id | null
    },
  ]
  /** [A] `gate`: it is accepted and waits there. */
  send_envelope: [EnvelopeDraft, { readonly envelope: Id; readonly gate?: Id }]
  /** [A] The same draft with a proof of its sender over it. */
  seal_envelope: [EnvelopeDraft, EnvelopeDraft]
  /** [A] The next envelope by priority; null where there is none. It is never handed out again (W-WS-21). */
  consume_envelope: [Nothing, Readonly<Record<string, Json>> | null]
  /** [A] */
  create_checkpoint: [CheckpointDraft, { readonly checkpoint: Id; readonly artifacts?: readonly Id[] }]
  /** [A] Always refused (W-CP-06). */
  change_checkpoint: [{ readonly checkpoint: Id; readonly changes: Json }, never]
  /** [A] `workspace`: another one's memory. */
  write_memory: [{ readonly key: string; readonly value: Json; readonly workspace?: Id }, unknown]
  delete_memory: [{ readonly key: string }, unknown]

  // Workspaces

  /** [A] */
  create_workspace: [WorkspaceDraft, { readonly workspace: Id }]
  /** [A] Sends a directive that `dispatch: false` kept back. */
  dispatch_directive: [About, unknown]
  /** [A, U] `rejected`: a gate's fallback said no to it before, and nothing was done (W-HWY-11). */
  abort: [About, { readonly outcome?: 'applied' | 'rejected' }]
  suspend: [About & { readonly reason: string }, unknown]
  resume: [About, unknown]
  /** [A] Hands the workspace to another agent (W-MIG-04); answered when that has ended, unless the binder is held. */
  migrate: [About & { readonly agent: string; readonly reason: string }, unknown]
  /** [A] Graceful termination (W-TERM-01). */
  terminate: [About & { readonly grace_period: number; readonly reason: string }, unknown]
  /** The coordinator asks the owner of a workspace; `signal` names the question. */
  consult: [About & { readonly reason: string }, { readonly signal: Id }]
  /** [A] Always refused (W-WS-17, W-WS-16). */
  set_authority: [About & { readonly authority: Json }, never]
  set_delegate: [About & { readonly delegate: boolean }, never]
  revoke_visibility: [About & { readonly target: Id }, never]
  grant_visibility: [About & { readonly target: Id; readonly reason: string }, unknown]
  change_priority: [About & { readonly priority: string }, unknown]
  batch_priority: [{ readonly group: string; readonly priority: string }, unknown]
  batch_abort: [{ readonly group: string }, unknown]
  /** [A, U] New limits, each above the one that stands. */
  raise_budget: [About & { readonly limits: BudgetDraft }, unknown]
  transfer_ownership: [About & { readonly owner: string; readonly reason?: string }, unknown]
  /** [A] Gives an orphan its one new parent (W-WS-13). */
  reparent: [About & { readonly parent: Id }, unknown]
  /** [A] W-REC-05. */
  report_degraded: [
    {
      readonly reason: string
      readonly scope: string
      readonly action: string
      readonly workspaces?: readonly Id[]
    },
    unknown,
  ]
  /** [A] Always refused (W-TAX-06). */
  register_type: [{ readonly registration: Json }, never]

  // Port rights

  grant_right: [{ readonly type: string; readonly holder: Id; readonly target: Id }, { readonly right: Id }]
  revoke_right: [{ readonly right: Id; readonly reason: string }, unknown]

  // Tasks

  submit_graph: [
    { readonly tasks: readonly TaskDraft[]; readonly caused_by?: Id },
    { readonly graph: Id; readonly tasks: readonly Id[] },
  ]
  add_tasks: [
    { readonly graph: Id; readonly tasks: readonly TaskDraft[] },
    { readonly graph: Id; readonly tasks: readonly Id[] },
  ]
  retry_task: [{ readonly task: Id; readonly override?: boolean }, unknown]
  /** `rejected`: the same, of the abort that it needs. */
  cancel_task: [{ readonly task: Id }, { readonly outcome?: 'applied' | 'rejected' }]
  /** Always refused (W-TASK-03). */
  change_task: [{ readonly task: Id; readonly changes: Json }, never]
  remove_task: [{ readonly task: Id }, never]

  // Integration

  begin_integration: [{ readonly source: Id; readonly strategy?: Strategy; readonly basis?: string }, unknown]
  /** Opens the integration first where it is not open. `outcome`: what became of the source. */
  decide_integration: [
    {
      readonly source: Id
      readonly decision: 'accept' | 'revise' | 'reject'
      readonly strategy?: Strategy
      readonly result?: Json
    },
    { readonly outcome?: string },
  ]
  /** The merge could not be made. */
  fail_integration: [{ readonly source: Id }, unknown]
  /** What the integrator of an `evaluated` merge found against it. */
  report_conflicts: [
    {
      readonly source: Id
      readonly conflicts: readonly {
        readonly type: string
        readonly resources: readonly string[]
        readonly description: string
      }[]
    },
    { readonly conflicts: readonly Id[] },
  ]
  resolve_conflict: [
    {
      readonly source: Id
      readonly conflict: Id
      readonly strategy: string
      readonly resolution: string
      readonly result?: Json
    },
    unknown,
  ]
  /** W-INT-18: opens the salvage of a failed workspace. */
  begin_salvage: [
    { readonly source: Id; readonly strategy?: Strategy; readonly checkpoint?: Id; readonly target?: Id },
    unknown,
  ]
  /** Ends it. Conflicts of a salvage are reported and resolved as those of any integration. */
  decide_salvage: [{ readonly source: Id; readonly decision: 'accept' | 'not_usable'; readonly result?: Json }, unknown]

  // Highway

  /** [U] */
  inject: [EnvelopeDraft, { readonly envelope: Id; readonly gate?: Id }]
  /** [U, A] The coordinator answers gates that fell to it (W-HWY-10). */
  answer_gate: [
    {
      readonly gate: Id
      readonly action: string
      readonly modifications?: Json
      readonly reason?: string
    },
    unknown,
  ]
  /** [U] `answer`: `{ type: 'envelope', payload }`, `{ type: 'abort' }` or `{ type: 'delegation' }`. */
  answer_escalation: [{ readonly signal: Id; readonly answer: Json }, unknown]
  /** [R] What waits, in order of opening. */
  list_gates: [Nothing, readonly GateView[]]
  list_escalations: [Nothing, readonly EscalationView[]]

  // Reading. An agent reads under the rules of visibility; the runtime reads everything and leaves no trace.

  get_workspace: [About, WorkspaceView]
  get_envelope: [{ readonly envelope: Id }, EnvelopeView]
  get_checkpoint: [{ readonly checkpoint: Id }, Readonly<Record<string, Json>>]
  get_artifact: [{ readonly artifact: Id }, Readonly<Record<string, Json>>]
  read_context: [About, Json]
  read_memory: [{ readonly key: string; readonly workspace?: Id }, Json]
  get_task: [{ readonly task: Id }, TaskView]
  get_graph: [{ readonly graph: Id }, GraphView]
  list_dispatchable: [{ readonly graph: Id }, readonly TaskView[]]
  list_unresolvable: [{ readonly graph: Id }, readonly TaskView[]]
  /** The envelope that began the thread, and all that answer it, directly or not, in order of acceptance. */
  get_thread: [{ readonly envelope: Id }, readonly EnvelopeView[]]
  list_rights: [{ readonly holder?: Id; readonly target?: Id }, readonly RightView[]]
  /** The integration of a source, open or ended; null where none was begun. */
  get_integration: [{ readonly source: Id }, IntegrationView | null]
  read_result: [{ readonly source: Id }, Json]
  /** [R] Ids of workspaces, or of tasks for the last five questions (wacp-mechanisms section 7). */
  topology: [{ readonly question: TopologyQuestion; readonly about?: string }, readonly Id[]]
  /**
   * Workspaces in whose name something can be asked for by what the caller was handed: the objects, ports or
   * credentials that its handle leads to (§3.2). A host that hands its agents nothing but their own connection answers
   * with the caller's own.
   */
  handle_reaches: [Nothing, readonly Id[]]

  // The trail

  query_trail: [
    TrailFilter & {
      readonly after?: number
      readonly order?: 'ascending' | 'descending'
      readonly limit?: number
    },
    TrailPage,
  ]
  aggregate_trail: [
    { readonly filter: TrailFilter; readonly group?: string; readonly sum?: string },
    readonly AggregateRow[],
  ]
  /** [U, R] Everything behind `after` as it becomes durable. */
  watch_trail: [TrailFilter & { readonly after?: number }, TrailWatch]
  /** Always refused (W-TRAIL-09). */
  update_entry: [{ readonly entry: Id }, never]
  delete_entry: [{ readonly entry: Id }, never]
  /** [R] W-TRAIL-16; what it finds is put on record. */
  verify_trail: [Nothing, Verification]
  /** [R] A copy of a local trail against the anchors (W-TRAIL-14). */
  verify_local: [{ readonly entries: readonly Json[] }, Verification]
  /** [R] How two entries are ordered (W-CLOCK-06). */
  compare_entries: [{ readonly first: Id; readonly second: Id }, { readonly relation: EntryRelation }]
  /** [R] W-TRAIL-24. */
  tier_of: [{ readonly seq: number }, { readonly tier: 'hot' | 'warm' | 'cold' | null }]
  /** [R] W-TRAIL-27. */
  compact: [About, { readonly archived: number }]
  /** [R] Deletes what was archived of a workspace (W-TRAIL-28). */
  delete_archive: [About, unknown]
  /** [R] W-TRAIL-30. */
  take_snapshot: [{ readonly up_to: number }, unknown]
  /**
   * [R] W-TRAIL-22: an OverviewView, EntriesView (`timeline` of a workspace, `highway`), MessagesView or RunMetrics.
   */
  trail_view: [{ readonly view: TrailViewName; readonly workspace?: Id }, TrailView]
  /** [R] W-TRAIL-23, in the order of the runs. */
  compare_runs: [{ readonly runs: readonly Id[] }, readonly RunMetrics[]]
  /** [R] W-SEC-17: everything that proves one recorded action. */
  proof_report: [{ readonly entry: Id }, ProofReport]
}

export const TOPOLOGY_QUESTIONS = [
  'owned_by',
  'originated_by',
  'boundaries',
  'orphans',
  'group',
  'upward',
  'downward',
  'siblings',
  'caused_alike',
  'visible_to',
  'viewers_of',
  'dependencies',
  'dependents',
  'sources',
  'sinks',
  'order',
] as const
export type TopologyQuestion = (typeof TOPOLOGY_QUESTIONS)[number]

export const TRAIL_VIEWS = ['overview', 'timeline', 'messages', 'metrics', 'highway'] as const
export type TrailView = OverviewView | EntriesView | MessagesView | RunMetrics
export type TrailViewName = (typeof TRAIL_VIEWS)[number]

export const ENTRY_RELATIONS = ['before', 'after', 'concurrent', 'same'] as const
export type EntryRelation = (typeof ENTRY_RELATIONS)[number]

export interface TrailWatch {
  /** The next page with entries in it. */
  next(): Promise<TrailPage>
  stop(): Promise<void>
}

export type OperationName = keyof Operations
export type Params<O extends OperationName> = Operations[O][0]
export type Value<O extends OperationName> = Operations[O][1]
