// The handle of the agent that is bound to a workspace: one method for each thing that an agent can ask. Each role sees
// the part of it that the role may use (roles.ts), and the kernel checks again whatever the types already rule out.
import type { EnvelopeId, GateId, GraphId, Result, RightId, TaskId, WorkspaceId } from '@parley/core'
import type {
  Budget,
  CoordinatorAction,
  DegradedScope,
  ResolutionStrategy,
  WorkspacePriority,
} from '@parley/trail/events'
import type { ListedRight, PayloadDraft } from '../../envelope/envelope.ts'
import type { Sent } from '../../envelope/send.ts'
import type { Consulted } from '../../highway/consult.ts'
import type { GateOutcome, GuardedOutcome } from '../../highway/gate.ts'
import type { ResolutionOutcome } from '../../integration/conflict.ts'
import type {
  IntegrationDecision,
  IntegrationOutcome,
  Salvaged,
  SalvageOutcome,
} from '../../integration/integration.ts'
import { plain } from '../../plain.ts'
import type { SubmittedTasks } from '../../task/decide.ts'
import { dispatchable, unresolvable } from '../../task/graph.ts'
import type { TaskDraft } from '../../task/task.ts'
import type { BatchAbort, BatchOutcome } from '../../workspace/batch-abort.ts'
import type { Created, WorkspaceDraft } from '../../workspace/create.ts'
import { AgentCaller } from './agent-caller.ts'
import { AgentReader } from './agent-reader.ts'
import {
  type AcceptOptions,
  type BeginOptions,
  type ConflictReport,
  Integrator,
  type OverlapOptions,
  type SalvageOptions,
} from './integrator.ts'
import type { AgentOf, RoleName, Worker } from './roles.ts'
import type { RunHandle } from './run-handle.ts'
import type { Topology } from './topology.ts'
import type { GraphView, IntegrationView, RightView, TaskView } from './view.ts'

import { type AgentParts, WorkingAgent } from './working-agent.ts'

type Done = Promise<Result<void>>

export class AgentHandle extends WorkingAgent {
  readonly #run: RunHandle
  readonly #caller: AgentCaller
  readonly #reader: AgentReader
  readonly #integrator: Integrator

  constructor(run: RunHandle, workspace: WorkspaceId, role: string, agent?: string) {
    const caller = new AgentCaller(run, workspace, agent)
    const parts: AgentParts = { run, caller, reader: new AgentReader(caller), integrator: new Integrator(caller) }
    super(parts, workspace, role, agent)
    this.#run = run
    this.#caller = caller
    this.#reader = parts.reader
    this.#integrator = parts.integrator
    Object.freeze(this)
  }

  // Workspaces

  async createWorkspace<R extends RoleName, D extends boolean = false>(
    draft: WorkspaceDraft & { readonly role: R; readonly delegate?: D },
  ): Promise<Result<AgentOf<R, D>>> {
    const created = await this.#caller.ask<Created>({ type: 'create_workspace', draft: plain(draft) })
    if (!created.ok) return created
    const bound = await this.#run.bind(created.value.workspace, created.value.role, this.workspace)
    return bound as Result<AgentOf<R, D>>
  }

  /** Sends the directive of a workspace that was created with `dispatch: false`. */
  dispatch(workspace: WorkspaceId): Promise<Result<Sent>> {
    return this.#caller.ask({ type: 'dispatch', workspace })
  }

  directive(to: WorkspaceId, payload: PayloadDraft, options: MailOptions = {}): Promise<Result<Sent>> {
    return this.send({ ...options, to, type: 'directive', payload })
  }

  feedback(to: WorkspaceId, payload: PayloadDraft, options: MailOptions = {}): Promise<Result<Sent>> {
    return this.send({ ...options, to, type: 'feedback', payload })
  }

  /** `rejected`: a gate's fallback said no before; the workspace goes on. */
  abort(workspace: WorkspaceId): Promise<Result<GuardedOutcome>> {
    return this.#caller.ask({ type: 'abort', workspace })
  }

  suspend(workspace: WorkspaceId, reason: string): Done {
    return this.#caller.ask({ type: 'suspend', workspace, reason })
  }

