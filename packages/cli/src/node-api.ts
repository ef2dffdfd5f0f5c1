// What the command asks of a node: one method for each operation that it uses. `connect.ts` makes one over the socket; tests bring their own.
import type {
  AgentView,
  GateView,
  NodeStatus,
  PlanTaskView,
  RunState,
  RunSummaryView,
  RunView,
  TrailPage,
  VerifyView,
  WorkspaceMailView,
  WorkspaceStatusView,
} from './views.ts'

export interface SolveInput {
  readonly intent: string
  readonly project: string
  readonly team?: { readonly text: string; readonly file: string }
  readonly agent?: string
  readonly approved: boolean
  /** What the agents may have of the caller's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Plans are approved or rejected, questions are replied to, with the reply as the reason. */
export type Decision = 'approve' | 'reject' | 'reply'

export interface TrailFilterInput {
  readonly event_type?: readonly string[]
  readonly actor?: string
  readonly workspace?: string
}

export interface TrailWatchInput extends TrailFilterInput {
  readonly run: string
  readonly after?: number
}

export interface TrailQueryInput extends TrailWatchInput {
  readonly limit?: number
  readonly order?: 'ascending' | 'descending'
}

/** Every method rejects with the error of the operation; `asFailure` knows them. Runs are named by id, by its beginning or as `last`. */
export interface NodeApi {
  status(): Promise<NodeStatus>
  stop(reason: string): Promise<void>
  solve(input: SolveInput): Promise<{ readonly run: string; readonly warnings: readonly string[] }>
  runs(filter: {
    readonly limit: number
    readonly states?: readonly RunState[]
  }): Promise<readonly RunSummaryView[]>
  show(run: string): Promise<RunView>
  follow(run: string, signal?: AbortSignal): AsyncIterable<RunView>
  abort(run: string, reason: string): Promise<void>
  tasks(run: string): Promise<readonly PlanTaskView[]>
  gates(): Promise<readonly GateView[]>
  respond(gate: string, decision: Decision, reason?: string): Promise<{ readonly run: string }>
  queryTrail(query: TrailQueryInput): Promise<TrailPage>
  watchTrail(query: TrailWatchInput, signal?: AbortSignal): AsyncIterable<TrailPage>
  verifyTrail(run?: string): Promise<VerifyView>
  exportTrail(run: string): AsyncIterable<string>
  agents(): Promise<readonly AgentView[]>
  workspaceStatus(): Promise<WorkspaceStatusView>
  workspaceInbox(): Promise<readonly WorkspaceMailView[]>
  checkpoint(intent: string): Promise<{ readonly checkpoint: string; readonly files: readonly string[] }>
  block(reason: string): Promise<void>
  close(): void
}
