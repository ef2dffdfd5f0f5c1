// What a run's records mean, folded a second time and independently of the kernel: plain maps, no shared code. The
// simulator compares it with the kernel's own state, and chooses from it what to do next.
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EnvelopePriority, EventBody, EventType } from '@parley/trail/events'
import type { Tier } from '@parley/trail/testing'
import { highwayFolds, type ModelFolds } from './highway.ts'
import {
  type CheckpointModel,
  type EnvelopeModel,
  type EscalationModel,
  type GateEnd,
  type GateModel,
  type HighwayModel,
  isOver,
  type RightModel,
  type SalvageModel,
  type SignalModel,
  type TaskModel,
  ticksOf,
  type UserModel,
  type WorkspaceModel,
} from './records.ts'
import { successionFolds } from './succession.ts'
import { topologyFolds } from './topology.ts'
import { userFolds } from './user.ts'
import { workFolds } from './work.ts'

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
  /** Entries as they were handed in, by `seq` - 1, and objects. */
  readonly drafts: EntryDraft[] = []
  readonly objects = new Map<string, TrailObject>()
  /** Records that were deleted after their retention, by id. */
  readonly gone = new Set<string>()
  /** Hash of each archive that is summed up: its entries, and which entry says so. */
  readonly summaries = new Map<string, { readonly entries: number; readonly by: string }>()
  /** Where entries were seen last. */
  readonly tiers = new Map<number, Tier>()
  /** Timestamp of the terminal entry of the root. */
  endedAt = ''
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
  /** Null: there is none. */
  highway: HighwayModel | null = null
  budgetWarning = 80
  /** Gates that wait, and how others ended. */
  readonly gates = new Map<string, GateModel>()
  readonly gateEnds = new Map<string, GateEnd>()
  /** What fallbacks decided, by type and subject (W-HWY-11). */
  readonly guards = new Map<string, string>()
  readonly escalations = new Map<string, EscalationModel>()
  /** The newest salvage of each source. */
  readonly salvages = new Map<string, SalvageModel>()
  /** How salvages ended so far, by `source end`. */
  readonly salvaged = new Set<string>()
  /** Integrations that were approved while another one held their target. */
  readonly approved = new Set<string>()
  /** Groups whose batch abort waits for gates, with the members that wait. */
  readonly batchAborts = new Map<string, readonly string[]>()
  house = false
  readonly users = new Map<string, UserModel>()
  readonly entryTypes = new Map<string, EventType>()
  /** Objects whose entry follows. */
  readonly staged = new Map<string, TrailObject>()

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

  /** The same with every parent that a workspace ever had. */
  wasAbove(ancestor: string, id: string): boolean {
    const parents = this.workspaces.get(id)?.parents ?? []
    return parents.some(parent => parent === ancestor || this.wasAbove(ancestor, parent))
  }

  /** A workspace and all below it. */
  subtree(workspace: WorkspaceModel): WorkspaceModel[] {
    return [workspace, ...workspace.children.flatMap(id => this.subtree(this.workspace(id)))]
  }

  /** W-WS-15 */
  sees(reader: WorkspaceModel, target: string): boolean {
    return (
      reader.parent === null || reader.id === target || reader.visibility.has(target) || this.isAbove(reader.id, target)
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
    this.objects.set(object.id, object)
    const { kind, value } = object
    switch (kind) {
      case 'consumed': {
        const { workspace, envelope } = value as { workspace: string; envelope: string }
        const { inbox } = this.workspace(workspace)
        inbox.splice(inbox.indexOf(envelope), 1)
        this.envelopes.get(envelope)!.consumed = true
        return
      }
      case 'memory': {
        const { workspace, key, value: written } = value as { workspace: string; key: string; value?: unknown }
        const memory = this.workspaces.get(workspace)?.memory
        if (!memory) this.staged.set(object.id, object)
        else if (written === undefined) memory.delete(key)
        else memory.set(key, object.id)
        return
      }
      case 'settings':
        this.budgetWarning = (value as { budget_warning: number }).budget_warning
        return
      case 'highway':
        this.highway = value as HighwayModel
        return
      case 'usage':
        this.#use(value as { workspace: string; tokens?: number; cost?: number; context?: number })
        return
      case 'answer': {
        const { signal, envelope } = value as { signal: string; envelope: string }
        const escalation = this.escalations.get(signal)
        if (escalation) escalation.answer = envelope
        return
      }
      case 'approved_integration':
        this.approved.add((value as { source: string }).source)
        return
      case 'batch_abort': {
        const { group, waiting } = value as { group: string; waiting: readonly string[] }
        this.batchAborts.set(group, waiting)
        return
      }
      case 'context':
        if (!this.root) this.#found(value)
        return
      default:
        this.staged.set(object.id, object)
    }
  }

  #use({
    workspace,
    tokens = 0,
    cost = 0,
    context,
  }: {
    workspace: string
    tokens?: number
    cost?: number
    context?: number
  }): void {
    const { usage } = this.workspace(workspace)
    usage.tokens += tokens
    usage.cost += cost
    if (context !== undefined) usage.context = context
  }

  /** A house begins with the users of the one before it. */
  #found(context: unknown): void {
    const { house, users = [] } = context as { house?: boolean; users?: readonly Record<string, unknown>[] }
    this.house = house === true
    for (const { id, state, capabilities = '', suspension } of this.house ? users : [])
      this.users.set(String(id), {
        id: String(id),
        state: state as UserModel['state'],
        suspended: suspension !== undefined,
        capabilities: new Set(String(capabilities).split(' ').filter(Boolean) as never[]),
        changes: 0,
      })
  }

  entry(entry: EntryDraft): void {
    this.seq++
    this.log.push(entry.id)
    this.drafts.push(entry)
    this.lastTimestamp = entry.timestamp
    this.entryTypes.set(entry.id, entry.event_type)
    const filed = entry.workspace === null ? undefined : this.workspaces.get(entry.workspace)
    if (filed) filed.lastEntry = ticksOf(entry)
    if (filed && entry.event_type !== 'liveness_warning') filed.lastActivity = entry.timestamp
    const fold = FOLDS[entry.event_type] as ((run: RunModel, body: EventBody, entry: EntryDraft) => void) | undefined
    const before = this.ended
    fold?.(this, entry.body, entry)
    if (this.ended && !before) this.endedAt = entry.timestamp
  }
}

const FOLDS: ModelFolds = {
  ...workFolds,
  ...successionFolds,
  ...highwayFolds,
  ...topologyFolds,
  ...userFolds,
  trail_compacted: (run, body, { id }) => {
    run.summaries.set(body.archive_hash, { entries: body.entries_archived, by: id })
  },
}
