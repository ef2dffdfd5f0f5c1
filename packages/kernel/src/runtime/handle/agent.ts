// The handle of the agent that is bound to a workspace: one method for each thing that an agent can ask. Each role sees
// the part of it that the role may use (roles.ts), and the kernel checks again whatever the types already rule out.
import type { EnvelopeId, GateId, GraphId, Result, RightId, TaskId, WorkspaceId } from '@parley/core'
import type { Budget, EventBody, WorkspacePriority } from '@parley/trail/events'
import type { ListedRight, PayloadDraft } from '../../envelope/envelope.ts'
import type { Sent } from '../../envelope/send.ts'
import type { Consulted } from '../../highway/escalation.ts'
import type { GateOutcome, GuardedOutcome } from '../../highway/gate.ts'
import { plain } from '../../plain.ts'
import type { SubmittedTasks } from '../../task/decide.ts'
import type { TaskDraft } from '../../task/task.ts'
import type { BatchAbort, BatchOutcome } from '../../workspace/batch-abort.ts'
import type { Created, WorkspaceDraft } from '../../workspace/create.ts'
import { AgentCaller } from './agent-caller.ts'
import { IntegratingAgent } from './integrator.ts'
import type { AgentOf, RoleName, Worker } from './roles.ts'
import type { RunHandle } from './run-handle.ts'

type Done = Promise<Result<void>>

export class AgentHandle extends IntegratingAgent {
  readonly #run: RunHandle
  readonly #caller: AgentCaller

  constructor(run: RunHandle, workspace: WorkspaceId, role: string, agent?: string) {
    const caller = new AgentCaller(run, workspace, agent)
    super(caller, role)
    this.#run = run
    this.#caller = caller
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

  // Topology

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

  reparent(workspace: WorkspaceId, parent: WorkspaceId): Done {
    return this.#caller.ask({ type: 'reparent', workspace, parent })
  }

  // Highway

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

interface DegradedReport {
  readonly reason: string
  readonly scope: EventBody<'system_degraded'>['scope']
  readonly action: EventBody<'system_degraded'>['coordinator_action']
  readonly workspaces?: readonly WorkspaceId[]
}

interface MailOptions {
  readonly in_reply_to?: EnvelopeId
  readonly priority?: 'normal' | 'urgent' | 'blocking'
  readonly rights?: ListedRight[]
}
