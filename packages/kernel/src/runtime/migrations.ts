// Migrations at work (W-MIG-05): the host prepares the new agent, then the swap or the failure is submitted. Outcomes
// are read off the trail, whoever ended the migration.
import {
  asParleyError,
  type Clock,
  type Err,
  ok,
  type ParleyError,
  type Result,
  type RunId,
  type WorkspaceId,
} from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { RuntimeCommand } from '../command.ts'
import { kernelDefaults } from '../limits.ts'
import { invalidState, refusal } from '../refusal.ts'
import { Pauses } from './actor/outage.ts'
import { AgentHandle } from './handle/agent.ts'
import type { RunHandle } from './handle/run-handle.ts'
import { viewWorkspace, type WorkspaceView } from './handle/view.ts'

/** What the host is told of an agent that it is to prepare (W-MIG-05 step 3). */
export interface MigrationRequest {
  readonly workspace: WorkspaceId
  readonly oldAgent: string
  readonly newAgent: string
  readonly reason: string
  /** Refused while the old agent is bound: until the swap, which a `state` notice announces. */
  readonly agent: AgentHandle
  /** The frozen workspace (step 2): all of it is still there after the swap, and nothing of it changes before. */
  readonly snapshot: WorkspaceView
  readonly signal: AbortSignal
}

/** Resolves once the new agent can take over; what it throws fails the workspace with `migration_error` (W-MIG-06). */
export type Prepare = (request: MigrationRequest) => void | Promise<void>

interface MigrationHost {
  readonly clock: Clock
  readonly prepare: Prepare
  handle(run: RunId): Promise<RunHandle | undefined>
  submit<T>(run: RunId, command: RuntimeCommand): Promise<Result<T>>
  onFault(cause: unknown): void
}

interface Open {
  readonly run: RunId
  readonly workspace: WorkspaceId
  readonly started: EventBody<'migration_started'>
  readonly abort: AbortController
  readonly outcome: PromiseWithResolvers<Result<AgentHandle>>
  agent: AgentHandle | undefined
}

export class Migrations {
  readonly #host: MigrationHost
  readonly #pauses: Pauses
  readonly #open = new Map<WorkspaceId, Open>()

  constructor(host: MigrationHost) {
    this.#host = host
    this.#pauses = new Pauses(host.clock)
  }

  follow(run: RunId, { event_type, body }: EntryDraft): void {
    if (event_type === 'migration_started') this.#begin(run, body as EventBody<'migration_started'>)
    else if (event_type === 'workspace_state_changed') this.#leave(body as EventBody<'workspace_state_changed'>)
  }

  outcome(workspace: WorkspaceId): Promise<Result<AgentHandle>> {
    const open = this.#open.get(workspace)
    return open?.outcome.promise ?? Promise.resolve(invalidState(`${workspace} is not being migrated.`))
  }

  drop(run: RunId): void {
    for (const open of this.#open.values())
      if (open.run === run) this.#end(open, invalidState(`The run ${run} has ended.`))
  }

  /** Nothing is prepared any more; recovery deals with what is open (W-REC-24). */
  stop(): void {
    this.#pauses.end()
    for (const open of this.#open.values()) this.#end(open, refusal('trail_unavailable', 'The runtime is closed.'))
  }

  #begin(run: RunId, started: EventBody<'migration_started'>): void {
    const workspace = started.workspace_id as WorkspaceId
    const outcome = Promise.withResolvers<Result<AgentHandle>>()
    const open = { run, workspace, started, abort: new AbortController(), outcome, agent: undefined }
    this.#open.set(workspace, open)
    void this.#carryOut(open).catch(cause => this.#host.onFault(cause))
  }

  async #carryOut(open: Open): Promise<void> {
    const { workspace, started, abort } = open
    const target = { workspace, agent: started.new_agent } as const
    let error = await this.#prepare(open)
    if (error === undefined) {
      const completed = await this.#submit(open, { type: 'complete_migration', ...target })
      if (completed.ok) return
      // The workspace must not stay frozen for something that went wrong here.
      error = completed.error.message
    }
    if (abort.signal.aborted) return
    const failed = await this.#submit(open, { type: 'fail_migration', ...target, error })
    // The run takes nothing any more: nobody is to wait for it.
    if (!failed.ok) this.#end(open, failed)
  }

  async #prepare(open: Open): Promise<string | undefined> {
    const { workspace, started } = open
    try {
      const run = await this.#host.handle(open.run)
      const snapshot = await run?.read(state => viewWorkspace(state, state.workspaces.get(workspace)!))
      if (!run || !snapshot || open.abort.signal.aborted) return undefined
      open.agent = new AgentHandle(run, workspace, snapshot.role, started.new_agent)
      await this.#host.prepare({
        workspace,
        oldAgent: started.old_agent,
        newAgent: started.new_agent,
        reason: started.reason,
        agent: open.agent,
        snapshot,
        signal: open.abort.signal,
      })
      return undefined
    } catch (cause) {
      return asParleyError(cause).message || 'unknown'
    }
  }

  async #submit(open: Open, command: RuntimeCommand): Promise<Result<void>> {
    for (;;) {
      const answer = await this.#host.submit<void>(open.run, command)
      if (answer.ok || !answer.error.retryable || open.abort.signal.aborted) return answer
      await this.#pauses.wait(kernelDefaults.degradedRetry)
    }
  }

  #leave({ workspace_id, from_state, trigger, reason }: EventBody<'workspace_state_changed'>): void {
    const open = from_state === 'migrating' ? this.#open.get(workspace_id as WorkspaceId) : undefined
    if (!open) return
    if (trigger === 'migration_succeeded' && open.agent) {
      this.#open.delete(open.workspace)
      open.outcome.resolve(ok(open.agent))
      return
    }
    const { workspace, started } = open
    const message = `${workspace} failed before ${started.new_agent} could take it over: ${reason ?? trigger}.`
    this.#end(open, refusal('rejected', message, { reason: trigger, workspace }))
  }

  #end(open: Open, why: Err<ParleyError>): void {
    if (this.#open.get(open.workspace) === open) this.#open.delete(open.workspace)
    open.abort.abort(why.error)
    open.outcome.resolve(why)
  }
}
