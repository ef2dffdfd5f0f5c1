// What the coordinator offers to whoever wires it: the node. `Coordinator` (coordinator.ts) is the implementation.
import type {
  AgentAdapter,
  Clock,
  IdSource,
  Library,
  Principal,
  Result,
  RunEnd,
  RunId,
  RunRequest,
  StoredRun,
  TurnEvent,
  Usage,
  WorkspaceId,
} from '@parley/core'
import type { StorageKeeper, StoragePolicy } from '@parley/kernel'
import type { Trail } from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import type { Applies } from './apply/applies.ts'
import type { Cleaning } from './apply/cleaning.ts'
import type { HouseRecords } from './apply/house-record.ts'
import type { Machine } from './machine/machine.ts'
import type { Judgement } from './merge/verdict.ts'
import type { Budgets } from './people/budgets.ts'
import type { Gates } from './people/gates.ts'
import type { Interventions } from './people/interventions.ts'
import type { Migrations } from './people/migrations.ts'
import type { Salvages } from './people/salvages.ts'
import type { Users } from './people/users.ts'
import type { KnownEnd, WorkspaceFacts } from './run/facts.ts'
import type { Gates as TeamGates } from './team/highway-fields.ts'
import type { Team, TeamAgent } from './team/team.ts'
import type { TurnListeners } from './turn/turn-listeners.ts'
import type { AgentUsage } from './view/agent-usage.ts'
import type { RunList } from './view/run-list.ts'
import type { RunRecords } from './view/run-records.ts'
import type { RunViews } from './view/run-views.ts'
import type { MachineView } from './view/view.ts'
import type { Works } from './view/works.ts'

export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void

export interface CoordinatorOptions {
  /** An open trail; whoever opened it closes it, after the coordinator. */
  readonly trail: Trail
  /** The profile's folder: runs keep their work below `runs/` in it. */
  readonly profile: string
  /** Secret of the profile; tokens of workspaces and keys of what is kept are derived from it. */
  readonly secret: Uint8Array
  /** What the node vouches for (W-SEC-13), `single-runtime` by default; the trail was opened for it. */
  readonly deployment?: DeploymentModel
  /** Makes the adapter of an agent: one for each agent of a run, closed with it. */
  readonly adapter: (wanted: WantedAdapter) => AgentAdapter
  /** Whether an agent can work in a run without a project; without this none can. */
  readonly worksWithoutFolder?: (agent: TeamAgent) => boolean
  /** Further variables for the process of every turn, for instance where the node can be reached. */
  readonly environment?: Readonly<Record<string, string>>
  readonly clock?: Clock
  readonly ids?: IdSource
  /** Whether the machine lets anything work; whoever made it closes it. One of the coordinator's own without it. */
  readonly machine?: Machine
  /** Turns at once over all runs. */
  readonly turns?: number
  /** Runs of one principal at work at once. */
  readonly runs?: number
  /** For runs whose team says nothing about gates. */
  readonly gates?: TeamGates
  /** What happens by itself to the record of runs that are over; nothing by default. */
  readonly storage?: StoragePolicy
  /** Entries of a library run before another one takes over. */
  readonly libraryEntries?: number
  /** Asked at the opening about every run that is not over. A reason ends the run before any turn of it starts. */
  readonly abandon?: (run: StoredRun) => string | undefined
  readonly log?: Log
}

/** What an adapter is made for. */
export interface WantedAdapter {
  readonly run: RunId
  /** As the team calls the agent; of a check `check:<task>`. */
  readonly name: string
  readonly agent: TeamAgent
  /** A check of the plan, or a setup: a command that spends nothing. */
  readonly check: boolean
  /** The folder of the team file, where relative programs are looked for. */
  readonly base: string | undefined
  /** Of whoever started the run; undefined if they sent none, and after a restart. */
  readonly environment: Readonly<Record<string, string>> | undefined
  /** Where the run came from, as its request said. */
  readonly origin: string
  /** Of a setup: the file that gets everything it prints. */
  readonly log?: string
}

/** How a request is carried out: by a team, or not at all, because what comes of it is known already. */
export type RunSetup = TeamSetup | EndedSetup

/**
 * A run that ends as it begins: its root, the principal's intent and its end are on record when its start is answered.
 * It has no plan and no files, nobody works in it, and no bound on active runs counts it.
 */
export interface EndedSetup {
  readonly ends: KnownEnd
  /** Who answers for it, where that is not whoever asks for it: a known user. */
  readonly owner?: Principal | undefined
}

