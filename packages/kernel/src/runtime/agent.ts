// The handle of the agent that is bound to a workspace. One class does the work; each role sees the part of it that the role may
// use (roles.ts), and the kernel checks again whatever the types already rule out.
import type {
  CheckpointId,
  EnvelopeId,
  GateId,
  GraphId,
  Result,
  RightId,
  TaskId,
  WorkspaceId,
} from '@parley/core'
import { compile, ok } from '@parley/core'
import type { Aggregated, QueryPage, TrailAggregate, TrailQuery } from '@parley/trail'
import type {
  Budget,
  ConflictType,
  CoordinatorAction,
  DegradedScope,
  IntegrationStrategy,
  ResolutionStrategy,
  WorkspacePriority,
} from '@parley/trail/events'
import type { BudgetLeft } from '../budget/remaining.ts'
import type { MeterView } from '../budget/view.ts'
import type { CheckpointDraft, CheckpointRecord } from '../checkpoint/checkpoint.ts'
import type { CheckpointCreated } from '../checkpoint/decide.ts'
import { EVIDENCE_MISSING } from '../checkpoint/proof.ts'
import type { AgentCommand } from '../command.ts'
import {
  type EnvelopeDraft,
  EnvelopeDraftSchema,
  type EnvelopeRecord,
  type ListedRight,
  type PayloadDraft,
} from '../envelope/envelope.ts'
import { proveDraft } from '../envelope/proof.ts'
import type { Sent } from '../envelope/send.ts'
import type { GateOutcome } from '../highway/gate.ts'
import type { ResolutionOutcome } from '../integration/conflict.ts'
import type {
  IntegrationDecision,
  IntegrationOutcome,
  ResultRecord,
  Salvaged,
  SalvageOutcome,
} from '../integration/integration.ts'
import { openSalvage, salvageCandidate } from '../integration/salvage-record.ts'
import type { MemoryRecord } from '../objects.ts'
import { plain } from '../plain.ts'
import { invalidArgument, notFound, refusal } from '../refusal.ts'
import type { Run } from '../run/run.ts'
import type { SignalDraft, SignalOutcome } from '../signal/decide.ts'
import type { SubmittedTasks } from '../task/decide.ts'
import { dispatchable, unresolvable } from '../task/graph.ts'
import type { TaskDraft } from '../task/task.ts'
import type { Readable } from '../workspace/access.ts'
import type { BatchAbort, BatchOutcome } from '../workspace/batch-abort.ts'
import type { Created, WorkspaceDraft } from '../workspace/create.ts'
import type { AgentKeys } from './agent-keys.ts'
import { evidenceOf, readCheckpointContent, readContent, readEnvelopeContent } from './content.ts'
import type { Notice } from './notice.ts'
import type { AgentOf, RoleName, Worker } from './roles.ts'
import type { RunHandle } from './run-handle.ts'
import type { Topology } from './topology.ts'
import {
  type EnvelopeView,
  type GraphView,
  type IntegrationView,
  type RightView,
  type TaskView,
  viewEnvelope,
  viewGraph,
  viewIntegration,
  viewRight,
  viewTask,
  viewWorkspace,
  type WorkspaceView,
} from './view.ts'

type Done = Promise<Result<void>>

/** Distributes over the union, so that each command keeps its own fields. */
type WithoutCaller<C> = C extends { readonly caller: WorkspaceId } ? Omit<C, 'caller'> : never

const envelopes = compile(EnvelopeDraftSchema, { name: 'envelope' })

export class AgentHandle {
  readonly run: RunHandle
  readonly workspace: WorkspaceId
  readonly role: string
  /** Who holds it: once another agent is bound to the workspace, it is refused (W-SEC-03). Undefined for the root, which keeps its own. */
  readonly agent: string | undefined
  /** All that its reads are opened with, where workspaces have keys of their own (W-SEC-13). */
  readonly #keys: AgentKeys | undefined

