// What every agent does in its own workspace: signals, mail, checkpoints, working memory, and reading. What it may do
// to others comes with its handle (agent.ts).
import type { CheckpointId, EnvelopeId, Result, RunId, WorkspaceId } from '@parley/core'
import type { Aggregated, QueryPage, TrailAggregate, TrailQuery } from '@parley/trail'
import type { BudgetLeft } from '../../budget/remaining.ts'
import type { MeterView } from '../../budget/view.ts'
import type { CheckpointDraft, CheckpointRecord } from '../../checkpoint/checkpoint.ts'
import type { CheckpointCreated } from '../../checkpoint/decide.ts'
import type { EnvelopeDraft, EnvelopeRecord } from '../../envelope/envelope.ts'
import { sealDraft } from '../../envelope/proof.ts'
import type { Sent } from '../../envelope/send.ts'
import { plain } from '../../plain.ts'
import { invalidArgument } from '../../refusal.ts'
import type { SignalDraft, SignalOutcome } from '../../signal/decide.ts'
import type { Notice } from '../notice.ts'
import type { AgentCaller } from './agent-caller.ts'
import type { AgentReader, FoundArtifact, FoundEnvelope } from './agent-reader.ts'
import type { Integrator } from './integrator.ts'
import type { RunHandle } from './run-handle.ts'
import type { EnvelopeView, WorkspaceView } from './view.ts'

type Done = Promise<Result<void>>

export interface AgentParts {
  readonly run: RunHandle
  readonly caller: AgentCaller
  readonly reader: AgentReader
  readonly integrator: Integrator
}

/** §3.2: leads to nothing that acts in another's name; frozen, since proofs name `workspace`. */
export abstract class WorkingAgent {
  readonly run: RunId
  readonly workspace: WorkspaceId
  readonly role: string
  /** Refused once another agent is bound (W-SEC-03). Undefined for the root, which keeps its own. */
  readonly agent: string | undefined
  readonly #run: RunHandle
  readonly #caller: AgentCaller
  readonly #reader: AgentReader
  readonly #integrator: Integrator

  constructor({ run, caller, reader, integrator }: AgentParts, workspace: WorkspaceId, role: string, agent?: string) {
    this.run = run.id
    this.#run = run
    this.workspace = workspace
    this.role = role
    this.agent = agent
    this.#caller = caller
    this.#reader = reader
    this.#integrator = integrator
  }

  // Signals

  emit(draft: SignalDraft): Promise<Result<SignalOutcome>> {
    const copy = plain(draft) ?? ({} as SignalDraft)
    if (copy.type === 'integrate' && typeof copy.ref === 'string')
      return this.#integrator.emit(copy.ref as WorkspaceId, copy)
    return this.#caller.ask({ type: 'emit', draft: copy })
  }

  started(): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'started' })
  }

  blocked(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'blocked', reason })
  }

  /** Answers with the final checkpoint that will be integrated, or null where there is none. */
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
    return this.#caller.ask({ type: 'send', draft: plain(draft) })
  }

  /** The draft with this agent's proof: it cannot change unnoticed on the way to the runtime (W-ENV-05). */
  seal(draft: EnvelopeDraft): Result<EnvelopeDraft> {
    const agent = this.#caller.identity()
    if (!agent.ok) return agent
    return sealDraft(this.#run.proofs, { from: this.workspace, agent: agent.value }, plain(draft))
  }

  consume(): Promise<Result<EnvelopeRecord | undefined>> {
    return this.#caller.ask({ type: 'consume' })
  }

  receive(signal?: AbortSignal): Promise<Result<EnvelopeRecord>> {
    return this.#caller.receive(signal)
  }

  /** Notices for this agent: mail, signals of its children, states, what could not be delivered. */
  subscribe(listener: (notice: Notice) => void): () => void {
    return this.#caller.subscribe(listener)
  }

  // Checkpoints and working memory

  checkpoint(draft: CheckpointDraft): Promise<Result<CheckpointCreated>> {
    return this.#caller.ask({ type: 'checkpoint', draft: plain(draft) })
  }

  changeCheckpoint(checkpoint: CheckpointId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'change_checkpoint', checkpoint })
  }

  /** Writes one key; another workspace's memory is refused and the attempt is on record. */
  writeMemory(key: string, value: unknown, workspace?: WorkspaceId): Done {
    const copy = plain(value)
    if (copy === undefined) return Promise.resolve(invalidArgument('Working memory takes JSON values.'))
    return this.#caller.ask({ type: 'write_memory', workspace, key, value: copy })
  }

  deleteMemory(key: string): Done {
    return this.#caller.ask({ type: 'write_memory', key })
  }

  // Reading

  /** A workspace's record and components; one's own without an argument. */
  look(workspace: WorkspaceId = this.workspace): Promise<Result<WorkspaceView>> {
    return this.#reader.workspace(workspace)
  }

  /** What this agent's workspace used so far, by the runtime's own measure (W-BUDGET-03). */
  meter(): Promise<Result<MeterView>> {
    return this.#reader.meter()
  }

  remaining(): Promise<Result<BudgetLeft>> {
    return this.#run.remaining(this.workspace)
  }

  readMemory(key: string, workspace: WorkspaceId = this.workspace): Promise<Result<unknown>> {
    return this.#reader.memory(key, workspace)
  }

  readCheckpoint(id: CheckpointId): Promise<Result<CheckpointRecord>> {
    return this.#reader.checkpoint(id)
  }

  /** W-CP-11: an artifact with the checkpoint that it belongs to. */
  readArtifact(id: string): Promise<Result<FoundArtifact>> {
    return this.#reader.artifact(id)
  }

  readEnvelope(id: EnvelopeId): Promise<Result<FoundEnvelope>> {
    return this.#reader.envelope(id)
  }

  /** Component 3 of a workspace: what its creator gave it to know. */
  readContext(workspace: WorkspaceId = this.workspace): Promise<Result<unknown>> {
    return this.#reader.context(workspace)
  }

  /** W-TOPO-CHAN-08: the envelope that began a thread, and all that answer it, directly or not. */
  thread(id: EnvelopeId): Promise<Result<readonly EnvelopeView[]>> {
    return this.#reader.thread(id)
  }

  /** The trail, as far as this agent may see it (W-TRAIL-19). */
  query(query: TrailQuery): Promise<Result<QueryPage>> {
    return this.#reader.query(query)
  }

  /** Counts, groups and sums over the same: failures by reason, by group (W-REC-04). */
  aggregate(query: TrailAggregate): Promise<Result<Aggregated>> {
    return this.#reader.aggregate(query)
  }
}
