// What an agent reads of its run: once the kernel permits it (W-WS-15), committed state or stored content, the latter
// opened with nothing but the agent's own keys (W-SEC-13).
import {
  type CheckpointId,
  type EnvelopeId,
  type GraphId,
  ok,
  type Result,
  type RunId,
  type TaskId,
  type WorkspaceId,
} from '@parley/core'
import type { Aggregated, QueryPage, TrailAggregate, TrailQuery } from '@parley/trail'
import type { BudgetLeft, MeterView } from '../../budget/remaining.ts'
import type { CheckpointRecord } from '../../checkpoint/checkpoint.ts'
import type { EnvelopeRecord } from '../../envelope/envelope.ts'
import { integrationOf, type ResultRecord } from '../../integration/integration.ts'
import type { MemoryRecord } from '../../objects.ts'
import { notFound } from '../../refusal.ts'
import { knownWorkspace, type Run } from '../../run/run.ts'
import { dispatchable, seesTask, unresolvable } from '../../task/graph.ts'
import type { Task } from '../../task/task.ts'
import { type Readable, readsEnvelope } from '../../workspace/access.ts'
import { sees, type Workspace } from '../../workspace/workspace.ts'
import type { AgentCaller } from './agent-caller.ts'
import type { AgentKeys } from './agent-keys.ts'
import { readCheckpointContent, readContent, readEnvelopeContent } from './content.ts'
import type { RunHandle } from './run-handle.ts'
import { Topology } from './topology.ts'
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

interface FoundArtifact {
  readonly checkpoint: CheckpointId
  readonly artifact: Readonly<Record<string, unknown>>
}

/** An envelope with what it says; null of a rejected one, of which only the fact is kept. */
type FoundEnvelope = EnvelopeView & { readonly payload: EnvelopeRecord['payload'] | null }

/** §3.2: leads to nothing that acts in another's name; frozen, since proofs name `workspace`. */
export abstract class ReadingAgent {
  readonly run: RunId
  readonly workspace: WorkspaceId
  readonly role: string
  /** Refused once another agent is bound (W-SEC-03). Undefined for the root, which keeps its own. */
  readonly agent: string | undefined
  readonly #caller: AgentCaller
  readonly #run: RunHandle
  /** All that its reads are opened with, where workspaces have keys of their own. */
  readonly #keys: AgentKeys | undefined

  constructor(caller: AgentCaller, role: string) {
    this.run = caller.run.id
    this.workspace = caller.workspace
    this.role = role
    this.agent = caller.agent
    this.#caller = caller
    this.#run = caller.run
    this.#keys = caller.run.agentKeys(caller.workspace)
  }

  look(workspace: WorkspaceId = this.workspace): Promise<Result<WorkspaceView>> {
    return this.#show('workspace', workspace, run =>
      viewWorkspace(run, run.workspaces.get(workspace)!, this.#run.now()),
    )
  }

  /** What this agent's workspace used so far, by the runtime's own measure (W-BUDGET-03). */
  async meter(): Promise<Result<MeterView>> {
    const view = await this.look()
    return view.ok ? ok(view.value.meter) : view
  }

  remaining(): Promise<Result<BudgetLeft>> {
    return this.#run.remaining(this.workspace)
  }

