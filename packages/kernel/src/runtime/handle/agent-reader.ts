// What an agent reads of its run: first the kernel is asked whether it may (W-WS-15), then committed state or stored
// content is shown, the latter opened with nothing but the agent's own keys (W-SEC-13).
import {
  type CheckpointId,
  type EnvelopeId,
  type GraphId,
  ok,
  type Result,
  type TaskId,
  type WorkspaceId,
} from '@parley/core'
import type { Aggregated, QueryPage, TrailAggregate, TrailQuery } from '@parley/trail'
import type { MeterView } from '../../budget/view.ts'
import type { CheckpointRecord } from '../../checkpoint/checkpoint.ts'
import type { EnvelopeRecord } from '../../envelope/envelope.ts'
import { integrationOf, type ResultRecord } from '../../integration/integration.ts'
import type { MemoryRecord } from '../../objects.ts'
import { notFound } from '../../refusal.ts'
import { knownWorkspace, type Run } from '../../run/run.ts'
import { seesTask } from '../../task/permission.ts'
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

export interface FoundArtifact {
  readonly checkpoint: CheckpointId
  readonly artifact: Readonly<Record<string, unknown>>
}

/** An envelope with what it says; null of a rejected one, of which only the fact is kept. */
export type FoundEnvelope = EnvelopeView & { readonly payload: EnvelopeRecord['payload'] | null }

export class AgentReader {
  readonly #caller: AgentCaller
  readonly #run: RunHandle
  readonly #keys: AgentKeys | undefined

  constructor(caller: AgentCaller) {
    this.#caller = caller
    this.#run = caller.run
    this.#keys = caller.run.agentKeys(caller.workspace)
  }

  async workspace(workspace: WorkspaceId): Promise<Result<WorkspaceView>> {
    const allowed = await this.#mayRead('workspace', workspace)
    if (!allowed.ok) return allowed
    return this.#run.tryRead(run => viewWorkspace(run, run.workspaces.get(workspace)!, this.#run.now()))
  }