  resume(workspace: WorkspaceId): Done {
    return this.#caller.ask({ type: 'resume', workspace })
  }

  /** Replaces a workspace's agent; answers with the new handle once it is bound, or why it could not be. */
  async migrate(workspace: WorkspaceId, newAgent: string, reason: string): Promise<Result<Worker>> {
    const begun = await this.#caller.ask({ type: 'migrate', workspace, newAgent, reason })
    return begun.ok ? this.#run.migrated(workspace) : (begun as Result<never>)
  }

  /** Asks a worker to finish within so many milliseconds; after that it fails with `graceful_termination_expired`. */
  terminate(workspace: WorkspaceId, gracePeriod: number, reason: string): Promise<Result<Sent>> {
    return this.#caller.ask({ type: 'terminate', workspace, gracePeriod, reason })
  }

  /** Asks the owner, who answers by mail to the workspace, by ending it, or by leaving it to the coordinator. */
  consult(workspace: WorkspaceId, reason: string): Promise<Result<Consulted>> {
    return this.#caller.ask({ type: 'consult', workspace, reason })
  }

  /** Always refused: authority, delegation and visibility never shrink or change. */
  setAuthority(workspace: WorkspaceId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'set_authority', workspace })
  }

  setDelegate(workspace: WorkspaceId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'set_delegate', workspace })
  }

  revokeVisibility(workspace: WorkspaceId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'revoke_visibility', workspace })
  }

  // Port rights

  grantRight(type: 'send' | 'send_once', holder: WorkspaceId, target: WorkspaceId): Promise<Result<RightId>> {
    return this.#caller.ask({ type: 'grant_right', right: type, holder, target })
  }

  revokeRight(right: RightId, reason: string): Done {
    return this.#caller.ask({ type: 'revoke_right', right, reason })
  }

  rights(): Promise<Result<readonly RightView[]>> {
    return this.#reader.rights()
  }

  // Tasks

  /** `causedBy`: the injected envelope that the graph answers; whoever sent it is asked about its tasks. */
  submitGraph(tasks: readonly TaskDraft[], causedBy?: EnvelopeId): Promise<Result<SubmittedTasks>> {
    return this.#caller.ask({ type: 'submit_graph', tasks: plain(tasks), causedBy })
  }

  addTasks(graph: GraphId, tasks: readonly TaskDraft[]): Promise<Result<SubmittedTasks>> {
    return this.#caller.ask({ type: 'add_tasks', graph, tasks: plain(tasks) })
  }

  retryTask(task: TaskId, override = false): Done {
    return this.#caller.ask({ type: 'retry_task', task, override })
  }

  /** Aborts whoever works on it. `rejected`: a gate's fallback said no to that before; nothing was cancelled. */
  cancelTask(task: TaskId): Promise<Result<GuardedOutcome>> {
    return this.#caller.ask({ type: 'cancel_task', task })
  }

  /** Always refused: edges never change, and tasks are never removed. */
  changeTask(task: TaskId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'change_task', task })
  }

  removeTask(task: TaskId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'remove_task', task })
  }

  /** Tasks that can be bound now, the most urgent first. */
  dispatchable(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#reader.tasks(graph, dispatchable)
  }

  /** Tasks that hang on a cancelled one. */
  unresolvable(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#reader.tasks(graph, unresolvable)
  }

  task(id: TaskId): Promise<Result<TaskView>> {
    return this.#reader.task(id)
  }

  graph(id: GraphId): Promise<Result<GraphView>> {
    return this.#reader.graph(id)
  }

  // Integration

  /** Opens the integration of a child; waits while another one into the same target is open. */
  beginIntegration(source: WorkspaceId, how: string | BeginOptions = 'direct'): Done {
    return this.#integrator.begin(source, how)
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
    return this.#integrator.decide(source, decision, how)
  }

  /** The merge could not be made: the source fails with `integration_error`; a salvage is aborted. */
  failIntegration(source: WorkspaceId): Promise<Result<IntegrationOutcome | SalvageOutcome>> {
    return this.#caller.ask({ type: 'fail_integration', source })
  }

  /** Opens the integration of what a failed child left (W-INT-18). */
  salvage(source: WorkspaceId, options: SalvageOptions = {}): Promise<Result<Salvaged>> {
    return this.#integrator.salvage(source, options)
  }

  /** Usable: merges it with the integrator's result; overlap with earlier work is resolved first. */
  mergeSalvage(source: WorkspaceId, result?: unknown, options: OverlapOptions = {}): Promise<Result<SalvageOutcome>> {
    return this.#integrator.mergeSalvage(source, result, options)
  }

  discardSalvage(source: WorkspaceId): Promise<Result<SalvageOutcome>> {
    return this.#caller.ask({ type: 'discard_salvage', source })
  }

  /** W-INT-21: a child's newest integration, open or ended; null where none was begun. */
  integration(source: WorkspaceId): Promise<Result<IntegrationView | null>> {
    return this.#reader.integration(source)
  }

  /** What the integrator of an `evaluated` merge made of it: the target's merged state. */
  readResult(source: WorkspaceId): Promise<Result<unknown>> {
    return this.#reader.result(source)
  }

  /** Conflicts of an `evaluated` merge. Answers the ids: the reported ones, then overlaps that none of them names. */
  reportConflicts(
    source: WorkspaceId,
    conflicts: readonly ConflictReport[],
    options: OverlapOptions = {},
  ): Promise<Result<readonly string[]>> {
    return this.#caller.ask({ type: 'report_conflicts', source, conflicts: plain(conflicts), ...options })
  }

  /** `result` is the integrator's merge of both sides; the newest counts when the last conflict is settled. */
  resolveConflict(
    source: WorkspaceId,
    conflict: string,
    strategy: ResolutionStrategy,
    resolution: string,
    result?: unknown,
  ): Promise<Result<ResolutionOutcome | SalvageOutcome>> {
    return this.#integrator.resolve({ source, conflict, strategy, resolution }, result)
  }

  // Topology

  /** Questions about owners, causes, sight, rights and dependencies, as far as this agent sees. */
  get topology(): Topology {
    return this.#reader.topology
  }

  /** Permanent: what was once visible stays visible. */
  grantVisibility(workspace: WorkspaceId, target: WorkspaceId, reason: string): Done {
    return this.#caller.ask({ type: 'grant_visibility', workspace, target, reason })
  }

  changePriority(workspace: WorkspaceId, priority: WorkspacePriority): Done {
    return this.#caller.ask({ type: 'change_priority', workspace, priority })
  }

  batchPriority(group: string, priority: WorkspacePriority): Promise<Result<BatchOutcome>> {
    return this.#caller.ask({ type: 'batch_priority', group, priority })
  }

  batchAbort(group: string): Promise<Result<BatchAbort>> {
    return this.#caller.ask({ type: 'batch_abort', group })
  }

  raiseBudget(workspace: WorkspaceId, limits: Budget): Done {
    return this.#caller.ask({ type: 'raise_budget', workspace, limits: plain(limits) })
  }

  transferOwnership(workspace: WorkspaceId, owner: string, reason?: string): Done {
    return this.#caller.ask({ type: 'transfer_ownership', workspace, owner, reason })
  }

  /** Gives an orphan its one new parent. */
  reparent(workspace: WorkspaceId, parent: WorkspaceId): Done {
    return this.#caller.ask({ type: 'reparent', workspace, parent })
  }

  // Highway

  /** Answers a gate that nobody answered in time and that fell to the coordinator. */
  answerGate(gate: GateId, action: 'approve' | 'reject'): Promise<Result<GateOutcome>> {
    return this.#caller.ask({ type: 'answer_gate', gate, action })
  }

  /** Records that something systemic is wrong, and what the coordinator does about it (W-REC-05). */
  reportDegraded(report: DegradedReport): Done {
    return this.#caller.ask({ type: 'report_degraded', ...report })
  }

  /** Always refused: the vocabulary of a run is fixed when it starts. */
  registerType(registration: unknown): Promise<Result<never>> {
    return this.#caller.ask({ type: 'register_type', registration: plain(registration) })
  }
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
