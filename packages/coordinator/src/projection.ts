// What the trail of a run says about its work: folded entry by entry, live and from disk alike. The driver of a run decides by it, and
// views are made of it.
import type { CheckpointId, ObjectId, TaskId, Timestamp, WorkspaceId } from '@parley/core'
import type { CheckpointRecord } from '@parley/kernel'
import type { Entry } from '@parley/trail'
import { type EventBody, isTerminal, type TaskStatus, type WorkspaceState } from '@parley/trail/events'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import { coordinatorLimits } from './limits.ts'
import type { Verdict } from './verdict.ts'

/** What one turn did and cost, as its checkpoint keeps it. */
export interface TurnRecord {
  readonly epoch: number
  readonly outcome: 'complete' | 'failed' | 'blocked' | 'kept'
  readonly wall_ms: number
  readonly output_bytes: number
  readonly tokens_in?: number
  readonly tokens_out?: number
  readonly tokens_cached?: number
  readonly usd?: number
}

export interface SeenCheckpoint {
  readonly id: CheckpointId
  readonly final: boolean
  readonly text: string
  readonly files: readonly string[]
  /** What the folder held. */
  readonly commit: string | undefined
  /** Of a workspace that judges another one's work. */
  readonly verdict: Verdict | undefined
  readonly turn: TurnRecord | undefined
}

export interface SeenWorkspace {
  readonly id: WorkspaceId
  readonly facts: WorkspaceFacts | undefined
  readonly created: Timestamp
  state: WorkspaceState
  /** Since when it is in that state. */
  changed: Timestamp
  ended: Timestamp | undefined
  /** Why it ended, or waits: the code of the last change, and what its agent said. */
  trigger: string | undefined
  reason: string | undefined
  readonly checkpoints: SeenCheckpoint[]
  readonly refused: string[]
}

export interface SeenTask {
  readonly id: TaskId
  /** The name in the plan. */
  readonly name: string
  readonly dependsOn: readonly TaskId[]
  status: TaskStatus
  readonly attempts: WorkspaceId[]
}

type Load = (id: ObjectId) => Promise<unknown>

export class RunProjection {
  facts: RunFacts | undefined
  root: SeenWorkspace | undefined
  readonly workspaces = new Map<WorkspaceId, SeenWorkspace>()
  readonly tasks = new Map<TaskId, SeenTask>()
  cursor = 0

  get over(): boolean {
    return this.root !== undefined && isTerminal(this.root.state)
  }

  task(name: string): SeenTask | undefined {
    for (const task of this.tasks.values()) if (task.name === name) return task
    return undefined
  }

  /** Those that judge the work of a workspace, in order. */
  judges(of: WorkspaceId): SeenWorkspace[] {
    return [...this.workspaces.values()].filter(
      ({ facts }) => facts && facts.kind !== 'work' && facts.of === of,
    )
  }

  async apply(entry: Entry, load: Load): Promise<void> {
    switch (entry.event_type) {
      case 'workspace_created':
        await this.#created(entry, entry.body as EventBody<'workspace_created'>, load)
        break
      case 'workspace_state_changed':
        this.#changed(entry, entry.body as EventBody<'workspace_state_changed'>)
        break
      case 'signal_emitted':
        this.#signal(entry, entry.body as EventBody<'signal_emitted'>)
        break
      case 'checkpoint_created':
        await this.#checkpoint(entry.body as EventBody<'checkpoint_created'>, load)
        break
      case 'capability_denied':
        this.#denied(entry, entry.body as EventBody<'capability_denied'>)
        break
      case 'task_created': {
        const body = entry.body as EventBody<'task_created'>
        const id = body.task_id as TaskId
        const dependsOn = body.depends_on as TaskId[]
        this.tasks.set(id, { id, name: body.name, dependsOn, status: 'draft', attempts: [] })
        break
      }
      case 'task_assigned': {
        const body = entry.body as EventBody<'task_assigned'>
        this.tasks.get(body.task_id as TaskId)?.attempts.push(body.workspace_id as WorkspaceId)
        break
      }
      case 'task_status_changed': {
        const body = entry.body as EventBody<'task_status_changed'>
        const task = this.tasks.get(body.task_id as TaskId)
        if (task) task.status = body.to_status
        break
      }
    }
    this.cursor = entry.seq
  }

  async #created(entry: Entry, body: EventBody<'workspace_created'>, load: Load): Promise<void> {
    const context = body.context === undefined ? undefined : await load(body.context as ObjectId)
    const root = body.parent === null
    const seen: SeenWorkspace = {
      id: body.workspace_id as WorkspaceId,
      facts: root ? undefined : (context as WorkspaceFacts | undefined),
      created: entry.timestamp,
      state: 'idle',
      changed: entry.timestamp,
      ended: undefined,
      trigger: undefined,
      reason: undefined,
      checkpoints: [],
      refused: [],
    }
    this.workspaces.set(seen.id, seen)
    if (!root) return
    this.root = seen
    this.facts = context as RunFacts | undefined
  }

  #changed(entry: Entry, body: EventBody<'workspace_state_changed'>): void {
    const seen = this.workspaces.get(body.workspace_id as WorkspaceId)
    if (!seen) return
    seen.state = body.to_state
    seen.changed = entry.timestamp
    seen.trigger = body.trigger
    if (body.to_state === 'active') seen.reason = undefined
    if (isTerminal(body.to_state)) seen.ended = entry.timestamp
  }

  /** The words of an agent that fails or waits stand in its signal, before the change of state. The protocol's own say only what changed. */
  #signal({ actor }: Entry, { from, type, reason }: EventBody<'signal_emitted'>): void {
    const seen = this.workspaces.get(from as WorkspaceId)
    if (seen && actor !== 'protocol' && actor !== 'system' && (type === 'failed' || type === 'blocked'))
      seen.reason = reason
  }

  async #checkpoint(body: EventBody<'checkpoint_created'>, load: Load): Promise<void> {
    const seen = this.workspaces.get(body.workspace as WorkspaceId)
    const record = (await load(body.checkpoint_id as ObjectId)) as CheckpointRecord | undefined
    if (!seen || !record) return
    const { content, files_changed, commit, verdict, turn } =
      record.payload as CheckpointRecord['payload'] & {
        readonly commit?: string
        readonly verdict?: Verdict
        readonly turn?: TurnRecord
      }
    seen.checkpoints.push({
      id: record.id,
      final: record.status === 'final',
      text: content.slice(-coordinatorLimits.textLength),
      files: files_changed,
      commit,
      verdict,
      turn,
    })
  }

  #denied(entry: Entry, body: EventBody<'capability_denied'>): void {
    if (body.capability !== FOLDER_CAPABILITY) return
    const seen = this.workspaces.get(entry.workspace as WorkspaceId)
    if (seen && body.target !== undefined) seen.refused.push(body.target)
  }
}

/** Of `capability_denied` entries about files that a turn changed without being allowed to. */
export const FOLDER_CAPABILITY = 'folder:write'