  async readMemory(key: string, workspace: WorkspaceId = this.workspace): Promise<Result<unknown>> {
    const id = await this.#show('workspace', workspace, run => run.workspaces.get(workspace)?.memory?.get(key))
    if (!id.ok) return id
    if (id.value === undefined) return notFound('key', key)
    const stored = await readContent<MemoryRecord>(this.#run, 'memory', id.value, this.#keys)
    return stored.ok ? ok(stored.value.value) : stored
  }

  async readCheckpoint(id: CheckpointId): Promise<Result<CheckpointRecord>> {
    const allowed = await this.#mayRead('checkpoint', id)
    return allowed.ok ? readCheckpointContent(this.#run, id, this.#keys) : allowed
  }

  /** W-CP-11: an artifact with the checkpoint that it belongs to. */
  async readArtifact(id: string): Promise<Result<FoundArtifact>> {
    const found = await this.#show('artifact', id, run => run.artifacts.get(id)!)
    if (!found.ok) return found
    const checkpoint = found.value
    const record = await readCheckpointContent(this.#run, checkpoint, this.#keys)
    if (!record.ok) return record
    const artifact = record.value.payload.artifacts.find(each => each.artifact_id === id)
    return artifact ? ok({ checkpoint, artifact }) : notFound('artifact', id)
  }

  async readEnvelope(id: EnvelopeId): Promise<Result<FoundEnvelope>> {
    const found = await this.#show('envelope', id, run => viewEnvelope(run.envelopes.get(id)!))
    if (!found.ok) return found
    const view = found.value
    if (view.status === 'rejected') return ok({ ...view, payload: null })
    const record = await readEnvelopeContent(this.#run, id, this.#keys)
    return record.ok ? ok({ ...view, payload: record.value.payload }) : record
  }

  /** W-TOPO-CHAN-08: a whole thread, without what others said to each other in it. */
  thread(id: EnvelopeId): Promise<Result<readonly EnvelopeView[]>> {
    return this.#show('envelope', id, run => {
      let first = run.envelopes.get(id)!
      for (let up = first; up?.inReplyTo; first = up) up = run.envelopes.get(up.inReplyTo) ?? { ...up, inReplyTo: null }
      const found = new Set([first])
      for (const each of found) for (const reply of each.replies ?? []) found.add(run.envelopes.get(reply)!)
      const self = this.#self(run)
      return [...found].filter(each => readsEnvelope(self, each)).map(viewEnvelope)
    })
  }

  async readContext(workspace: WorkspaceId = this.workspace): Promise<Result<unknown>> {
    const id = await this.#show('context', workspace, run => run.workspaces.get(workspace)?.context ?? null)
    if (!id.ok) return id
    return id.value === null ? ok({}) : readContent(this.#run, 'context', id.value, this.#keys)
  }

  /** W-INT-21: a child's newest integration, open or ended; null where none was begun. */
  integration(source: WorkspaceId): Promise<Result<IntegrationView | null>> {
    return this.#show('workspace', source, run => viewIntegration(run, run.workspaces.get(source)!))
  }

  /** What the integrator of an `evaluated` merge made of it: the target's merged state. */
  async readResult(source: WorkspaceId): Promise<Result<unknown>> {
    const ref = await this.#show('result', source, run => integrationOf(run, knownWorkspace(run, source))?.resultRef)
    if (!ref.ok) return ref
    if (ref.value === undefined) return notFound('result of the integration of', source)
    const stored = await readContent<ResultRecord>(this.#run, 'result', ref.value, this.#keys)
    return stored.ok ? ok(stored.value.value) : stored
  }

  task(id: TaskId): Promise<Result<TaskView>> {
    return this.#show('task', id, run => viewTask(run.tasks.get(id)!))
  }

  graph(id: GraphId): Promise<Result<GraphView>> {
    return this.#show('graph', id, run => viewGraph(run, run.graphs.get(id)!, this.#self(run)))
  }

  dispatchable(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#tasks(graph, dispatchable)
  }

  unresolvable(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#tasks(graph, unresolvable)
  }

  rights(): Promise<Result<readonly RightView[]>> {
    return this.#show('workspace', this.workspace, run => {
      const self = this.#self(run)
      const seen = [...run.rights.values()].filter(({ holder }) => sees(self, holder))
      return seen.map(viewRight)
    })
  }

  get topology(): Topology {
    return new Topology({
      read: reader => this.#run.read(reader),
      now: () => this.#run.now(),
      sight: { workspace: this.workspace, mayRead: (kind, id) => this.#mayRead(kind, id) },
    })
  }

  /** The trail, as far as this agent may see it (W-TRAIL-19). */
  async query(query: TrailQuery): Promise<Result<QueryPage>> {
    const allowed = await this.#mayRead('workspace', this.workspace)
    return allowed.ok ? this.#run.query(query, this.workspace) : allowed
  }

  /** Counts, groups and sums over the same: failures by reason, by group (W-REC-04). */
  async aggregate(query: TrailAggregate): Promise<Result<Aggregated>> {
    const allowed = await this.#mayRead('workspace', this.workspace)
    return allowed.ok ? this.#run.aggregate(query, this.workspace) : allowed
  }

  #tasks(id: GraphId, wanted: (run: Run, graph: GraphId) => readonly Task[]): Promise<Result<readonly TaskView[]>> {
    return this.#show('graph', id, run => {
      const seen = wanted(run, id).filter(task => seesTask(run, this.#self(run), task))
      return seen.map(viewTask)
    })
  }

  #self(run: Run): Workspace {
    return knownWorkspace(run, this.workspace)
  }

  async #show<T>(kind: Readable, id: string, reader: (run: Run) => T): Promise<Result<T>> {
    const allowed = await this.#mayRead(kind, id)
    return allowed.ok ? this.#run.tryRead(reader) : allowed
  }

  #mayRead(kind: Readable, id: string): Promise<Result<void>> {
    return this.#caller.ask({ type: 'read', kind, id })
  }
}