/** By whom a request is carried out, where, and whether somebody must approve it first. */
export interface TeamSetup {
  readonly team: Team
  /**
   * Absolute path of the project's folder. Without one the run has no files and needs no git: all of its agents work
   * without a folder (`CoordinatorOptions.worksWithoutFolder`), none of its tasks has a check
   * or `paths` that it may change, and nothing is carried or set up. Otherwise `invalid_project`.
   */
  readonly project?: string | undefined
  /**
   * The principal approves the plan with this request, all but its tasks with `approve`: they are approved under their
   * name, and later ones wait for them. If the principal may not approve anything, the caller has decided: there is no
   * such gate, or it is answered under the name of `owner` where a task with `approve` makes gates necessary.
   */
  readonly approved: boolean
  /** Somebody is asked about the plan now: it waits for the answer, and no time that passes starts it. */
  readonly attended?: boolean | undefined
  /** Who answers for it and is asked about it, where that is not whoever asks for it (§4.8): a known user. */
  readonly owner?: Principal | undefined
  /** Goes before what the team and the node say about gates. */
  readonly gates?: TeamGates | undefined
  /**
   * Milliseconds that the gate of a task with `approve` waits for a person, after which it rejects. Without it the gate
   * waits as the run's gates do, and never approves by itself.
   */
  readonly approvalMs?: number | undefined
  /** The run whose agent asks for this one. */
  readonly parent?: RunId | undefined
  /** Start it although a breaker is open. */
  readonly force?: boolean | undefined
  /** Fires when whoever asks has left: no run comes of it then, unless it has begun already. */
  readonly caller?: AbortSignal | undefined
  /** The caller's: overrides the node's own for agents and checks. In memory only, never on disk or in a log. */
  readonly environment?: Readonly<Record<string, string>> | undefined
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
export interface WorkspaceEvent {
  readonly workspace: WorkspaceId
  /** The task of the plan, and what is done about it. */
  readonly task: string
  readonly kind: WorkspaceFacts['kind']
  readonly event: TurnEvent
}

/** What others may ask of a part, whoever implements it. */
type Part<T> = Pick<T, keyof T>

/**
 * The runs of a profile: one part for each kind of question and act. Refusals are values with a stable code:
 * `not_found`, `invalid_argument`, `invalid_project`, `invalid_state`, `overloaded`, `too_many_runs`,
 * `breaker_open`, `permission_denied`, `machine_fault`, `trail_unavailable`.
 */
export interface Coordination {
  /** Resolves when the run's first entries are durable. Refuses with `machine_fault` while everything is held up. */
  start(request: RunRequest, setup: RunSetup): Promise<Result<{ readonly run: RunId }>>
  readonly runs: Part<RunList>
  readonly views: Pick<RunViews, 'view' | 'follow' | 'prompts'>
  readonly records: Omit<Part<RunRecords>, 'keep' | 'keepWritten' | 'begun'>
  readonly works: Pick<Works, 'show'>
  readonly usage: Part<AgentUsage>
  readonly listeners: Pick<TurnListeners, 'listen' | 'recent'>
  readonly gates: Part<Gates>
  readonly interventions: Part<Interventions>
  readonly migrations: Part<Migrations>
  readonly salvages: Part<Salvages>
  readonly budgets: Part<Budgets>
  readonly applies: Pick<Applies, 'apply' | 'undo' | 'list'>
  readonly cleaning: Part<Cleaning>
  /** What outlives single runs: Knowledge Blocks, feedback, forks and resets of sessions, settlements. */
  readonly library: Library
  readonly users: Part<Users>
  /** What people did outside of runs, on record under their name. */
  readonly house: Pick<HouseRecords, 'write'>
  /** Whether acts of people cannot be recorded for now. */
  readonly degraded: boolean
  /** Turns at work over all runs, and those that wait for a free place. */
  readonly load: { readonly turns: number; readonly waiting: number }
  /** The storage of runs that are over: what is done about it by itself, and on request. */
  readonly storage: StorageKeeper
  /** What holds everything up: a fault of the machine. Undefined while it is sound. */
  readonly held: MachineView | undefined
  /** Fires when `close` begins. */
  readonly stopping: AbortSignal
  /** What the agent of a turn may do with its token; `permission_denied` for any other. */
  verbs(token: string): Result<AgentVerbs>
  /** No turn is started any more, those at work are ended; the next start runs them again. */
  close(): Promise<void>
}

/** The inside of a workspace, for `parley ws` and `parley mcp`. What a turn is for decides which verbs it has. */
export interface AgentVerbs {
  readonly principal: Principal
  status(): Promise<Result<WorkspaceStatus>>
  /** Takes the mail that has come since; each is handed out once. */
  inbox(): Promise<Result<readonly WorkspaceMail[]>>
  /** Keeps what the folder holds now: a turn that dies goes on from here. */
  checkpoint(intent: string): Promise<Result<{ readonly checkpoint: string; readonly files: readonly string[] }>>
  /** Asks a person and waits for mail, as long as it is told to at most. What comes later is for the inbox. */
  ask(question: string, waitMs: number, signal: AbortSignal): Promise<Result<readonly WorkspaceMail[]>>
  /** Tells a person something that goes beyond the task; the work goes on. */
  escalate(reason: string): Promise<Result<void>>
  /** The turn ends as blocked when its process ends; mail starts the next one. */
  block(reason: string): Promise<Result<void>>
  spend(): Promise<Result<TurnSpending>>
  /** What a review comes to; the last one counts. */
  verdict(judgement: Judgement): Promise<Result<void>>
  /** Mail that waits: at once, and whenever some comes, until the turn is over or the signal fires. */
  waiting(signal: AbortSignal): AsyncIterable<readonly WaitingMail[]>
}

/** What an agent can call by name. */
export type AgentVerb = Exclude<keyof AgentVerbs, 'principal' | 'waiting'>

export interface WorkspaceStatus {
  readonly run: string
  readonly workspace: string
  readonly task: string
  readonly title: string
  /** What the turn is for. */
  readonly kind: WorkspaceFacts['kind']
  readonly agent: string
  readonly state: string
  readonly epoch: number
  readonly unread: number
  readonly checkpoints: number
  readonly may_change: readonly string[] | 'everything'
  /** What this turn may call. */
  readonly verbs: readonly AgentVerb[]
}

export interface WaitingMail {
  readonly id: string
  readonly from: string
  readonly type: string
  readonly priority: string
}

export interface WorkspaceMail extends WaitingMail {
  readonly text: string
}

/** Null: nothing limits it. */
export interface TurnSpending {
  /** Of this turn, as far as its program has told. */
  readonly used: { readonly tokens: number; readonly usd: number; readonly seconds: number }
  /** Of the task's budget and time. */
  readonly left: { readonly tokens: number | null; readonly usd: number | null; readonly seconds: number | null }
}
