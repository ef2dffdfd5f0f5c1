// What the trail of a run says about its work, folded entry by entry. The run's driver decides by it, and views show
// it.
import {
  type CheckpointId,
  durationMs,
  type GateId,
  type GraphId,
  invariant,
  type ObjectId,
  parseTimestamp,
  type TaskId,
  type WorkspaceId,
} from '@parley/core'
import type { CheckpointRecord, EnvelopeRecord } from '@parley/kernel'
import type { FollowedEntry } from '@parley/trail'
import { type EventBody, type EventType, isTerminal } from '@parley/trail/events'
import { given } from '../given.ts'
import type { RunFacts, WorkspaceFacts } from '../run/facts.ts'
import { allTasks, type PlannedTask, type TeamAgent } from '../team/team.ts'
import { tail } from '../turn/turn-text.ts'
import { type Control, readControl } from './control.ts'
import { ProjectedHighway } from './highway.ts'
import {
  FOLDER_ACTIONS,
  FOLDER_CAPABILITY,
  type ProjectedConflict,
  type ProjectedTask,
  type ProjectedWorkspace,
  type WorkPayload,
} from './projected.ts'
import { ProjectedTimes } from './times.ts'

export type Load = (id: ObjectId) => Promise<unknown>

export class RunProjection {
  facts: RunFacts | undefined
  /** The tasks of the plan by name, those of nested plans too. */
  plan: ReadonlyMap<string, PlannedTask> = new Map()
  root: ProjectedWorkspace | undefined
  graph: GraphId | undefined
  readonly workspaces = new Map<WorkspaceId, ProjectedWorkspace>()
  readonly tasks = new Map<TaskId, ProjectedTask>()
  readonly highway = new ProjectedHighway()
  readonly times = new ProjectedTimes()
  readonly controls: Control[] = []
  /** Work whose merge the folders have followed, as far as this process knows. */
  readonly applied = new Set<WorkspaceId>()
  /** Whether the time of the run is nearly over: whoever drives it says so, since a record has no clock. */
  timeRunsOut = false
  cursor = 0

  get over(): boolean {
    return this.root !== undefined && isTerminal(this.root.state)
  }

  task(name: string): ProjectedTask | undefined {
    let found: ProjectedTask | undefined
    for (const task of this.tasks.values()) if (task.name === name) found = task
    return found
  }

  /** The task that a person means: by its name, or by its title if only one has that. */
  taskMeant(text: string): ProjectedTask | undefined {
    const titled = [...this.plan.values()].filter(({ title }) => title === text)
    return this.task(text) ?? (titled.length === 1 ? this.task(titled[0]!.id) : undefined)
  }

  /** The first task of that name, whose id agents know: a team that is tried again plans its tasks anew. */
  firstTask(name: string): ProjectedTask | undefined {
    return [...this.tasks.values()].find(task => task.name === name)
  }

  /** Those that are about the work of a workspace, in order: judges and mergers. */
  about(of: WorkspaceId): ProjectedWorkspace[] {
    return [...this.workspaces.values()].filter(({ facts }) => facts && 'of' in facts && facts.of === (of as string))
  }

  judges(of: WorkspaceId): ProjectedWorkspace[] {
    return this.about(of).filter(({ facts }) => facts?.kind !== 'merge')
  }

  /** An agent of the team, or one that a person brought in. */
  agentConfig(name: string): TeamAgent | undefined {
    const { agents = {} } = this.facts?.team ?? {}
    if (Object.hasOwn(agents, name)) return agents[name]
    const brought = this.controls.findLast(each => each.kind === 'migrate' && each.to === name && each.agent)
    return brought?.kind === 'migrate' ? brought.agent : undefined
  }

  async apply(entry: FollowedEntry, load: Load): Promise<void> {
    invariant(entry.seq > this.cursor, 'a projection never goes back')
    if (!this.over) this.times.until(entry.timestamp)
    if (entry.event_type === 'gate_resolved') this.#modified(entry.body as EventBody<'gate_resolved'>)
    const fold = FOLDS[entry.event_type] as Fold<EventType> | undefined
    if (fold) await fold(this, entry.body, entry, load)
    await this.highway.apply(entry, load)
    this.times.become(this)
    this.cursor = entry.seq
  }