  async meter(): Promise<Result<MeterView>> {
    const view = await this.workspace(this.#caller.workspace)
    return view.ok ? ok(view.value.meter) : view
  }

  async memory(key: string, workspace: WorkspaceId): Promise<Result<unknown>> {
    const allowed = await this.#mayRead('workspace', workspace)
    if (!allowed.ok) return allowed
    const id = await this.#run.tryRead(run => run.workspaces.get(workspace)?.memory?.get(key))
    if (!id.ok) return id
    if (id.value === undefined) return notFound('key', key)
    const stored = await readContent<MemoryRecord>(this.#run, 'memory', id.value, this.#keys)
    return stored.ok ? ok(stored.value.value) : stored
  }

  async checkpoint(id: CheckpointId): Promise<Result<CheckpointRecord>> {
    const allowed = await this.#mayRead('checkpoint', id)
    return allowed.ok ? readCheckpointContent(this.#run, id, this.#keys) : allowed
  }

  async artifact(id: string): Promise<Result<FoundArtifact>> {
    const allowed = await this.#mayRead('artifact', id)
    if (!allowed.ok) return allowed
    const found = await this.#run.tryRead(run => run.artifacts.get(id)!)
    if (!found.ok) return found
    const checkpoint = found.value
    const record = await readCheckpointContent(this.#run, checkpoint, this.#keys)
    if (!record.ok) return record
    const artifact = record.value.payload.artifacts.find(each => each.artifact_id === id)
    return artifact ? ok({ checkpoint, artifact }) : notFound('artifact', id)
  }

  async envelope(id: EnvelopeId): Promise<Result<FoundEnvelope>> {
    const allowed = await this.#mayRead('envelope', id)
    if (!allowed.ok) return allowed
    const found = await this.#run.tryRead(run => viewEnvelope(run.envelopes.get(id)!))
    if (!found.ok) return found
    const view = found.value
    if (view.status === 'rejected') return ok({ ...view, payload: null })
    const record = await readEnvelopeContent(this.#run, id, this.#keys)
    return record.ok ? ok({ ...view, payload: record.value.payload }) : record
  }

  /** W-TOPO-CHAN-08; without what others said to each other in it. */
  async thread(id: EnvelopeId): Promise<Result<readonly EnvelopeView[]>> {
    const allowed = await this.#mayRead('envelope', id)
    if (!allowed.ok) return allowed
    return this.#run.tryRead(run => {
      let first = run.envelopes.get(id)!
      for (let up = first; up?.inReplyTo; first = up) up = run.envelopes.get(up.inReplyTo) ?? { ...up, inReplyTo: null }
      const found = new Set([first])
      for (const each of found) for (const reply of each.replies ?? []) found.add(run.envelopes.get(reply)!)
      const self = this.#self(run)
      return [...found].filter(each => readsEnvelope(self, each)).map(viewEnvelope)
    })
  }

  async context(workspace: WorkspaceId): Promise<Result<unknown>> {
    const allowed = await this.#mayRead('context', workspace)
    if (!allowed.ok) return allowed
    const id = await this.#run.tryRead(run => run.workspaces.get(workspace)?.context ?? null)
    if (!id.ok) return id
    return id.value === null ? ok({}) : readContent(this.#run, 'context', id.value, this.#keys)
  }

  async integration(source: WorkspaceId): Promise<Result<IntegrationView | null>> {
    const allowed = await this.#mayRead('workspace', source)
    if (!allowed.ok) return allowed
    return this.#run.tryRead(run => viewIntegration(run, run.workspaces.get(source)!))
  }

  async result(source: WorkspaceId): Promise<Result<unknown>> {
    const allowed = await this.#mayRead('result', source)
    if (!allowed.ok) return allowed
    const found = await this.#run.tryRead(run => integrationOf(run, knownWorkspace(run, source))?.resultRef)
    if (!found.ok) return found
    const ref = found.value
    if (ref === undefined) return notFound('result of the integration of', source)
    const stored = await readContent<ResultRecord>(this.#run, 'result', ref, this.#keys)
    return stored.ok ? ok(stored.value.value) : stored
  }

  async task(id: TaskId): Promise<Result<TaskView>> {
    const allowed = await this.#mayRead('task', id)
    return allowed.ok ? this.#run.tryRead(run => viewTask(run.tasks.get(id)!)) : allowed
  }

  async graph(id: GraphId): Promise<Result<GraphView>> {
    const allowed = await this.#mayRead('graph', id)
    if (!allowed.ok) return allowed
    return this.#run.tryRead(run => viewGraph(run, run.graphs.get(id)!, this.#self(run)))
  }

  async tasks(
    id: GraphId,
    wanted: (run: Run, graph: GraphId) => readonly Task[],
  ): Promise<Result<readonly TaskView[]>> {
    const allowed = await this.#mayRead('graph', id)
    if (!allowed.ok) return allowed
    return this.#run.tryRead(run => {
      const seen = wanted(run, id).filter(task => seesTask(run, this.#self(run), task))
      return seen.map(viewTask)
    })
  }

  async rights(): Promise<Result<readonly RightView[]>> {
    const allowed = await this.#mayRead('workspace', this.#caller.workspace)
    if (!allowed.ok) return allowed
    return this.#run.tryRead(run => {
      const self = this.#self(run)
      const seen = [...run.rights.values()].filter(({ holder }) => sees(self, holder))
      return seen.map(viewRight)
    })
  }

  get topology(): Topology {
    const { workspace } = this.#caller
    return new Topology({
      read: reader => this.#run.read(reader),
      now: () => this.#run.now(),
      sight: { workspace, mayRead: (kind, id) => this.#mayRead(kind, id) },
    })
  }

  async query(query: TrailQuery): Promise<Result<QueryPage>> {
    const { workspace } = this.#caller
    const allowed = await this.#mayRead('workspace', workspace)
    return allowed.ok ? this.#run.query(query, workspace) : allowed
  }

  async aggregate(query: TrailAggregate): Promise<Result<Aggregated>> {
    const { workspace } = this.#caller
    const allowed = await this.#mayRead('workspace', workspace)
    return allowed.ok ? this.#run.aggregate(query, workspace) : allowed
  }

  #self(run: Run): Workspace {
    return knownWorkspace(run, this.#caller.workspace)
  }

  #mayRead(kind: Readable, id: string): Promise<Result<void>> {
    return this.#caller.ask({ type: 'read', kind, id })
  }
}
