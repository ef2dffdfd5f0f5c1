// What the coordinator offers to whoever wires it: the node. `Conductor` (conductor.ts) is the implementation.
import type { AgentAdapter, Clock, IdSource, Principal, Result, RunId } from '@parley/core'
import type { StorageKeeper, StoragePolicy } from '@parley/kernel'
import type { Trail } from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import type { HighwayConducting } from './highway-contract.ts'
import type { SuccessionConducting } from './succession-contract.ts'
import type { Gates } from './team/highway-fields.ts'
import type { Team, TeamAgent } from './team/team.ts'
import type { RunState, RunSummaryView, RunView } from './view.ts'

export interface ConductorOptions {
  /** An open trail; whoever opened it closes it, after the conductor. */
  readonly trail: Trail
  /** The profile's folder: runs keep their work below `runs/` in it. */
  readonly profile: string
  /** Secret of the profile; tokens of workspaces and keys of what is kept are derived from it. */
  readonly secret: Uint8Array
  /** What the node vouches for (W-SEC-13), `single-runtime` by default; the trail was opened for it. */
  readonly deployment?: DeploymentModel
  /** Makes the adapter of an agent. `base` is the folder of the team file, where relative programs are looked for. */
  readonly adapter: (
    name: string,
    config: TeamAgent,
    base: string | undefined,
    /** Of whoever started the run; undefined if they sent none, and after a restart. */
    environment: Readonly<Record<string, string>> | undefined,
  ) => AgentAdapter
  /** Further variables for the process of every turn, for instance where the node can be reached. */
  readonly environment?: Readonly<Record<string, string>>
  readonly clock?: Clock
  readonly ids?: IdSource
  /** Turns at once over all runs. */
  readonly turns?: number
  /** For runs whose team says nothing about gates. */
  readonly gates?: Gates
  /** What happens by itself to the record of runs that are over; nothing by default. */
  readonly storage?: StoragePolicy
  readonly log?: (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void
}

export interface SolveRequest {
  readonly intent: string
  /** Absolute path of the project's folder. */
  readonly project: string
  readonly team: Team
  readonly principal: Principal
  /** `cli`, `alx`, … */
  readonly origin: string
  /** The principal approves every task with this request: each is approved under their name, and nobody is asked. */
  readonly approved: boolean
  /** Goes before what the team and the node say about gates. */
  readonly gates?: Gates
  /** The run whose agent asks for this one. */
  readonly parent?: RunId
  /** Start it although a breaker is open. */
  readonly force?: boolean
  /** Of whoever starts the run: goes before the node's own for its agents and checks. In memory only: never on the trail, on disk or in a log. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Refusals are values with a stable code: `not_found`, `invalid_argument`, `invalid_project`, `invalid_state`, `overloaded`, `breaker_open`, `trail_unavailable`. */
export interface Conducting extends HighwayConducting, SuccessionConducting {
  /** The storage of runs that are over: what is done about it by itself, and on request. */
  readonly storage: StorageKeeper
  /** Resolves when the run's first entries are durable. */
  solve(request: SolveRequest): Promise<Result<{ readonly run: RunId }>>
  /** The newest first. */
  runs(filter?: {
    readonly limit?: number
    readonly states?: readonly RunState[]
  }): Promise<readonly RunSummaryView[]>
  /** A run by its id, by the beginning of it if that is unique, or `last`. */
  find(text: string): Promise<Result<RunId>>
  view(run: RunId): Promise<Result<RunView>>
  /** The view as it is, then again after changes, and a last time when the run is over. */
  follow(run: RunId, signal?: AbortSignal): AsyncIterable<RunView>
  /** What the agent of a turn may do with its token; `permission_denied` for any other. */
  door(token: string): Result<WorkspaceDoor>
  /** No turn is started any more, those at work are ended; the next start runs them again. */
  close(): Promise<void>
}

/** The inside of a workspace, for `parley ws`. */
export interface WorkspaceDoor {
  readonly principal: Principal
  status(): Promise<Result<WorkspaceStatus>>
  /** Takes the mail that has come since; each is handed out once. */
  inbox(): Promise<Result<readonly WorkspaceMail[]>>
  /** Keeps what the folder holds now: a turn that dies goes on from here. */
  checkpoint(
    intent: string,
  ): Promise<Result<{ readonly checkpoint: string; readonly files: readonly string[] }>>
  /** The turn cannot go on without an answer: it ends as blocked when the process ends, and mail starts the next one. */
  block(reason: string): Promise<Result<void>>
}

export interface WorkspaceStatus {
  readonly run: string
  readonly workspace: string
  readonly task: string
  readonly title: string
  readonly agent: string
  readonly state: string
  readonly epoch: number
  readonly unread: number
  readonly checkpoints: number
  readonly may_change: readonly string[] | 'everything'
}

export interface WorkspaceMail {
  readonly id: string
  readonly from: string
  readonly type: string
  readonly priority: string
  readonly text: string
}