  #modified({ gate_id, modifications }: EventBody<'gate_resolved'>): void {
    const gate = this.highway.gates.get(gate_id as GateId)
    const task = gate?.type === 'task_approval' && gate.task !== null ? this.tasks.get(gate.task) : undefined
    if (!task || !modifications) return
    const { name, priority } = modifications
    task.changed = given({ title: name, priority })
  }
}

/** Whether a person must act before anything goes on: no agent has or wants a turn meanwhile. */
export function waitsForPerson({ highway, workspaces }: Pick<RunProjection, 'highway' | 'workspaces'>): boolean {
  const work = [...workspaces.values()].filter(({ facts }) => facts && facts.kind !== 'team')
  const isHeldUp = highway.gates.size + highway.escalations.size > 0 || work.some(({ state }) => state === 'suspended')
  return isHeldUp && !work.some(({ state }) => state === 'idle' || state === 'active' || state === 'migrating')
}

type Fold<T extends EventType> = (
  projection: RunProjection,
  body: EventBody<T>,
  entry: FollowedEntry,
  load: Load,
) => void | Promise<void>

type Folds = { readonly [T in EventType]?: Fold<T> }

const FOLDS: Folds = {
  async workspace_created(projection, body, entry, load) {
    const context = body.context === undefined ? undefined : await load(body.context as ObjectId)
    const root = body.parent === null
    const workspace: ProjectedWorkspace = {
      id: body.workspace_id as WorkspaceId,
      facts: root ? undefined : (context as WorkspaceFacts | undefined),
      parent: body.parent as WorkspaceId | null,
      owner: body.owner,
      seq: entry.seq,
      created: entry.timestamp,
      state: 'idle',
      changed: entry.timestamp,
      checkpoints: [],
      turnOpen: false,
      refused: { write: [], link_outside: [], special_file: [] },
      conflicts: [],
      migrations: [],
    }
    projection.workspaces.set(workspace.id, workspace)
    if (!root) return
    projection.root = workspace
    // The node's own runs have no plan, and neither has what something else than a coordinator has started.
    const facts = context as Partial<RunFacts> | undefined
    projection.facts = facts?.plan === undefined ? undefined : (facts as RunFacts)
    projection.plan = new Map([...allTasks(projection.facts?.plan ?? [])].map(task => [task.id, task]))
  },

  workspace_state_changed: inWorkspace((workspace, body, entry) => {
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
  }),

  workspace_reparented: inWorkspace((workspace, body) => {
    workspace.parent = body.new_parent as WorkspaceId
  }),

  workspace_ownership_transferred: inWorkspace((workspace, body) => {
    workspace.owner = body.to_user
  }),

  budget_exceeded: inWorkspace((workspace, body) => {
    const { budget_dimension: dimension, consumed, limit } = body
    workspace.exceeded = { dimension, consumed, limit }
  }),

  /** An agent says why it fails or waits in its signal, before the change of state. */
  signal_emitted(projection, { from, type, reason }, { actor }) {
    const workspace = projection.workspaces.get(from as WorkspaceId)
    // The coordinator's own words are the system's; of a worker those are what others did to it.
    if (!workspace || actor === 'protocol' || (actor === 'system') !== (workspace === projection.root)) return
    if (type === 'failed' || type === 'blocked') workspace.reason = reason
    if (type === 'started') workspace.turnOpen = true
  },

  async checkpoint_created(projection, body, entry, load) {
    const workspace = projection.workspaces.get(body.workspace as WorkspaceId)
    const record = (await load(body.checkpoint_id as ObjectId)) as CheckpointRecord | undefined
    if (!workspace || !record) return
    const payload = record.payload as CheckpointRecord['payload'] & WorkPayload
    const { content, files_changed, outside_links = [], commit, verdict, turn, setup } = payload
    if (setup) {
      workspace.setup = setup
      return
    }
    if (turn && turn.outcome !== 'kept') workspace.turnOpen = false
    workspace.checkpoints.push({
      id: record.id,
      at: entry.timestamp,
      agent: workspace.facts?.agent ?? '',
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

  capability_denied(projection, body, entry) {
    if (body.capability !== FOLDER_CAPABILITY) return
    const workspace = projection.workspaces.get(entry.workspace as WorkspaceId)
    const action = FOLDER_ACTIONS.find(each => each === body.action) ?? 'write'
    if (workspace && body.target !== undefined) workspace.refused[action].push(body.target)
  },

  graph_created(projection, { graph_id }) {
    projection.graph ??= graph_id as GraphId
  },

  task_created(projection, body, entry) {
    const id = body.task_id as TaskId
    projection.tasks.set(id, {
      id,
      name: body.name,
      changed: {},
      seq: entry.seq,
      dependsOn: body.depends_on as TaskId[],
      parent: (body.parent_task ?? null) as TaskId | null,
      status: 'draft',
      attempts: [],
    })
  },

  task_assigned(projection, body) {
    projection.tasks.get(body.task_id as TaskId)?.attempts.push(body.workspace_id as WorkspaceId)
  },

  task_status_changed(projection, body, entry) {
    const task = projection.tasks.get(body.task_id as TaskId)
    if (!task) return
    task.status = body.to_status
    if (body.to_status === 'cancelled') task.decidedBy = entry.actor
  },

  integration_started(projection, body, entry) {
    const source = projection.workspaces.get(body.source as WorkspaceId)
    if (source && body.mode === 'salvage')
      source.salvage = {
        seq: entry.seq,
        target: body.target as WorkspaceId,
        checkpoint: body.checkpoint_ref as CheckpointId,
        open: true,
        conflicts: [],
      }
    else if (source) source.integration = { strategy: body.strategy, open: true }
  },

  integration_completed(projection, body, entry) {
    const source = projection.workspaces.get(body.source as WorkspaceId)
    if (!source) return
    const result = body.result_ref as ObjectId | undefined
    if (body.mode === 'salvage') {
      if (source.salvage) source.salvage = { ...source.salvage, open: false, result, merged: entry.seq }
      return
    }
    source.integration = { strategy: body.strategy, open: false, ...(result && { result }) }
    source.merged = entry.seq
  },

  integration_aborted(projection, body) {
    const source = projection.workspaces.get(body.source as WorkspaceId)
    if (body.mode === 'salvage') {
      if (source?.salvage) source.salvage = { ...source.salvage, open: false, aborted: body.reason }
    } else if (source?.integration) source.integration = { ...source.integration, open: false }
  },

  conflict_detected: inWorkspace((workspace, body, { actor }) => {
    const { conflict_id: id, resources, description, mode } = body
    const foundBy = actor === 'protocol' ? 'runtime' : 'integrator'
    conflictsOf(workspace, mode)?.push({ id, resources, description, foundBy })
  }),

  conflict_resolved: inWorkspace((workspace, body) => {
    const conflict = conflictsOf(workspace, body.mode)?.find(({ id }) => id === body.conflict_id)
    const { resolution_strategy: strategy, resolution, outcome } = body
    if (conflict) conflict.settled = { strategy, resolution, outcome }
  }),

  migration_started: inWorkspace(({ migrations }, { old_agent: from, new_agent: to, reason }, { timestamp: at }) => {
    migrations.push({ from, to, reason, at, outcome: 'open' })
  }),

  migration_completed: inWorkspace((workspace, body) => {
    const migration = workspace.migrations.at(-1)
    if (migration) migration.outcome = 'completed'
    if (workspace.facts) workspace.facts = { ...workspace.facts, agent: body.new_agent }
  }),

  migration_failed: inWorkspace(({ migrations }) => {
    const migration = migrations.at(-1)
    if (migration) migration.outcome = 'failed'
  }),

  graceful_termination_initiated: inWorkspace((workspace, { grace_period: period, reason }, entry) => {
    workspace.termination = { since: entry.timestamp, period, reason, paused: 0 }
  }),

  async envelope_created(projection, body, entry, load) {
    if (body.origin !== 'human' || body.to !== (projection.root?.id as string)) return
    const record = (await load(body.envelope_id as ObjectId)) as EnvelopeRecord | undefined
    if (record) projection.controls.push(readControl(record, entry.actor, entry.timestamp))
  },
}

/** Conflicts of a salvage are no part of the workspace, which has failed already. */
function conflictsOf(workspace: ProjectedWorkspace, mode: string | undefined): ProjectedConflict[] | undefined {
  return mode === 'salvage' ? workspace.salvage?.conflicts : workspace.conflicts
}

function inWorkspace<T extends EventType>(
  fold: (workspace: ProjectedWorkspace, body: EventBody<T>, entry: FollowedEntry) => void,
): Fold<T> {
  return (projection, body, entry) => {
    const { workspace_id } = body as { readonly workspace_id?: string }
    const workspace = projection.workspaces.get(workspace_id as WorkspaceId)
    if (workspace) fold(workspace, body, entry)
  }
}
