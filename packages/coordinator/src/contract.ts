// What the coordinator offers to whoever wires it: the node. `Conductor` (conductor.ts) is the implementation.
import type {
  AgentAdapter,
  Clock,
  IdSource,
  Principal,
  Result,
  RunEnd,
  RunId,
  Ticks,
  TurnContextPart,
  TurnEvent,
  Usage,
  WorkspaceId,
} from '@parley/core'
import type { StorageKeeper, StoragePolicy } from '@parley/kernel'
import type { Trail } from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import type { WorkspaceFacts } from './facts.ts'
import type { HighwayConducting } from './highway-contract.ts'
import type { Machine } from './machine/machine.ts'
import type { RunsFilter } from './run-list.ts'
import type { SuccessionConducting } from './succession-contract.ts'
import type { Gates } from './team/highway-fields.ts'
import type { Team, TeamAgent } from './team/team.ts'
import type { MachineView, RunSummaryView, RunView } from './view.ts'

export interface ConductorOptions {
  /** An open trail; whoever opened it closes it, after the conductor. */
  readonly trail: Trail
  /** The profile's folder: runs keep their work below `runs/` in it. */
  readonly profile: string
  /** Secret of the profile; tokens of workspaces and keys of what is kept are derived from it. */
  readonly secret: Uint8Array
  /** What the node vouches for (W-SEC-13), `single-runtime` by default; the trail was opened for it. */
  readonly deployment?: DeploymentModel
  /** Makes the adapter of an agent: one for each agent of a run, closed with it. */
  readonly adapter: (wanted: WantedAdapter) => AgentAdapter
  /** Further variables for the process of every turn, for instance where the node can be reached. */
  readonly environment?: Readonly<Record<string, string>>
  readonly clock?: Clock
  readonly ids?: IdSource
  /** Whether the machine lets anything work; whoever made it closes it. One of the conductor's own without it. */
  readonly machine?: Machine
  /** Turns at once over all runs. */
  readonly turns?: number
  /** For runs whose team says nothing about gates. */
  readonly gates?: Gates
  /** What happens by itself to the record of runs that are over; nothing by default. */
  readonly storage?: StoragePolicy
  /** Asked at the opening for every run that is not over: with a reason it is ended, and no turn of it starts any more. */
  readonly abandon?: (run: StoredRun) => string | undefined
  readonly log?: (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void
}

/** What an adapter is made for. */
export interface WantedAdapter {
  readonly run: RunId
  /** As the team calls the agent; of a check `check:<task>`. */
  readonly name: string
  readonly agent: TeamAgent
  /** A check of the plan: a command that spends nothing. */
  readonly check: boolean
  /** The folder of the team file, where relative programs are looked for. */
  readonly base: string | undefined
  /** Of whoever started the run; undefined if they sent none, and after a restart. */
  readonly environment: Readonly<Record<string, string>> | undefined
  /** Where the run came from, as its request said. */
  readonly origin: string
}

export interface SolveRequest {
  readonly intent: string
  /** Absolute path of the project's folder. */
  readonly project: string
  readonly team: Team
  readonly principal: Principal
  /** `cli`, `alx`, … */
  readonly origin: string
  /**
   * The principal approves the plan with this request: each of its tasks is approved under their name, and nobody is asked. What is planned
   * later waits for them. For one who may not approve anything, whoever calls has decided: then there is no such gate.
   */
  readonly approved: boolean
  /** Goes before what the team and the node say about gates. */
  readonly gates?: Gates
  /** The run whose agent asks for this one. */
  readonly parent?: RunId
  /** Start it although a breaker is open. */
  readonly force?: boolean
  /** Told first in every turn that works on a task of the plan. At most `limits.runContextParts` and `runContextLength` of core. */
  readonly context?: readonly TurnContextPart[]
  /** Stored with the root for whoever asks for the run: `StoredRun.facts`. Canonical JSON, at most `limits.runFactsBytes` of core. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** The same principal and key give the same run, never a second one. 1 to 256 characters. */
  readonly idempotencyKey?: string
  /** Of whoever starts the run: goes before the node's own for its agents and checks. In memory only: never on the trail, on disk or in a log. */
  readonly environment?: Readonly<Record<string, string>>
}

/** What a run was started with. */
export interface StoredRun {
  readonly run: RunId
  readonly root: WorkspaceId
  readonly started: Ticks
  readonly principal: string
  readonly origin: string
  /** What the request stored; empty if nothing. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** What a run was started with and what it came to, its turns all ended if it is over. */
export interface RunAccount extends StoredRun {
  /** The sum over all turns; a member is undefined where none of them measured it. */
  readonly usage: Usage
  /** A turn began of which nobody knows what it cost: its node died in the middle of it. */
  readonly unknownCost: boolean
  /** Undefined while the run is at work. */
  readonly end?: RunEnd
}

/** What the agent of a turn at work said or did. */
export interface HeardEvent {
  readonly workspace: WorkspaceId
  /** The task of the plan, and what is done about it. */
  readonly task: string
  readonly kind: WorkspaceFacts['kind']
  readonly event: TurnEvent
}

/** Refusals are values with a stable code: `not_found`, `invalid_argument`, `invalid_project`, `invalid_state`, `overloaded`, `breaker_open`, `permission_denied`, `machine_fault`, `trail_unavailable`. */
export interface Conducting extends HighwayConducting, SuccessionConducting {
  /** The storage of runs that are over: what is done about it by itself, and on request. */
  readonly storage: StorageKeeper
  /** What holds everything up: a fault of the machine. Undefined while it is sound. */
  readonly held: MachineView | undefined
  /** Resolves when the run's first entries are durable. Refuses with `machine_fault` while everything is held up. */
  solve(request: SolveRequest): Promise<Result<{ readonly run: RunId }>>
  /** The newest first. One whose record is damaged is among them, as `damaged`. */
  runs(filter?: RunsFilter): Promise<readonly RunSummaryView[]>
  /** A run by its id, by the beginning of it if that is unique, or `last`: the newest of our own, damaged or not. */
  find(text: string): Promise<Result<RunId>>
  view(run: RunId): Promise<Result<RunView>>
  /** The view as it is, then again after changes, and a last time when the run is over. */
  follow(run: RunId, signal?: AbortSignal): AsyncIterable<RunView>
  /** What a run was started with; nothing else of it is read. */
  storedRun(run: RunId): Promise<Result<StoredRun>>
  /** Runs of an origin, the newest first, also those that are over; none that began before `since`. Each is read when it is asked for. */
  stored(filter: { readonly origin: string; readonly since?: Ticks }): AsyncIterable<StoredRun>
  /** The run that a principal has started under this idempotency key. */
  keyed(principal: string, key: string): Promise<RunId | undefined>
  /** What it came to; of a run that has just ended, when its turns have ended as well. */
  account(run: RunId): Promise<Result<RunAccount>>
  /** Hears what the agents of a run emit, as long as it is at work; nothing of it is on record. A listener must not throw. */
  listen(run: RunId, listener: (heard: HeardEvent) => void): () => void
  /** Fires when `close` begins. */
  readonly stopping: AbortSignal
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
