// What the trail of a run says about its work: folded entry by entry, live and from disk alike. The driver of a run decides by it, and
// views are made of it.
import {
  type CheckpointId,
  durationMs,
  type GateId,
  type GraphId,
  type MachineCode,
  type ObjectId,
  parseTimestamp,
  type TaskId,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import type { CheckpointRecord, EnvelopeRecord } from '@parley/kernel'
import type { Entry } from '@parley/trail'
import {
  type EventBody,
  type EventType,
  type IntegrationStrategy,
  isTerminal,
  type TaskStatus,
  type WorkspaceState,
} from '@parley/trail/events'
import { type Control, readControl } from './control.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import { SeenHighway } from './seen-highway.ts'
import {
  type SeenMigration,
  type SeenSalvage,
  type SeenTermination,
  successionFolds,
} from './seen-succession.ts'
import type { TeamAgent } from './team/team.ts'
import { tail } from './turn-text.ts'
import type { Verdict } from './verdict.ts'

/** What one turn did and cost, as its checkpoint keeps it. */
export interface TurnRecord {
  readonly epoch: number
  readonly outcome: 'complete' | 'failed' | 'blocked' | 'kept'
  readonly wall_ms: number
  readonly output_bytes: number
  /** The fault of its disk that it did not fail of: what it wrote may be incomplete. */
  readonly machine?: MachineCode
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
  /** Links of the work that lead out of the project. */
  readonly outsideLinks: readonly string[]
  /** What the folder held. */
  readonly commit: string | undefined
  /** Of a workspace that judges another one's work. */
  readonly verdict: Verdict | undefined
  readonly turn: TurnRecord | undefined
}

export interface SeenConflict {
  readonly id: string
  readonly type: string
  readonly resources: readonly string[]
  readonly description: string
  /** Who found it: the runtime, by the paths alone (W-INT-07), or the integrator. */
  readonly foundBy: 'runtime' | 'integrator'
  /** How it was settled, once it is. */
  settled: { readonly strategy: string; readonly resolution: string; readonly outcome: string } | undefined
}

export interface SeenWorkspace {
  readonly id: WorkspaceId
  /** As its context has them, with the agent that it has now. */
  facts: WorkspaceFacts | undefined
  /** Who integrates it; it changes if that one fails and this one belongs to somebody else. */
  parent: WorkspaceId | null
  /** Whom its questions go to. */
  owner: string
  readonly seq: number
  readonly created: Timestamp
  state: WorkspaceState
  /** Since when it is in that state. */
  changed: Timestamp
  ended: Timestamp | undefined
  /** Why it ended, or waits: the code of the last change, what its agent said, and who decided it. */
  trigger: string | undefined
  reason: string | undefined
  decidedBy: string | undefined
  readonly checkpoints: SeenCheckpoint[]
  /** A turn was begun since the last checkpoint that says what one came to. */
  turnOpen: boolean
  /** Files that it changed without being allowed to, and what else was not taken over. */
  readonly refused: Record<FolderAction, string[]>
  /** Its integration: open, or how it ended. */
  integration:
    | {
        readonly strategy: IntegrationStrategy
        readonly open: boolean
        readonly result: ObjectId | undefined
      }
    | undefined
  /** `seq` of the end of its integration: merges are applied in this order. */
  merged: number | undefined
  readonly conflicts: SeenConflict[]
  readonly migrations: SeenMigration[]
  /** While it runs. */
  termination: SeenTermination | undefined
  salvage: SeenSalvage | undefined
  /** The newest limit that it went over. */
  exceeded: string | undefined
  /** What the run measured of it; known while the run is at work. */
  metered: { readonly tokens: number; readonly cost: number } | undefined
}

export interface SeenTask {
  readonly id: TaskId
  /** The name in the plan. */
  readonly name: string
  /** What a person changed at its gate. */
  changed: { readonly title?: string; readonly priority?: string }
  readonly seq: number
  readonly dependsOn: readonly TaskId[]
  /** The task that it is part of. */
  readonly parent: TaskId | null
  status: TaskStatus
  readonly attempts: WorkspaceId[]
  /** Who cancelled or rejected it. */
  decidedBy: string | undefined
}

export type Load = (id: ObjectId) => Promise<unknown>

export class RunProjection {
  facts: RunFacts | undefined
  root: SeenWorkspace | undefined
  graph: GraphId | undefined
  readonly workspaces = new Map<WorkspaceId, SeenWorkspace>()
  readonly tasks = new Map<TaskId, SeenTask>()
  readonly highway = new SeenHighway()
  /** What people told the coordinator, in order. */
  readonly controls: Control[] = []
  /** Work whose merge the folders have followed, as far as this process knows. */
  readonly applied = new Set<WorkspaceId>()
  /** Whether the time of the run is nearly over: whoever drives it says so, since a record has no clock. */
  timeRunsOut = false
  cursor = 0

  get over(): boolean {
    return this.root !== undefined && isTerminal(this.root.state)
  }

  /** The newest task of that name. */
  task(name: string): SeenTask | undefined {
    let found: SeenTask | undefined
    for (const task of this.tasks.values()) if (task.name === name) found = task
    return found
  }

  /** The first task of that name: a team that is tried again plans its tasks anew, and they keep the ids that agents were told before. */
  firstTask(name: string): SeenTask | undefined {
    for (const task of this.tasks.values()) if (task.name === name) return task
    return undefined
  }

  /** Those that are about the work of a workspace, in order: judges and mergers. */
  about(of: WorkspaceId): SeenWorkspace[] {
    return [...this.workspaces.values()].filter(
      ({ facts }) => facts && 'of' in facts && facts.of === (of as string),
    )
  }

  judges(of: WorkspaceId): SeenWorkspace[] {
    return this.about(of).filter(({ facts }) => facts?.kind !== 'merge')
  }

  /** An agent of the team, or one that a person brought in. */
  agentConfig(name: string): TeamAgent | undefined {
    const { agents = {} } = this.facts?.team ?? {}
    if (Object.hasOwn(agents, name)) return agents[name]
    const brought = this.controls.findLast(each => each.kind === 'migrate' && each.to === name && each.agent)
    return brought?.kind === 'migrate' ? brought.agent : undefined
  }

  async apply(entry: Entry, load: Load): Promise<void> {
    if (entry.event_type === 'gate_resolved') this.#modified(entry.body as EventBody<'gate_resolved'>)
    const fold = FOLDS[entry.event_type] as Fold<EventType> | undefined
    if (fold) await fold(this, entry.body, entry, load)
    await this.highway.apply(entry, load)
    this.cursor = entry.seq
  }

  #modified({ gate_id, modifications }: EventBody<'gate_resolved'>): void {
    const gate = this.highway.gates.get(gate_id as GateId)
    const task = gate?.type === 'task_approval' && gate.task !== null ? this.tasks.get(gate.task) : undefined
    if (!task || !modifications) return
    const { name, priority } = modifications
    task.changed = { ...(name !== undefined && { title: name }), ...(priority && { priority }) }
  }
}

