// A run as hosts hold it; once it has ended, reads bring its state back and commands answer `invalid_state`.
import {
  asParleyError,
  type EntryId,
  err,
  type GateId,
  type ObjectId,
  ok,
  ParleyError,
  type Result,
  type RunId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type {
  Aggregated,
  Entry,
  FollowedPage,
  ProposedEntry,
  QueryPage,
  ReadableRun,
  TrailAggregate,
  TrailFilter,
  TrailObject,
  TrailQuery,
} from '@parley/trail'
import { bodyLimits } from '@parley/trail/events'
import { clip, type UserDirectory } from '../../batch.ts'
import type { Usage } from '../../budget/decide.ts'
import { type BudgetLeft, budgetLeft } from '../../budget/remaining.ts'
import type { Command } from '../../command.ts'
import type { GateOutcome } from '../../highway/gate.ts'
import { type EscalationView, type GateView, viewEscalations } from '../../highway/view.ts'
import { forgedEntry } from '../../integrity/object-proof.ts'
import { type ProofReport, proofReport } from '../../integrity/proof-report.ts'
import type { Proofs } from '../../integrity/proofs.ts'
import { STATE_RULES } from '../../lifecycle/states.ts'
import { invalidState, refusal } from '../../refusal.ts'
import type { Run } from '../../run/run.ts'
import { agentOf, ended } from '../../workspace/workspace.ts'
import type { Notice } from '../notice.ts'
import type { RecordedReads } from '../recorded-reads.ts'
import { AgentHandle } from './agent.ts'
import type { AgentKeys } from './agent-keys.ts'
import { readGate, readGates, settled } from './gates.ts'
import type { Coordinator, Delegate, Observer, Worker } from './roles.ts'
import { Topology } from './topology.ts'

export interface RunHost {
  submit<T>(run: RunId, command: Command): Promise<Result<T>>
  read<T>(run: RunId, reader: (state: Run) => T): Promise<T>
  now(): Ticks
  subscribe(run: RunId, listener: (notice: Notice) => void): () => void
  trail(run: RunId): ReadableRun
  /** Hands an agent to whoever runs it; throws if that fails (W-WS-06 step 5). */
  bindAgent(agent: AgentHandle): void | Promise<void>
  /** Who speaks for the workspace now (W-SEC-03); undefined where the run is not at work. */
  agentOf(run: RunId, workspace: WorkspaceId): string | undefined
  /** What becomes of a migration that has begun (W-MIG-05). */
  migrated(workspace: WorkspaceId): Promise<Result<AgentHandle>>
  readonly proofs: Proofs | undefined
  /** The keys that the agent of a workspace was given; undefined where workspaces have none of their own (W-SEC-13). */
  agentKeys(run: RunId, workspace: WorkspaceId): AgentKeys | undefined
  /** Who is known; undefined where everybody who is let in may do everything. */
  readonly directory: UserDirectory | undefined
  houses(): Promise<readonly ReadableRun[]>
  readonly reads: Pick<RecordedReads, 'record' | 'query' | 'aggregate'>
}

export class RunHandle {
  readonly id: RunId
  readonly coordinator: Coordinator
  readonly topology: Topology
  readonly #host: RunHost

  constructor(host: RunHost, id: RunId, root: WorkspaceId) {
    this.#host = host
    this.id = id
    this.coordinator = new AgentHandle(this, root, 'coordinator')
    this.topology = new Topology(this)
  }

  worker(workspace: WorkspaceId): Promise<Result<Worker>> {
    return this.#agent(workspace)
  }

  observer(workspace: WorkspaceId): Promise<Result<Observer>> {
    return this.#agent(workspace)
  }

  delegate(workspace: WorkspaceId): Promise<Result<Delegate>> {
    return this.#agent(workspace)
  }

  /** The handle for the agent that the host authenticated as `identity` (W-SEC-03, -04); a mismatch is on record. */
  async attach(workspace: WorkspaceId, identity: string): Promise<Result<AgentHandle>> {
    const found = await this.#agent(workspace)
    if (!found.ok) return found
    const claimed = await this.tryRead(run => ({
      bound: run.workspaces.get(workspace)?.agent,
      known: run.agents.has(identity),
    }))
    if (!claimed.ok) return claimed
    const { bound, known } = claimed.value
    if (bound === identity) return found
    const coordinator = workspace === this.coordinator.workspace
    const claim = coordinator ? 'second_coordinator' : known ? 'invalid_credential' : 'unknown_identity'
    const body = {
      entity: clip(identity.toWellFormed(), bodyLimits.nameLength),
      context: coordinator ? 'coordinator_attach' : 'agent_attach',
      reason: claim,
      source: workspace,
    }
    const recorded = await this.record([
      { event_type: 'authentication_failed', workspace: null, actor: 'protocol', body },
    ])
    if (!recorded.ok) return recorded
    return refusal('permission_denied', `${body.entity} is not the agent of ${workspace}.`, { reason: claim })
  }

  async #agent(id: WorkspaceId): Promise<Result<AgentHandle>> {
    const found = await this.tryRead(run => run.workspaces.get(id))
    if (!found.ok) return found
    if (found.value) return ok(new AgentHandle(this, id, found.value.role, agentOf(found.value)))
    return refusal('not_found', `There is no workspace ${id}.`)
  }

  /** Binds the agent, says `ready` for it, sends its directive (W-WS-06 steps 5 and 6, W-WS-07). */
  async bind(workspace: WorkspaceId, role: string, creator: WorkspaceId): Promise<Result<AgentHandle>> {
    const identity = await this.tryRead(run => {
      const state = run.workspaces.get(workspace)
      return state && agentOf(state)
    })
    if (!identity.ok) return identity
    const agent = new AgentHandle(this, workspace, role, identity.value)
    try {
      const binding = this.#host.bindAgent(agent)
      if (binding) await binding
    } catch (cause) {
      const failed = await this.submit({ type: 'bind_failed', workspace })
      if (!failed.ok) return failed
      const message = `The agent of ${workspace} could not be bound: ${asParleyError(cause).message}`
      return refusal('rejected', message, { reason: 'creation_error', workspace })
    }
    const waiting = await this.tryRead(run => {
      const state = run.workspaces.get(workspace)
      const by = run.workspaces.get(creator)
      return {
        // A creator that may not act now asked for nothing now: there is nothing to deny (W-ROLE-04).
        acts: by !== undefined && (by.parent === null || by.status === 'active'),
        // W-SIG-05: who was paused before it could say so says nothing now either.
        ready: !state || state.ready || STATE_RULES[state.status].signals === 'refused',
        dispatch: state?.directiveDraft?.dispatch ?? false,
        over: !state || ended(state),
      }
    })
    if (!waiting.ok) return waiting
    const { ready: isReady, dispatch, over, acts } = waiting.value
    if (over) return ok(agent)
    const [ready, sent] = await Promise.all([
      isReady ? undefined : this.submit({ type: 'emit', caller: workspace, draft: { type: 'ready' } }),
      dispatch && acts ? this.submit({ type: 'dispatch', caller: creator, workspace }) : undefined,
    ])
    const unsent = dispatch && !acts ? invalidState(`${creator} is not active: it sends no directive.`) : sent
    // The workspace exists all the same: the refusal says which.
    for (const result of [ready, unsent]) if (result && !result.ok) return err(withDetails(result.error, { workspace }))
    return ok(agent)
  }

  /** Ends the run: every other workspace is terminal, and the root is active (W-LIFE-13). */
  close(): Promise<Result<void>> {
    return this.submit({ type: 'close' })
  }

  /** Ends the run now: whatever is at work fails (W-LIFE-14). */
  stop(): Promise<Result<void>> {
    return this.submit({ type: 'stop' })
  }

  agentOf(workspace: WorkspaceId): string | undefined {
    return this.#host.agentOf(this.id, workspace)
  }

  migrated(workspace: WorkspaceId): Promise<Result<AgentHandle>> {
    return this.#host.migrated(workspace)
  }

  /** What a workspace used since the last report, by the runtime's own measure (W-BUDGET-03). */
  meter(workspace: WorkspaceId, usage: Omit<Usage, 'workspace'>): Promise<Result<void>> {
    return this.submit({ type: 'meter', workspace, ...usage })
  }

  async remaining(workspace: WorkspaceId): Promise<Result<BudgetLeft>> {
    const left = await this.tryRead(run => {
      const state = run.workspaces.get(workspace)
      return state && budgetLeft(state, this.now())
    })
    if (!left.ok) return left
    return left.value ? ok(left.value) : refusal('not_found', `There is no workspace ${workspace}.`)
  }

  /** The runtime's time, by which all durations are measured (W-CLOCK-04). */
  now(): Ticks {
    return this.#host.now()
  }

  get proofs(): Proofs | undefined {
    return this.#host.proofs
  }

  /** Everything that proves one recorded act, checked anew (W-SEC-17); by the id of its entry or by its `seq`. */
  proof(entry: EntryId | number): Promise<Result<ProofReport>> {
    const source = {
      trail: this.#host.trail(this.id),
      proofs: this.proofs,
      houses: () => this.#host.houses(),
    }
    return proofReport(source, entry)
  }

  escalations(): Promise<readonly EscalationView[]> {
    return this.read(run => viewEscalations(run, this.#host.directory))
  }

  gates(): Promise<readonly GateView[]> {
    return readGates(this, this.#host.directory)
  }

  gate(id: GateId): Promise<Result<GateView>> {
    return readGate(this, this.#host.directory, id)
  }

  settled(gate: GateId, signal?: AbortSignal): Promise<Result<GateOutcome>> {
    return settled(this, gate, signal)
  }

  record(entries: readonly ProposedEntry[]): Promise<Result<void>> {
    return this.#host.reads.record(this.id, entries)
  }

  submit<T>(command: Command): Promise<Result<T>> {
    return this.#host.submit(this.id, command)
  }

  read<T>(reader: (state: Run) => T): Promise<T> {
    return this.#host.read(this.id, reader)
  }

  /** For callers that answer with values: a finished run is read from its trail, which may be away. */
  async tryRead<T>(reader: (state: Run) => T): Promise<Result<T>> {
    try {
      return ok(await this.read(reader))
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    return this.#host.subscribe(this.id, listener)
  }

  query(query: TrailQuery, workspace: WorkspaceId): Promise<Result<QueryPage>> {
    return this.#host.reads.query(this.id, query, workspace)
  }

  aggregate(query: TrailAggregate, workspace: WorkspaceId): Promise<Result<Aggregated>> {
    return this.#host.reads.aggregate(this.id, query, workspace)
  }

  watch(filter: TrailFilter & { readonly after?: number } = {}, signal?: AbortSignal): AsyncGenerator<QueryPage> {
    return this.#host.trail(this.id).watch(filter, { kind: 'runtime' }, signal)
  }

  /** The same of all entries, without their places in the chain: of a run at work they need not be looked up. */
  follow(after: number, signal?: AbortSignal): AsyncGenerator<FollowedPage> {
    return this.#host.trail(this.id).follow(after, signal)
  }

  /** A small object that became durable a moment ago, as it was recorded. */
  recent(id: ObjectId): TrailObject | undefined {
    return this.#host.trail(this.id).recent.object(id)
  }

  async entries(): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for await (const record of this.#host.trail(this.id).replay({ entriesOnly: true }))
      if ('event_type' in record) entries.push(record)
    return entries
  }

  /** The keys that a workspace's agent was given (W-SEC-13). */
  agentKeys(workspace: WorkspaceId): AgentKeys | undefined {
    return this.#host.agentKeys(this.id, workspace)
  }

  /** With `keys`, opened with nothing else. Content changed at rest is refused and recorded unless `shown`. */
  async object(
    id: ObjectId,
    keys?: AgentKeys,
    forged: 'refused' | 'shown' = 'refused',
  ): Promise<Result<TrailObject | undefined>> {
    try {
      return ok(await this.#host.trail(this.id).object(id, keys, forged))
    } catch (cause) {
      const error = asParleyError(cause)
      if (error.code !== 'content_damaged') return err(error)
      const recorded = await this.record([forgedEntry(id)])
      return recorded.ok ? err(error) : recorded
    }
  }
}

function withDetails(error: ParleyError, details: Readonly<Record<string, unknown>>): ParleyError {
  const { code, message, retryable } = error
  return new ParleyError(code, message, { retryable, details: { ...error.details, ...details }, cause: error })
}