  constructor(run: RunHandle, workspace: WorkspaceId, role: string, agent?: string) {
    this.run = run
    this.workspace = workspace
    this.role = role
    this.agent = agent
    this.#keys = run.agentKeys(workspace)
  }

  // Signals

  emit(draft: SignalDraft): Promise<Result<SignalOutcome>> {
    const copy = plain(draft) ?? ({} as SignalDraft)
    // From the coordinator it is the operation (W-SIG-05), with what that takes.
    if (copy.type === 'integrate' && typeof copy.ref === 'string')
      return this.#withEvidence(copy.ref as WorkspaceId, { type: 'emit', draft: copy })
    return this.#ask({ type: 'emit', draft: copy })
  }

  started(): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'started' })
  }

  /** The agent cannot go on without input; mail still arrives. */
  blocked(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'blocked', reason })
  }

  /** The work is done; the newest final checkpoint is what the parent integrates. */
  complete(): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'complete' })
  }

  failed(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'failed', reason })
  }

  escalate(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'escalation', reason })
  }

  // Mail

  send(draft: EnvelopeDraft): Promise<Result<Sent>> {
    return this.#ask({ type: 'send', draft: plain(draft) })
  }

  /** The draft with a proof of this workspace over it: nothing on the way to the runtime can change it unnoticed (W-ENV-05). */
  seal(draft: EnvelopeDraft): Result<EnvelopeDraft> {
    const { proofs } = this.run
    if (!proofs) return refusal('unsupported', 'This runtime has no secret, and so it makes no proofs.')
    const checked = envelopes.check(plain(draft))
    if (!checked.ok) return invalidArgument(checked.error.message)
    return ok({ ...checked.value, integrity: proveDraft(proofs, this.workspace, checked.value) })
  }

  /** The next envelope by priority, or undefined. It is never handed out again. */
  consume(): Promise<Result<EnvelopeRecord | undefined>> {
    return this.#ask({ type: 'consume' })
  }

  /** Waits for the next envelope. */
  async receive(signal?: AbortSignal): Promise<Result<EnvelopeRecord>> {
    for (;;) {
      const arrived = this.#nextNotice(notice => notice.kind === 'mail' || notice.kind === 'state', signal)
      const next = await this.consume()
      if (!next.ok || next.value !== undefined) {
        arrived.forget()
        return next as Result<EnvelopeRecord>
      }
      if (!(await arrived.seen)) return invalidArgument('Waiting for mail was given up.', 'aborted')
    }
  }

  #nextNotice(wanted: (notice: Notice) => boolean, signal: AbortSignal | undefined) {
    let settle: (seen: boolean) => void
    const seen = new Promise<boolean>(resolve => {
      settle = resolve
    })
    const off = this.subscribe(notice => wanted(notice) && finish(true))
    const stop = () => finish(false)
    const finish = (value: boolean) => {
      off()
      signal?.removeEventListener('abort', stop)
      settle(value)
    }
    if (signal?.aborted) finish(false)
    else signal?.addEventListener('abort', stop)
    return { seen, forget: () => finish(true) }
  }

  /** Notices for this agent: mail, signals of its children, states, what could not be delivered. */
  subscribe(listener: (notice: Notice) => void): () => void {
    return this.run.subscribe(notice => {
      if (notice.to === this.workspace && this.#isBound) listener(notice)
    })
  }

  get #isBound(): boolean {
    return this.agent === undefined || this.run.isBound(this.workspace, this.agent)
  }

  // Checkpoints and working memory

  checkpoint(draft: CheckpointDraft): Promise<Result<CheckpointCreated>> {
    return this.#ask({ type: 'checkpoint', draft: plain(draft) })
  }

  /** Always refused: a checkpoint never changes. */
  changeCheckpoint(checkpoint: CheckpointId): Promise<Result<never>> {
    return this.#ask({ type: 'change_checkpoint', checkpoint })
  }

  /** Writes one key; another workspace's memory is refused and the attempt is on record. */
  writeMemory(key: string, value: unknown, workspace?: WorkspaceId): Done {
    const copy = plain(value)
    if (copy === undefined) return Promise.resolve(invalidArgument('Working memory takes JSON values.'))
    return this.#ask({ type: 'write_memory', workspace, key, value: copy })
  }

  deleteMemory(key: string): Done {
    return this.#ask({ type: 'write_memory', key })
  }

  // Reading

  /** A workspace's record and components; one's own without an argument. */
  async look(workspace: WorkspaceId = this.workspace): Promise<Result<WorkspaceView>> {
    const allowed = await this.#mayRead('workspace', workspace)
    if (!allowed.ok) return allowed
    return this.run.tryRead(run => viewWorkspace(run, run.workspaces.get(workspace)!, this.run.now()))
  }

  /** What this agent's workspace used so far, by the runtime's own measure (W-BUDGET-03). */
  async meter(): Promise<Result<MeterView>> {
    const view = await this.look()
    return view.ok ? ok(view.value.meter) : view
  }

  /** What its workspace may still use, and how long. */
  remaining(): Promise<Result<BudgetLeft>> {
    return this.run.remaining(this.workspace)
  }

  async readMemory(key: string, workspace: WorkspaceId = this.workspace): Promise<Result<unknown>> {
    const allowed = await this.#mayRead('workspace', workspace)
    if (!allowed.ok) return allowed
    const id = await this.run.tryRead(run => run.workspaces.get(workspace)?.memory?.get(key))
    if (!id.ok) return id
    if (id.value === undefined) return notFound('key', key)
    const stored = await readContent<MemoryRecord>(this.run, 'memory', id.value, this.#keys)
    return stored.ok ? ok(stored.value.value) : stored
  }

  async readCheckpoint(id: CheckpointId): Promise<Result<CheckpointRecord>> {
    const allowed = await this.#mayRead('checkpoint', id)
    return allowed.ok ? readCheckpointContent(this.run, id, this.#keys) : allowed
  }

  /** W-CP-11: an artifact with the checkpoint that it belongs to. */
  async readArtifact(
    id: string,
  ): Promise<
    Result<{ readonly checkpoint: CheckpointId; readonly artifact: Readonly<Record<string, unknown>> }>
  > {
    const allowed = await this.#mayRead('artifact', id)
    if (!allowed.ok) return allowed
    const found = await this.run.tryRead(run => run.artifacts.get(id)!)
    if (!found.ok) return found
    const checkpoint = found.value
    const record = await readCheckpointContent(this.run, checkpoint, this.#keys)
    if (!record.ok) return record
    const artifact = record.value.payload.artifacts.find(each => each.artifact_id === id)
    return artifact ? ok({ checkpoint, artifact }) : notFound('artifact', id)
  }

  async readEnvelope(
    id: EnvelopeId,
  ): Promise<Result<EnvelopeView & { readonly payload: EnvelopeRecord['payload'] | null }>> {
    const allowed = await this.#mayRead('envelope', id)
    if (!allowed.ok) return allowed
    const found = await this.run.tryRead(run => viewEnvelope(run.envelopes.get(id)!))
    if (!found.ok) return found
    const view = found.value
    // Of a rejected envelope only the fact is kept.
    if (view.status === 'rejected') return ok({ ...view, payload: null })
    const record = await readEnvelopeContent(this.run, id, this.#keys)
    return record.ok ? ok({ ...view, payload: record.value.payload }) : record
  }

  /** Component 3 of a workspace: what its creator gave it to know. */
  async readContext(workspace: WorkspaceId = this.workspace): Promise<Result<unknown>> {
    const allowed = await this.#mayRead('context', workspace)
    if (!allowed.ok) return allowed
    const id = await this.run.tryRead(run => run.workspaces.get(workspace)?.context ?? null)
    if (!id.ok) return id
    return id.value === null ? ok({}) : readContent(this.run, 'context', id.value, this.#keys)
  }

  /** W-TOPO-CHAN-08: the envelope that began a thread, and all that answer it, directly or not. */
  async thread(id: EnvelopeId): Promise<Result<readonly EnvelopeView[]>> {
    const allowed = await this.#mayRead('envelope', id)
    if (!allowed.ok) return allowed
    return this.run.tryRead(run => {
      let first = run.envelopes.get(id)!
      for (let up = first; up?.inReplyTo; first = up)
        up = run.envelopes.get(up.inReplyTo) ?? { ...up, inReplyTo: null }
      const found = new Set([first])
      for (const each of found) for (const reply of each.replies ?? []) found.add(run.envelopes.get(reply)!)
      return [...found].map(viewEnvelope)
    })
  }

  /** The trail, as far as this agent may see it (W-TRAIL-19). */
  async query(query: TrailQuery): Promise<Result<QueryPage>> {
    const allowed = await this.#mayRead('workspace', this.workspace)
    return allowed.ok ? this.run.query(query, this.workspace) : allowed
  }

  /** Counts, groups and sums over the same: failures by reason, by group (W-REC-04). */
  async aggregate(query: TrailAggregate): Promise<Result<Aggregated>> {
    const allowed = await this.#mayRead('workspace', this.workspace)
    return allowed.ok ? this.run.aggregate(query, this.workspace) : allowed
  }

  // Workspaces

  /** Creates a workspace and binds its agent; what comes back is the agent's handle. */
  async createWorkspace<R extends RoleName, D extends boolean = false>(
    draft: WorkspaceDraft & { readonly role: R; readonly delegate?: D },
  ): Promise<Result<AgentOf<R, D>>> {
    const created = await this.#ask<Created>({ type: 'create_workspace', draft: plain(draft) })
    if (!created.ok) return created
    const bound = await this.run.bind(created.value.workspace, created.value.role, this.workspace)
    return bound as Result<AgentOf<R, D>>
  }

  /** Sends the directive of a workspace that was created with `dispatch: false`. */
  dispatch(workspace: WorkspaceId): Promise<Result<Sent>> {
    return this.#ask({ type: 'dispatch', workspace })
  }

  directive(to: WorkspaceId, payload: PayloadDraft, options: MailOptions = {}): Promise<Result<Sent>> {
    return this.send({ ...options, to, type: 'directive', payload })
  }

  feedback(to: WorkspaceId, payload: PayloadDraft, options: MailOptions = {}): Promise<Result<Sent>> {
    return this.send({ ...options, to, type: 'feedback', payload })
  }

  abort(workspace: WorkspaceId): Done {
    return this.#ask({ type: 'abort', workspace })
  }

  suspend(workspace: WorkspaceId, reason: string): Done {
    return this.#ask({ type: 'suspend', workspace, reason })
  }

  resume(workspace: WorkspaceId): Done {
    return this.#ask({ type: 'resume', workspace })
  }

  /** Puts another agent in the place of a workspace's own; answers when it is bound, with its handle, or why it could not be. */
  async migrate(workspace: WorkspaceId, newAgent: string, reason: string): Promise<Result<Worker>> {
    const begun = await this.#ask({ type: 'migrate', workspace, newAgent, reason })
    return begun.ok ? this.run.migrated(workspace) : (begun as Result<never>)
  }

  /** Asks a worker to finish within so many milliseconds; after that it fails with `graceful_termination_expired`. */
  terminate(workspace: WorkspaceId, gracePeriod: number, reason: string): Promise<Result<Sent>> {
    return this.#ask({ type: 'terminate', workspace, gracePeriod, reason })
  }

  /** Always refused: authority, delegation and visibility never shrink or change. */
  setAuthority(workspace: WorkspaceId): Promise<Result<never>> {
    return this.#ask({ type: 'set_authority', workspace })
  }

  setDelegate(workspace: WorkspaceId): Promise<Result<never>> {
    return this.#ask({ type: 'set_delegate', workspace })
  }

  revokeVisibility(workspace: WorkspaceId): Promise<Result<never>> {
    return this.#ask({ type: 'revoke_visibility', workspace })
  }

  // Port rights

  grantRight(type: 'send' | 'send_once', holder: WorkspaceId, target: WorkspaceId): Promise<Result<RightId>> {
    return this.#ask({ type: 'grant_right', right: type, holder, target })
  }

  revokeRight(right: RightId, reason: string): Done {
    return this.#ask({ type: 'revoke_right', right, reason })
  }

  rights(): Promise<Result<readonly RightView[]>> {
    return this.run.tryRead(run => [...run.rights.values()].map(viewRight))
  }

  // Tasks

  /** `causedBy`: the injected envelope that the graph answers; whoever sent it is asked about its tasks. */
  submitGraph(tasks: readonly TaskDraft[], causedBy?: EnvelopeId): Promise<Result<SubmittedTasks>> {
    return this.#ask({ type: 'submit_graph', tasks: plain(tasks), causedBy })
  }

  addTasks(graph: GraphId, tasks: readonly TaskDraft[]): Promise<Result<SubmittedTasks>> {
    return this.#ask({ type: 'add_tasks', graph, tasks: plain(tasks) })
  }

  retryTask(task: TaskId, override = false): Done {
    return this.#ask({ type: 'retry_task', task, override })
  }

  cancelTask(task: TaskId): Done {
    return this.#ask({ type: 'cancel_task', task })
  }

  /** Always refused: edges never change, and tasks are never removed. */
  changeTask(task: TaskId): Promise<Result<never>> {
    return this.#ask({ type: 'change_task', task })
  }

  removeTask(task: TaskId): Promise<Result<never>> {
    return this.#ask({ type: 'remove_task', task })
  }

  /** Tasks that can be bound now, the most urgent first. */
  dispatchable(graph: GraphId): Promise<readonly TaskView[]> {
    return this.run.read(run => dispatchable(run, graph).map(viewTask))
  }

  /** Tasks that hang on a cancelled one. */
  unresolvable(graph: GraphId): Promise<readonly TaskView[]> {
    return this.run.read(run => unresolvable(run, graph).map(viewTask))
  }

  async task(id: TaskId): Promise<Result<TaskView>> {
    const found = await this.run.tryRead(run => run.tasks.get(id))
    if (!found.ok) return found
    return found.value ? ok(viewTask(found.value)) : notFound('task', id)
  }

  async graph(id: GraphId): Promise<Result<GraphView>> {
    const found = await this.run.tryRead(run => {
      const graph = run.graphs.get(id)
      return graph && viewGraph(run, graph)
    })
    if (!found.ok) return found
    return found.value ? ok(found.value) : notFound('graph', id)
  }

  // Integration

  /** Opens the integration of a child; waits while another one into the same target is open. */
  beginIntegration(source: WorkspaceId, how: string | BeginOptions = 'direct'): Done {
    return this.#withEvidence(source, { type: 'begin_integration', source, ...withStrategy(how) })
  }

  /** Merges and closes, or finds conflicts; opens the integration first where it is not open. */
  accept(source: WorkspaceId, how: string | AcceptOptions = 'direct'): Promise<Result<IntegrationOutcome>> {
    return this.decideIntegration(source, 'accept', how)
  }

  revise(source: WorkspaceId): Promise<Result<IntegrationOutcome>> {
    return this.decideIntegration(source, 'revise')
  }

  reject(source: WorkspaceId): Promise<Result<IntegrationOutcome>> {
    return this.decideIntegration(source, 'reject')
  }

  decideIntegration(
    source: WorkspaceId,
    decision: IntegrationDecision,
    how: string | AcceptOptions = 'direct',
  ): Promise<Result<IntegrationOutcome>> {
    const { result, ...said } = withStrategy(how)
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    const command = { type: 'decide_integration', source, decision, ...said, result: copy } as const
    return decision === 'accept' ? this.#withEvidence(source, command) : this.#ask(command)
  }

  /** The merge could not be made: the source fails with `integration_error`; a salvage is aborted. */
  failIntegration(source: WorkspaceId): Promise<Result<IntegrationOutcome | SalvageOutcome>> {
    return this.#ask({ type: 'fail_integration', source })
  }

  /** Opens the integration of what a failed child left (W-INT-18); conflicts are reported and resolved as in any other. */
  salvage(source: WorkspaceId, options: SalvageOptions = {}): Promise<Result<Salvaged>> {
    const pick = (run: Run) => options.checkpoint ?? salvageCandidate(run, source)
    return this.#withEvidence(source, { type: 'salvage', source, ...options }, pick)
  }

  /** It is usable: merged, with what the integrator made of it. */
  mergeSalvage(source: WorkspaceId, result?: unknown): Promise<Result<SalvageOutcome>> {
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    const pick = (run: Run) => openSalvage(run, source)?.checkpoint
    return this.#withEvidence(source, { type: 'merge_salvage', source, result: copy }, pick)
  }

  /** It is not usable: nothing is merged. */
  discardSalvage(source: WorkspaceId): Promise<Result<SalvageOutcome>> {
    return this.#ask({ type: 'discard_salvage', source })
  }

  /** The record of a child's newest integration, open or ended, with its conflicts (W-INT-21); null where none was begun. */
  async integration(source: WorkspaceId): Promise<Result<IntegrationView | null>> {
    const allowed = await this.#mayRead('workspace', source)
    if (!allowed.ok) return allowed
    return this.run.tryRead(run => viewIntegration(run, run.workspaces.get(source)!))
  }

  /** What the integrator of an `evaluated` merge made of it: the target's merged state. */
  async readResult(source: WorkspaceId): Promise<Result<unknown>> {
    const record = await this.integration(source)
    if (!record.ok) return record
    const ref = record.value?.result_ref ?? null
    if (ref === null) return notFound('result of the integration of', source)
    const stored = await readContent<ResultRecord>(this.run, 'result', ref, this.#keys)
    return stored.ok ? ok(stored.value.value) : stored
  }

  /** What the integrator of an `evaluated` merge found against it; the source becomes `conflicted`. */
  reportConflicts(
    source: WorkspaceId,
    conflicts: readonly ConflictReport[],
  ): Promise<Result<readonly string[]>> {
    return this.#ask({ type: 'report_conflicts', source, conflicts: plain(conflicts) })
  }

  /**
   * Settles one conflict: by the integrator itself, by asking its owner, or by sending the work back. `result` is what the integrator of
   * an `evaluated` merge has made of both sides; the newest one counts when the last conflict is settled.
   */
  resolveConflict(
    source: WorkspaceId,
    conflict: string,
    strategy: ResolutionStrategy,
    resolution: string,
    result?: unknown,
  ): Promise<Result<ResolutionOutcome | SalvageOutcome>> {
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    return this.#ask({ type: 'resolve_conflict', source, conflict, strategy, resolution, result: copy })
  }

  // Topology

  /** Questions about owners, causes, sight, rights and dependencies. */
  get topology(): Topology {
    return this.run.topology
  }

  /** Permanent: what was once visible stays visible. */
  grantVisibility(workspace: WorkspaceId, target: WorkspaceId, reason: string): Done {
    return this.#ask({ type: 'grant_visibility', workspace, target, reason })
  }

  changePriority(workspace: WorkspaceId, priority: WorkspacePriority): Done {
    return this.#ask({ type: 'change_priority', workspace, priority })
  }

  batchPriority(group: string, priority: WorkspacePriority): Promise<Result<BatchOutcome>> {
    return this.#ask({ type: 'batch_priority', group, priority })
  }

  batchAbort(group: string): Promise<Result<BatchAbort>> {
    return this.#ask({ type: 'batch_abort', group })
  }

  /** New limits, each above the one that stands. */
  raiseBudget(workspace: WorkspaceId, limits: Budget): Done {
    return this.#ask({ type: 'raise_budget', workspace, limits: plain(limits) })
  }

  transferOwnership(workspace: WorkspaceId, owner: string, reason?: string): Done {
    return this.#ask({ type: 'transfer_ownership', workspace, owner, reason })
  }

  /** Gives an orphan its one new parent. */
  reparent(workspace: WorkspaceId, parent: WorkspaceId): Done {
    return this.#ask({ type: 'reparent', workspace, parent })
  }

  // Highway

  /** Answers a gate that nobody answered in time and that fell to the coordinator. */
  answerGate(gate: GateId, action: 'approve' | 'reject'): Promise<Result<GateOutcome>> {
    return this.#ask({ type: 'answer_gate', gate, action })
  }

  /** Records that something systemic is wrong, and what the coordinator does about it (W-REC-05). */
  reportDegraded(report: DegradedReport): Done {
    return this.#ask({ type: 'report_degraded', ...report })
  }

  /** Always refused: the vocabulary of a run is fixed when it starts. */
  registerType(registration: unknown): Promise<Result<never>> {
    return this.#ask({ type: 'register_type', registration: plain(registration) })
  }

  #ask<T>(command: WithoutCaller<AgentCommand>): Promise<Result<T>> {
    const { workspace: caller, agent } = this
    return this.run.submit<T>({ ...command, caller, ...(agent !== undefined && { agent }) } as AgentCommand)
  }

  #mayRead(kind: Readable, id: string): Promise<Result<void>> {
    return this.#ask({ type: 'read', kind, id })
  }

  /** W-INT-05: the deliverable comes along, so that its proof can be checked; again where it became another one meanwhile. */
  async #withEvidence<T>(
    source: WorkspaceId,
    command: WithoutCaller<AgentCommand>,
    pick: (run: Run) => CheckpointId | undefined = run => run.workspaces.get(source)?.deliverable,
  ): Promise<Result<T>> {
    const { proofs } = this.run
    if (!proofs) return this.#ask(command)
    const ask = async (): Promise<Result<T>> => {
      const evidence = await evidenceOf(this.run, proofs, source, pick)
      if (!evidence.ok) return evidence
      return this.#ask({ ...command, evidence: evidence.value } as WithoutCaller<AgentCommand>)
    }
    const first = await ask()
    return !first.ok && first.error.details.reason === EVIDENCE_MISSING ? ask() : first
  }
}

/** How an integration is begun. */
export interface BeginOptions {
  /** `direct` where it is left out. */
  readonly strategy?: IntegrationStrategy
  /** Why this one comes now; recorded with its place in the order. */
  readonly basis?: string
}

/** What of a failed workspace is salvaged. */
export interface SalvageOptions {
  /** Left out: the newest final checkpoint, else the newest. */
  readonly checkpoint?: CheckpointId
  /** Only `evaluated` is available (W-INT-19). */
  readonly strategy?: IntegrationStrategy
  readonly basis?: string
}

export interface AcceptOptions extends BeginOptions {
  /** The synthesised result of an `evaluated` merge, as JSON. */
  readonly result?: unknown
  /** Under `layered`: ignore overlap with what was integrated before the source was created. */
  readonly baseAware?: boolean
}

function withStrategy(how: string | AcceptOptions): Omit<AcceptOptions, 'strategy'> & { strategy: string } {
  return typeof how === 'object' ? { ...how, strategy: how.strategy ?? 'direct' } : { strategy: how }
}

const noJson = invalidArgument('The result of a merge is a JSON value.')

export interface ConflictReport {
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
}

export interface DegradedReport {
  readonly reason: string
  readonly scope: DegradedScope
  readonly action: CoordinatorAction
  readonly workspaces?: readonly WorkspaceId[]
}

export interface MailOptions {
  readonly in_reply_to?: EnvelopeId
  readonly priority?: 'normal' | 'urgent' | 'blocking'
  readonly rights?: ListedRight[]
}
