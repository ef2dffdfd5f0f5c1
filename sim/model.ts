// What a run's records mean, folded a second time and independently of the kernel: plain maps, no shared code. The simulator
// compares it with the kernel's own state, and chooses from it what to do next.
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EnvelopePriority, EventBody, EventType } from '@parley/trail/events'
import type {
  CheckpointModel,
  EnvelopeModel,
  RightModel,
  SignalModel,
  TaskModel,
  WorkspaceModel,
} from './records.ts'

export class RunModel {
  readonly id: string
  root: WorkspaceModel | undefined
  seq = 0
  /** Hash of the newest entry. */
  head: string | null = null
  lastTimestamp = ''
  taxonomy: string | null = null
  /** Every record by id, in the order of the log. */
  readonly log: string[] = []
  readonly workspaces = new Map<string, WorkspaceModel>()
  readonly envelopes = new Map<string, EnvelopeModel>()
  readonly rights = new Map<string, RightModel>()
  readonly signals = new Map<string, SignalModel>()
  /** Signals that wait, by `from to`, in order of emission. */
  readonly waiting = new Map<string, string[]>()
  readonly checkpoints = new Map<string, CheckpointModel>()
  readonly artifacts = new Map<string, string>()
  readonly graphs = new Map<string, string[]>()
  readonly tasks = new Map<string, TaskModel>()
  readonly entryTypes = new Map<string, EventType>()
  /** Bodies of objects whose entry follows. */
  readonly #objects = new Map<string, TrailObject>()

  constructor(id: string) {
    this.id = id
  }

  get ended(): boolean {
    return this.root !== undefined && isOver(this.root.status)
  }

  workspace(id: string): WorkspaceModel {
    const found = this.workspaces.get(id)
    if (!found) throw new Error(`no workspace ${id}`)
    return found
  }

  isRoot(id: string): boolean {
    return this.root?.id === id
  }

  isAbove(ancestor: string, id: string): boolean {
    for (let at = this.workspaces.get(id)?.parent ?? null; at !== null; at = this.workspace(at).parent)
      if (at === ancestor) return true
    return false
  }

  /** W-WS-15 */
  sees(reader: WorkspaceModel, target: string): boolean {
    return (
      reader.parent === null ||
      reader.id === target ||
      reader.visibility.has(target) ||
      this.isAbove(reader.id, target)
    )
  }

  /** Rights of one holder towards one target that can be used now. */
  activeRights(holder: string, target: string): RightModel[] {
    return [...this.rights.values()].filter(
      right => right.holder === holder && right.target === target && this.isActive(right),
    )
  }

  isActive(right: RightModel): boolean {
    return (
      right.status === 'active' &&
      !isOver(this.workspace(right.holder).status) &&
      !isOver(this.workspace(right.target).status)
    )
  }

  /** The order in which an inbox is read (W-WS-21). */
  inboxOrder(workspace: WorkspaceModel): string[] {
    const of = (priority: EnvelopePriority) =>
      workspace.inbox.filter(id => this.envelopes.get(id)?.priority === priority)
    return [...of('blocking'), ...of('urgent'), ...of('normal')]
  }

  object(object: TrailObject): void {
    this.log.push(object.id)
    if (object.kind === 'consumed') {
      const { workspace, envelope } = object.value as { workspace: string; envelope: string }
      const { inbox } = this.workspace(workspace)
      inbox.splice(inbox.indexOf(envelope), 1)
      this.envelopes.get(envelope)!.consumed = true
    } else if (object.kind === 'memory') {
      const { workspace, key, value } = object.value as { workspace: string; key: string; value?: unknown }
      const memory = this.workspaces.get(workspace)?.memory
      if (!memory) this.#objects.set(object.id, object)
      else if (value === undefined) memory.delete(key)
      else memory.set(key, object.id)
    } else this.#objects.set(object.id, object)
  }