type Fold<T extends EventType> = (
  seen: RunProjection,
  body: EventBody<T>,
  entry: Entry,
  load: Load,
) => void | Promise<void>

export type Folds = { readonly [T in EventType]?: Fold<T> }

const FOLDS: Folds = {
  ...successionFolds,

  async workspace_created(seen, body, entry, load) {
    const context = body.context === undefined ? undefined : await load(body.context as ObjectId)
    const root = body.parent === null
    const workspace: SeenWorkspace = {
      id: body.workspace_id as WorkspaceId,
      facts: root ? undefined : (context as WorkspaceFacts | undefined),
      parent: body.parent as WorkspaceId | null,
      owner: body.owner,
      seq: entry.seq,
      created: entry.timestamp,
      state: 'idle',
      changed: entry.timestamp,
      ended: undefined,
      trigger: undefined,
      reason: undefined,
      decidedBy: undefined,
      checkpoints: [],
      turnOpen: false,
      refused: { write: [], link_outside: [], special_file: [] },
      integration: undefined,
      merged: undefined,
      conflicts: [],
      migrations: [],
      termination: undefined,
      salvage: undefined,
      exceeded: undefined,
      metered: undefined,
    }
    seen.workspaces.set(workspace.id, workspace)
    if (!root) return
    seen.root = workspace
    seen.facts = context as RunFacts | undefined
  },

  workspace_state_changed(seen, body, entry) {
    const workspace = seen.workspaces.get(body.workspace_id as WorkspaceId)
    if (!workspace) return
    const { termination } = workspace
    if (termination && (body.from_state === 'suspended' || body.from_state === 'migrating'))
      termination.paused += durationMs(parseTimestamp(workspace.changed)!, parseTimestamp(entry.timestamp)!)
    if (body.to_state === 'integrating' || body.to_state === 'failed') workspace.termination = undefined
    workspace.state = body.to_state
    workspace.changed = entry.timestamp
    workspace.trigger = body.trigger
    workspace.decidedBy = body.initiator === 'human' ? entry.actor : undefined
    if (body.to_state === 'active') workspace.reason = undefined
    if (isTerminal(body.to_state)) workspace.ended = entry.timestamp
  },

  workspace_reparented(seen, body) {
    const workspace = seen.workspaces.get(body.workspace_id as WorkspaceId)
    if (workspace) workspace.parent = body.new_parent as WorkspaceId
  },

  workspace_ownership_transferred(seen, body) {
    const workspace = seen.workspaces.get(body.workspace_id as WorkspaceId)
    if (workspace) workspace.owner = body.to_user
  },

  budget_exceeded(seen, body) {
    const workspace = seen.workspaces.get(body.workspace_id as WorkspaceId)
    if (workspace) workspace.exceeded = body.budget_dimension
  },

  /** The words of an agent that fails or waits stand in its signal, before the change of state. The protocol's own say only what changed. */
  signal_emitted(seen, { from, type, reason }, { actor }) {
    const workspace = seen.workspaces.get(from as WorkspaceId)
    // The coordinator's own words are the system's; of a worker those are what others did to it.
    if (!workspace || actor === 'protocol' || (actor === 'system') !== (workspace === seen.root)) return
    if (type === 'failed' || type === 'blocked') workspace.reason = reason
    if (type === 'started') workspace.turnOpen = true
  },

  async checkpoint_created(seen, body, _entry, load) {
    const workspace = seen.workspaces.get(body.workspace as WorkspaceId)
    const record = (await load(body.checkpoint_id as ObjectId)) as CheckpointRecord | undefined
    if (!workspace || !record) return
    const {
      content,
      files_changed,
      outside_links = [],
      commit,
      verdict,
      turn,
    } = record.payload as CheckpointRecord['payload'] & {
      readonly outside_links?: readonly string[]
      readonly commit?: string
      readonly verdict?: Verdict
      readonly turn?: TurnRecord
    }
    if (turn && turn.outcome !== 'kept') workspace.turnOpen = false
    workspace.checkpoints.push({
      id: record.id,
      final: record.status === 'final',
      // Others are told and shown its end; all of it stays on record.
      text: tail(content),
      files: files_changed,
      outsideLinks: outside_links,
      commit,
      verdict,
      turn,
    })
  },

  capability_denied(seen, body, entry) {
    if (body.capability !== FOLDER_CAPABILITY) return
    const workspace = seen.workspaces.get(entry.workspace as WorkspaceId)
    const action = FOLDER_ACTIONS.find(each => each === body.action) ?? 'write'
    if (workspace && body.target !== undefined) workspace.refused[action].push(body.target)
  },

  graph_created(seen, body) {
    seen.graph ??= body.graph_id as GraphId
  },

  task_created(seen, body, entry) {
    const id = body.task_id as TaskId
    seen.tasks.set(id, {
      id,
      name: body.name,
      changed: {},
      seq: entry.seq,
      dependsOn: body.depends_on as TaskId[],
      parent: (body.parent_task ?? null) as TaskId | null,
      status: 'draft',
      attempts: [],
      decidedBy: undefined,
    })
  },

  task_assigned(seen, body) {
    seen.tasks.get(body.task_id as TaskId)?.attempts.push(body.workspace_id as WorkspaceId)
  },

  task_status_changed(seen, body, entry) {
    const task = seen.tasks.get(body.task_id as TaskId)
    if (!task) return
    task.status = body.to_status
    if (body.to_status === 'cancelled') task.decidedBy = entry.actor
  },

  integration_started(seen, body, entry) {
    const source = seen.workspaces.get(body.source as WorkspaceId)
    if (source && body.mode === 'salvage')
      source.salvage = {
        seq: entry.seq,
        target: body.target as WorkspaceId,
        checkpoint: body.checkpoint_ref as CheckpointId,
        open: true,
        result: undefined,
        merged: undefined,
        aborted: undefined,
        conflicts: [],
      }
    else if (source) source.integration = { strategy: body.strategy, open: true, result: undefined }
  },

  integration_completed(seen, body, entry) {
    const source = seen.workspaces.get(body.source as WorkspaceId)
    if (!source) return
    const result = body.result_ref as ObjectId | undefined
    if (body.mode === 'salvage') {
      if (source.salvage) source.salvage = { ...source.salvage, open: false, result, merged: entry.seq }
      return
    }
    source.integration = { strategy: body.strategy, open: false, result }
    source.merged = entry.seq
  },

  integration_aborted(seen, body) {
    const source = seen.workspaces.get(body.source as WorkspaceId)
    if (body.mode === 'salvage') {
      if (source?.salvage) source.salvage = { ...source.salvage, open: false, aborted: body.reason }
    } else if (source?.integration) source.integration = { ...source.integration, open: false }
  },

  conflict_detected(seen, body, { actor }) {
    const { conflict_id: id, conflict_type: type, resources, description } = body
    const foundBy = actor === 'protocol' ? 'runtime' : 'integrator'
    conflictsOf(seen, body)?.push({ id, type, resources, description, foundBy, settled: undefined })
  },

  conflict_resolved(seen, body) {
    const conflict = conflictsOf(seen, body)?.find(({ id }) => id === body.conflict_id)
    const { resolution_strategy: strategy, resolution, outcome } = body
    if (conflict) conflict.settled = { strategy, resolution, outcome }
  },

  async envelope_created(seen, body, entry, load) {
    if (body.origin !== 'human' || body.to !== (seen.root?.id as string)) return
    const record = (await load(body.envelope_id as ObjectId)) as EnvelopeRecord | undefined
    if (record) seen.controls.push(readControl(record, entry.actor, entry.timestamp))
  },
}

/** Conflicts of a salvage are no part of the workspace, which has failed already. */
function conflictsOf(
  seen: RunProjection,
  { workspace_id, mode }: { readonly workspace_id: string; readonly mode?: string },
): SeenConflict[] | undefined {
  const workspace = seen.workspaces.get(workspace_id as WorkspaceId)
  return mode === 'salvage' ? workspace?.salvage?.conflicts : workspace?.conflicts
}

/** Of `capability_denied` entries about files that a turn changed without being allowed to. */
export const FOLDER_CAPABILITY = 'folder:write'

/** What such a turn did: it changed a file, made a link that leads out of the project, or a pipe, socket or device. */
export const FOLDER_ACTIONS = ['write', 'link_outside', 'special_file'] as const
export type FolderAction = (typeof FOLDER_ACTIONS)[number]
