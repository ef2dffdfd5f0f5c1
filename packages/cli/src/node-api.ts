// What the command asks of a node: one method for each operation that it uses. `connect.ts` makes one over the socket; tests bring their own.
import type { HighwayPreset } from '@parley/node'
import type {
  AgentView,
  AskedView,
  BudgetLimit,
  BudgetView,
  CompactedView,
  GateView,
  HeadView,
  IdentityRotationView,
  IdentityView,
  ImportView,
  KeyView,
  LeftView,
  ListedState,
  MachineView,
  MigrationView,
  NodeStatus,
  PeersView,
  PeerView,
  PendingView,
  PlanTaskView,
  PongView,
  ProofView,
  RestoreView,
  RotationView,
  RunSummaryView,
  RunView,
  SalvageView,
  SnapshotView,
  TiersView,
  TodayView,
  TrailPage,
  UserAct,
  UserView,
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
  /** A preset, before what the team says. */
  readonly gates?: HighwayPreset
  /** The run inside which this is asked for. */
  readonly parent?: string
  readonly force?: boolean
  /** What the agents may have of the caller's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

/** An answer to a gate. */
export interface Decision {
  readonly decision: 'approve' | 'reject' | 'modify'
  /** For `modify`: the fields that change. */
  readonly changes?: Readonly<Record<string, unknown>>
  readonly reason?: string
}

/** An answer to a question: words, the end of the work, or the coordinator is to see to it. */
export interface Reply {
  readonly answer: 'envelope' | 'abort' | 'delegate'
  readonly text?: string
}

export interface Message {
  readonly to?: string
  readonly text: string
  readonly type?: string
  readonly priority?: 'normal' | 'urgent' | 'blocking'
}

export interface UserChange {
  readonly user: string
  readonly act: UserAct
  readonly capability?: UserView['capabilities'][number]
  readonly reason?: string
}

export interface TrailFilterInput {
  readonly event_type?: readonly string[]
  readonly actor?: string
  readonly workspace?: string
}

export interface PackOptions {
  /** As it is stored, opened where it is sealed, or left out. */
  readonly content: 'stored' | 'opened' | 'none'
  readonly upTo?: number
}

export interface TrailWatchInput extends TrailFilterInput {
  readonly run: string
  readonly after?: number
}

export interface TrailQueryInput extends TrailWatchInput {
  readonly limit?: number
  readonly order?: 'ascending' | 'descending'
}

/** What a peer is pinned with beside its key. */
export interface PinChoices {
  readonly alias?: string
  readonly address?: string
  readonly allow?: readonly string[]
}

/** One of `invitation` and `pubkey`. */
export interface PinInput extends PinChoices {
  readonly invitation?: string
  readonly pubkey?: string
  readonly id?: string
  readonly per_minute?: number
}

/** `key`: a pending key or fingerprint, or a unique beginning of either. */
export interface AcceptInput extends PinChoices {
  readonly key: string
  readonly id: string
}

export interface AskInput {
  readonly peer: string
  readonly prompt: string
  readonly usd?: number
  readonly tokens?: number
  readonly timeout_ms?: number
}

export interface PeerCallInput {
  readonly peer: string
  readonly operation: string
  readonly input: unknown
  readonly port?: number
  readonly timeout_ms?: number
}

/** Every method rejects with the error of the operation; `asFailure` knows them. Runs are named by id, by its beginning or as `last`. */
export interface NodeApi {
  status(): Promise<NodeStatus>
  /** The fault of the machine that holds all work up, if there is one. */
  held(): Promise<MachineView | undefined>
  stop(reason: string): Promise<void>
  solve(input: SolveInput): Promise<{ readonly run: string; readonly warnings: readonly string[] }>
  runs(filter: {
    readonly limit: number
    readonly states?: readonly ListedState[]
  }): Promise<readonly RunSummaryView[]>
  show(run: string): Promise<RunView>
  follow(run: string, signal?: AbortSignal): AsyncIterable<RunView>
  /** Ends a run, or the work on one of its tasks; `grace`: milliseconds in which agents may finish first. */
  abort(run: string, reason: string, task?: string, grace?: number): Promise<void>
  /** Another agent goes on with a task. */
  migrate(
    run: string,
    move: { readonly task: string; readonly to: string; readonly reason?: string },
  ): Promise<MigrationView>
  /** What a failed task left. */
  left(
    run: string,
    task: string,
    checkpoint?: string,
  ): Promise<{ readonly run: string; readonly left: LeftView }>
  salvage(
    run: string,
    judged: {
      readonly task: string
      readonly take: boolean
      readonly checkpoint?: string
      readonly reason?: string
    },
  ): Promise<SalvageView>
  tasks(run: string): Promise<readonly PlanTaskView[]>
  /** Everything that waits for a person; of one run, if one is named. */
  gates(run?: string): Promise<readonly GateView[]>
  watchGates(signal?: AbortSignal): AsyncIterable<readonly GateView[]>
  respond(
    gate: string,
    decision: Decision,
    passphrase?: string,
  ): Promise<{ readonly run: string; readonly gates: readonly string[] }>
  reply(question: string, reply: Reply, passphrase?: string): Promise<{ readonly run: string }>
  /** The passphrase that answers need from now on; undefined for none. `present`: the one that is set. */
  setPassphrase(
    passphrase: string | undefined,
    present: string | undefined,
  ): Promise<{ readonly required: boolean }>
  inject(run: string, message: Message): Promise<{ readonly run: string; readonly envelope: string }>
  suspend(run: string, reason: string, task?: string): Promise<void>
  resume(run: string, task?: string): Promise<void>
  budgets(run: string): Promise<readonly BudgetView[]>
  /** What the profile has spent today, by whom, and what it may spend. */
  spentToday(): Promise<TodayView>
  raiseBudget(
    run: string,
    raise: { readonly task?: string; readonly dimension: BudgetLimit; readonly limit: number },
  ): Promise<void>
  users(): Promise<readonly UserView[]>
  changeUser(change: UserChange): Promise<UserView>
  queryTrail(query: TrailQueryInput): Promise<TrailPage>
  watchTrail(query: TrailWatchInput, signal?: AbortSignal): AsyncIterable<TrailPage>
  verifyTrail(run?: string, expect?: readonly HeadView[]): Promise<VerifyView>
  /** Everything that proves one recorded act; by the id of its entry or by its place. */
  proveEntry(run: string, entry: string | number): Promise<ProofView>
  /** As lines of text. */
  exportTrail(run: string): AsyncIterable<string>
  /** As one file, in pieces. */
  packTrail(run: string, options: PackOptions): AsyncIterable<Uint8Array>
  importTrail(file: string, keys: readonly string[]): Promise<ImportView>
  trailHeads(): AsyncIterable<readonly HeadView[]>
  trailKeys(): Promise<readonly KeyView[]>
  rotateKey(): Promise<RotationView>
  /** What lies in which tier. */
  trailTiers(): Promise<TiersView>
  /** One run that is over, or all of them, out of the log. */
  compactTrail(run?: string): Promise<CompactedView>
  snapshotTrail(run: string, upTo?: number): Promise<SnapshotView>
  restoreTrail(): Promise<RestoreView>
  agents(): Promise<readonly AgentView[]>
  linkIdentity(): Promise<IdentityView>
  rotateIdentity(): Promise<IdentityRotationView>
  peers(): Promise<PeersView>
  pinPeer(input: PinInput): Promise<PeerView>
  unpinPeer(id: string): Promise<PeerView>
  allowPeer(id: string, allow: readonly string[]): Promise<PeerView>
  pendingPeers(): Promise<readonly PendingView[]>
  acceptPeer(input: AcceptInput): Promise<PeerView>
  dismissPeer(key: string): Promise<{ readonly pubkey: string }>
  ping(peer: string, timeoutMs?: number): Promise<PongView>
  /** Ending it cancels the turn at the peer. */
  ask(input: AskInput, signal?: AbortSignal): AsyncIterable<AskedView>
  /** Without a session: whichever turn of ours runs there. */
  cancelAsk(peer: string, session?: string): Promise<{ readonly cancelled: boolean }>
  /** An operation of the peer's node; what it answers. */
  callPeer(input: PeerCallInput): Promise<unknown>
  workspaceStatus(): Promise<WorkspaceStatusView>
  workspaceInbox(): Promise<readonly WorkspaceMailView[]>
  checkpoint(intent: string): Promise<{ readonly checkpoint: string; readonly files: readonly string[] }>
  block(reason: string): Promise<void>
  close(): void
}
