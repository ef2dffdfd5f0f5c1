// The read model of one run: what queries need to know about workspaces. Folded from entries; it decides nothing.
import type { UserId, WorkspaceId } from '@parley/core'
import type { EntryDraft } from '../entry.ts'
import { type EventBody, type EventType, isTerminal, type WorkspaceState } from '../events/index.ts'

export interface WorkspaceFacts {
  readonly id: WorkspaceId
  readonly role: string
  readonly delegate: boolean
  readonly originator: string
  readonly group: string | undefined
  readonly created: number
  parent: WorkspaceId | null
  state: WorkspaceState
  /** `seq` of the entry that made it terminal. */
  ended: number | undefined
  /** Owners in order, each from the `seq` at which it became the owner. */
  readonly owners: { readonly owner: string; readonly from: number }[]
  /** What it may see beyond itself and its descendants. */
  readonly visible: Set<WorkspaceId>
  readonly children: Set<WorkspaceId>
}

export interface ModelState {
  readonly workspaces: Map<WorkspaceId, WorkspaceFacts>
  readonly root: WorkspaceId | undefined
  readonly lost?: LostFacts
}

/** What is known of a run although retention has deleted entries that told of it (W-TRAIL-28). */
interface LostFacts {
  /** `seq` of the newest deleted entry that was filed under a workspace: none follows the end of a run. */
  filed: number | undefined
  /** `seq` of the entry that ended the run, where the facts of the root do not tell. */
  end: number | undefined
}

export class RunModel {
  readonly workspaces: Map<WorkspaceId, WorkspaceFacts>
  root: WorkspaceId | undefined
  readonly #lost: LostFacts

  constructor(state?: ModelState) {
    this.workspaces = state?.workspaces ?? new Map()
    this.root = state?.root
    this.#lost = state?.lost ?? { filed: undefined, end: undefined }
  }

  state(): ModelState {
    return { workspaces: this.workspaces, root: this.root, lost: this.#lost }
  }

  apply(entry: EntryDraft, seq: number): void {
    const fold = FOLDS[entry.event_type] as Fold<EventType> | undefined
    fold?.(this, entry.body, seq)
  }

  get ended(): boolean {
    return this.end !== undefined
  }

  /** `seq` of the entry that ended the run; it may have been deleted since. */
  get end(): number | undefined {
    const root = this.root === undefined ? undefined : this.workspaces.get(this.root)
    return root?.ended ?? this.#lost.end
  }

  /** Goes over an entry of which only its manifest tells (W-TRAIL-29). The first of a run is its root's. */
  bridge(workspace: WorkspaceId | null, seq: number): void {
    if (workspace === null) return
    this.root ??= workspace
    this.#lost.filed = seq
  }

  /** The run has ended: at `seq`, or where that is unknown, with the newest deleted entry that can have been it. */
  endedBy(seq: number | undefined): void {
    this.#lost.end ??= seq ?? this.#lost.filed
  }

  subtree(workspace: WorkspaceId): Set<WorkspaceId> {
    const found = new Set<WorkspaceId>([workspace])
    for (const each of found) for (const child of this.workspaces.get(each)?.children ?? []) found.add(child)
    return found
  }

  /** Explicit set, itself and its descendants (W-TOPO-VIS-01). */
  effectiveVisibility(workspace: WorkspaceId): Set<WorkspaceId> {
    const found = this.subtree(workspace)
    for (const each of this.workspaces.get(workspace)?.visible ?? []) found.add(each)
    return found
  }
}

type Fold<T extends EventType> = (model: RunModel, body: EventBody<T>, seq: number) => void

const FOLDS: { readonly [T in EventType]?: Fold<T> } = {
  workspace_created(model, body, seq) {
    const id = body.workspace_id as WorkspaceId
    model.root ??= id
    model.workspaces.set(id, {
      id,
      role: body.role,
      delegate: body.delegate,
      originator: body.originator,
      group: body.group ?? undefined,
      created: seq,
      parent: body.parent as WorkspaceId | null,
      state: 'idle',
      ended: undefined,
      owners: [{ owner: body.owner, from: seq }],
      visible: new Set(body.visibility_set as WorkspaceId[]),
      children: new Set(),
    })
    if (body.parent !== null) model.workspaces.get(body.parent as WorkspaceId)?.children.add(id)
  },
  workspace_state_changed(model, body, seq) {
    const facts = model.workspaces.get(body.workspace_id as WorkspaceId)
    if (!facts) {
      if (body.workspace_id === model.root && isTerminal(body.to_state)) model.endedBy(seq)
      return
    }
    facts.state = body.to_state
    if (isTerminal(body.to_state)) facts.ended ??= seq
  },
  workspace_ownership_transferred(model, body, seq) {
    // A transfer never rewrites history: entries before it keep their owner (W-TRAIL-17).
    model.workspaces.get(body.workspace_id as WorkspaceId)?.owners.push({ owner: body.to_user as UserId, from: seq })
  },
  workspace_reparented(model, body) {
    const id = body.workspace_id as WorkspaceId
    const facts = model.workspaces.get(id)
    if (!facts) return
    model.workspaces.get(body.old_parent as WorkspaceId)?.children.delete(id)
    model.workspaces.get(body.new_parent as WorkspaceId)?.children.add(id)
    facts.parent = body.new_parent as WorkspaceId
  },
  trail_snapshot_created(model) {
    // Taken of runs that have ended (W-TRAIL-30), and what lets retention delete the end.
    model.endedBy(undefined)
  },
  visibility_granted(model, body) {
    model.workspaces.get(body.workspace_id as WorkspaceId)?.visible.add(body.target as WorkspaceId)
  },
}