  entry(entry: EntryDraft): void {
    this.seq++
    this.log.push(entry.id)
    this.lastTimestamp = entry.timestamp
    this.entryTypes.set(entry.id, entry.event_type)
    const fold = this.#folds[entry.event_type] as ((body: EventBody, entry: EntryDraft) => void) | undefined
    fold?.(entry.body, entry)
  }

  readonly #folds: { readonly [T in EventType]?: (body: EventBody<T>, entry: EntryDraft) => void } = {
    workspace_created: body => {
      const workspace: WorkspaceModel = {
        id: body.workspace_id,
        role: body.role,
        parent: body.parent,
        delegate: body.delegate,
        owner: body.owner,
        visibility: new Set(body.visibility_set),
        resources: body.authority_set.resources,
        task: body.task_ref ?? null,
        directive: body.directive ?? null,
        dispatches: this.#takeDirective(body.workspace_id),
        children: [],
        status: 'idle',
        remembered: null,
        ready: false,
        inbox: [],
        channels: new Map(),
        register: [],
        deliverable: null,
        memory: new Map(),
        integration: null,
        merging: null,
        merges: [],
      }
      this.workspaces.set(workspace.id, workspace)
      if (body.parent === null) {
        this.root = workspace
        this.taxonomy = body.taxonomy_id ?? null
      } else this.workspace(body.parent).children.push(workspace.id)
      for (const [id, { kind, value }] of this.#objects) {
        if (kind !== 'memory') continue
        workspace.memory.set((value as { key: string }).key, id)
        this.#objects.delete(id)
      }
    },
    workspace_state_changed: body => {
      const workspace = this.workspace(body.workspace_id)
      workspace.status = body.to_state
      workspace.remembered = body.to_state === 'suspended' ? body.from_state : null
      if (!isOver(body.to_state)) return
      for (const pair of this.waiting.keys()) if (pair.endsWith(` ${workspace.id}`)) this.waiting.delete(pair)
    },
    signal_emitted: (body, { actor, workspace }) => {
      const from = this.workspace(body.from)
      if (body.type === 'ready') from.ready = true
      const receipt = body.type === 'acknowledged' && actor === 'protocol'
      const notice = body.type === 'failed' && actor === 'protocol' && body.reason === 'delivery_exhausted'
      const envelope = receipt || notice ? this.envelopes.get(body.ref ?? '') : undefined
      if (receipt && envelope?.status === 'delivered') envelope.status = 'acknowledged'
      let to = envelope ? envelope.from : from.parent
      if (workspace === null || to === from.id || (to !== null && isOver(this.workspace(to).status)))
        to = null
      this.signals.set(body.signal_id, {
        id: body.signal_id,
        from: from.id,
        to,
        type: body.type,
        deliveries: 0,
      })
      if (to !== null) append(this.waiting, `${from.id} ${to}`, body.signal_id)
    },
    signal_delivered: body => {
      const signal = this.signals.get(body.signal_id)
      if (signal) signal.deliveries++
      take(this.waiting, `${body.from} ${body.delivered_to}`, body.signal_id)
    },
    envelope_created: body => {
      const object = this.#objects.get(body.envelope_id)
      this.#objects.delete(body.envelope_id)
      this.envelopes.set(body.envelope_id, {
        id: body.envelope_id,
        from: body.from,
        to: body.to,
        priority: body.priority,
        rights: (object?.value as { rights: EnvelopeModel['rights'] } | undefined)?.rights ?? [],
        status: 'validated',
        undeliverable: null,
        consumed: false,
        repeats: 0,
      })
      append(this.workspace(body.to).channels, body.from, body.envelope_id)
    },
    envelope_rejected: body => {
      this.envelopes.set(body.envelope_id, {
        id: body.envelope_id,
        from: body.from,
        to: body.to ?? '',
        priority: 'normal',
        rights: [],
        status: 'rejected',
        undeliverable: null,
        consumed: false,
        repeats: 0,
      })
    },
    envelope_delivered: body => {
      const envelope = this.envelopes.get(body.envelope_id)
      const receiver = this.workspace(body.to)
      if (!envelope) return
      envelope.status = 'delivered'
      take(receiver.channels, body.from, body.envelope_id)
      receiver.inbox.push(body.envelope_id)
    },
    envelope_redelivered: body => {
      const envelope = this.envelopes.get(body.envelope_id)
      if (envelope) envelope.repeats++
    },
    envelope_undeliverable: body => {
      const envelope = this.envelopes.get(body.envelope_id)
      if (!envelope) return
      envelope.undeliverable = body.reason
      take(this.workspace(body.to).channels, body.from, body.envelope_id)
    },
    port_right_created: body => {
      const { right_id: id, right_type: type, holder, target } = body
      this.rights.set(id, { id, type, holder, target, status: 'active' })
    },
    port_right_transferred: body => {
      const right = this.rights.get(body.right_id)
      if (right) right.holder = body.to_holder
    },
    port_right_revoked: body => {
      const right = this.rights.get(body.right_id)
      if (right) right.status = 'revoked'
    },
    port_right_consumed: body => {
      const right = this.rights.get(body.right_id)
      if (right) right.status = 'consumed'
    },
    checkpoint_created: body => {
      const { checkpoint_id: id, workspace, parent, status } = body
      this.#objects.delete(id)
      this.checkpoints.set(id, { id, workspace, parent, status })
      for (const artifact of body.artifact_ids ?? []) this.artifacts.set(artifact, id)
      const owner = this.workspace(workspace)
      owner.register.push(id)
      if (status === 'final') owner.deliverable = id
    },
    graph_created: body => {
      this.graphs.set(body.graph_id, [])
    },
    task_created: body => {
      this.#objects.delete(body.task_id)
      this.graphs.get(body.graph_id)?.push(body.task_id)
      this.tasks.set(body.task_id, {
        id: body.task_id,
        graph: body.graph_id,
        priority: body.priority,
        dependsOn: body.depends_on,
        parent: body.parent_task ?? null,
        status: 'draft',
        workspace: null,
        history: [],
        checkpoint: null,
      })
    },
    task_assigned: body => {
      const task = this.tasks.get(body.task_id)
      if (!task) return
      task.workspace = body.workspace_id
      task.history.push(body.workspace_id)
    },
    task_status_changed: body => {
      const task = this.tasks.get(body.task_id)
      if (!task) return
      task.status = body.to_status
      if (body.to_status === 'pending') task.checkpoint = null
      if (['pending', 'integrated', 'cancelled'].includes(body.to_status)) task.workspace = null
    },
    task_completed: body => {
      const task = this.tasks.get(body.task_id)
      if (task) task.checkpoint = body.checkpoint_id
    },
    integration_started: body => {
      this.workspace(body.source).integration = {
        target: body.target,
        checkpoint: body.checkpoint_ref ?? null,
      }
      this.workspace(body.target).merging = body.source
    },
    integration_completed: body => {
      this.workspace(body.target).merges.push(body.source)
      this.#endIntegration(body.source, body.target)
    },
    integration_aborted: body => this.#endIntegration(body.source, body.target),
  }

  #takeDirective(workspace: string): boolean {
    for (const [id, { kind, value }] of this.#objects) {
      const directive = value as { workspace?: string; dispatch?: boolean }
      if (kind !== 'directive' || directive.workspace !== workspace) continue
      this.#objects.delete(id)
      return directive.dispatch === true
    }
    return false
  }

  #endIntegration(source: string, target: string): void {
    this.workspace(source).integration = null
    this.workspace(target).merging = null
  }
}

export function isOver(status: string): boolean {
  return status === 'closed' || status === 'failed'
}

function append(map: Map<string, string[]>, key: string, item: string): void {
  const list = map.get(key)
  if (list) list.push(item)
  else map.set(key, [item])
}

function take(map: Map<string, string[]>, key: string, item: string): void {
  const list = map.get(key)
  const index = list?.indexOf(item) ?? -1
  if (!list || index < 0) return
  list.splice(index, 1)
  if (list.length === 0) map.delete(key)
}
