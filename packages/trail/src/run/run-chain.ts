// Where a run's chains stand, and whether a draft may come next (W-TRAIL-01 to 03, 07, 08, 13). The state runs ahead of
// the disk: batches are linked while earlier ones are being written, and taken back if those fail.
import { isId, isTimestamp, limits, ParleyError, type RunId, type Timestamp, type WorkspaceId } from '@parley/core'
import type { EntryDraft, StoredEntry } from '../entry.ts'
import { actorAdmitted } from '../events/actor.ts'
import { filedUnder } from '../events/filing.ts'
import { type EventBody, type EventType, isTerminal } from '../events/index.ts'
import { checkBody } from '../events/registry.ts'
import type { BridgedEntry } from '../store/store.ts'
import { link } from './chain.ts'

/** What a finished run still takes, all system-level (W-TRAIL-13). */
const AFTER_THE_END: ReadonlySet<EventType> = new Set([
  'trail_compacted',
  'trail_snapshot_created',
  'integrity_violation',
  'trail_access_denied',
  'capability_denied',
  'authentication_failed',
])

interface LocalHead {
  readonly hash: string
  readonly timestamp: Timestamp
  readonly terminal: boolean
}

/** Where a run stands, apart from its workspaces. */
interface Standing {
  readonly seq: number
  readonly hash: string | null
  readonly root: WorkspaceId | undefined
  readonly ended: boolean
  readonly systemTimestamp: Timestamp | ''
}

/** Where the chains stand, as plain data. */
export interface ChainState extends Standing {
  readonly locals: Map<WorkspaceId, LocalHead>
  readonly roles: Set<string>
}

/** How to take back what one batch did to the chains. */
export interface ChainMark extends Standing {
  readonly locals: (readonly [WorkspaceId, LocalHead | undefined])[]
  readonly roles: string[]
}

export class RunChain {
  readonly run: RunId
  #seq: number
  #hash: string | null
  #root: WorkspaceId | undefined
  #ended: boolean
  #systemTimestamp: Timestamp | ''
  readonly #locals: Map<WorkspaceId, LocalHead>
  readonly #roles: Set<string>

  constructor(run: RunId, state?: ChainState) {
    this.run = run
    this.#seq = state?.seq ?? 0
    this.#hash = state?.hash ?? null
    this.#root = state?.root
    this.#ended = state?.ended ?? false
    this.#systemTimestamp = state?.systemTimestamp ?? ''
    this.#locals = state?.locals ?? new Map()
    this.#roles = state?.roles ?? new Set()
  }

  get seq(): number {
    return this.#seq
  }

  get hash(): string | null {
    return this.#hash
  }

  get ended(): boolean {
    return this.#ended
  }

  state(): ChainState {
    return { ...this.mark(), locals: this.#locals, roles: this.#roles }
  }

  mark(): ChainMark {
    return {
      seq: this.#seq,
      hash: this.#hash,
      root: this.#root,
      ended: this.#ended,
      systemTimestamp: this.#systemTimestamp,
      locals: [],
      roles: [],
    }
  }

  reset(mark: ChainMark): void {
    this.#seq = mark.seq
    this.#hash = mark.hash
    this.#root = mark.root
    this.#ended = mark.ended
    this.#systemTimestamp = mark.systemTimestamp
    for (const [workspace, head] of mark.locals.toReversed()) {
      if (head) this.#locals.set(workspace, head)
      else this.#locals.delete(workspace)
    }
    for (const role of mark.roles) this.#roles.delete(role)
  }

  /** Links one draft, or says why it cannot come next. What changed is noted in `mark`. */
  extend(draft: EntryDraft, mark: ChainMark): StoredEntry | ParleyError {
    const local = draft.workspace === null ? undefined : this.#locals.get(draft.workspace)
    const refusal = this.#check(draft, local)
    if (refusal) return refusal
    let linked: ReturnType<typeof link>
    try {
      linked = link(draft, this.#hash, local?.hash ?? null)
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : 'no canonical form'
      return new ParleyError('invalid_body', `${draft.event_type}: ${message}`, { cause })
    }
    if (linked.view.length > limits.entryBytes) {
      return invalid(
        draft,
        `takes ${linked.view.length} bytes; the limit is ${limits.entryBytes}. Keep payloads in objects`,
      )
    }
    if (draft.workspace !== null) mark.locals.push([draft.workspace, local])
    this.#advance(draft, linked.hash, linked.localHash, mark.roles)
    const { view, hash } = linked
    return { kind: 'entry', run: this.run, seq: this.#seq, view, hash }
  }

  /** Takes an entry that is already durable, while a run is being opened. */
  restore(entry: EntryDraft, hash: string, localHash: string | undefined): void {
    this.#advance(entry, hash, localHash)
  }

  /** Takes the place of an entry that was deleted after its retention: only its manifest still tells of it. */
  bridge({ workspace, hash, localHash }: BridgedEntry, timestamp: Timestamp): void {
    this.#seq++
    this.#hash = hash
    // A run begins with its root.
    this.#root ??= workspace ?? undefined
    if (workspace === null) this.#systemTimestamp = timestamp
    else this.#locals.set(workspace, { hash: localHash ?? '', timestamp, terminal: false })
  }

  #advance(draft: EntryDraft, hash: string, localHash: string | undefined, newRoles?: string[]): void {
    this.#seq++
    this.#hash = hash
    if (draft.workspace === null) {
      this.#systemTimestamp = draft.timestamp
      // Taken of runs that have ended (W-TRAIL-30); where retention has deleted the end, this still tells of it.
      if (draft.event_type === 'trail_snapshot_created') this.#ended = true
      return
    }
    let terminal = false
    if (draft.event_type === 'workspace_created') {
      const body = draft.body as EventBody<'workspace_created'>
      this.#root ??= draft.workspace
      if (!this.#roles.has(body.role)) {
        this.#roles.add(body.role)
        newRoles?.push(body.role)
      }
    } else if (draft.event_type === 'workspace_state_changed') {
      terminal = isTerminal((draft.body as EventBody<'workspace_state_changed'>).to_state)
      if (terminal && draft.workspace === this.#root) this.#ended = true
    }
    this.#locals.set(draft.workspace, { hash: localHash ?? '', timestamp: draft.timestamp, terminal })
  }

  #check(draft: EntryDraft, local: LocalHead | undefined): ParleyError | undefined {
    const bad = checkBody(draft.event_type, draft.body)
    if (bad) return bad
    if (!isId(draft.id)) return invalid(draft, 'needs an id of 1 to 64 visible ASCII characters')
    if (!isTimestamp(draft.timestamp))
      return invalid(draft, 'needs a timestamp of the form YYYY-MM-DDTHH:MM:SS.ffffffZ')
    if (this.#root === undefined) return checkGenesis(draft)
    if (this.#ended && (draft.workspace !== null || !AFTER_THE_END.has(draft.event_type))) {
      return invalid(draft, 'cannot follow the end of its run')
    }
    // W-TRAIL-30: by this entry a later reader takes the run for ended.
    if (!this.#ended && draft.event_type === 'trail_snapshot_created')
      return invalid(draft, 'cannot come before the end of its run')
    return (
      this.#checkFiling(draft, this.#root, local) ??
      this.#checkActor(draft) ??
      this.#checkTime(draft, local) ??
      checkRepeats(draft)
    )
  }

  /** W-TRAIL-08 and the registry's column "filed under". */
  #checkFiling(draft: EntryDraft, root: WorkspaceId, local: LocalHead | undefined): ParleyError | undefined {
    const expected = filedUnder(draft.event_type, draft.body, root)
    const { workspace } = draft
    if (draft.event_type === 'workspace_created') {
      if (workspace !== expected) return invalid(draft, `is filed under ${shown(expected)}, not ${shown(workspace)}`)
      return local ? invalid(draft, `names ${workspace}, which already exists`) : undefined
    }
    if (workspace === null) {
      const open = expected !== null && expected !== 'caller' && this.#locals.get(expected)?.terminal === false
      return open ? invalid(draft, `is filed under ${shown(expected)}, not as a system-level entry`) : undefined
    }
    if (expected !== 'caller' && workspace !== expected) {
      return invalid(draft, `is filed under ${shown(expected)}, not ${workspace}`)
    }
    if (!local) return invalid(draft, `names the workspace ${workspace}, which does not exist in this run`)
    if (local.terminal)
      return invalid(draft, `is filed under ${workspace}, which is terminal; such entries are system-level`)
    return undefined
  }

  /** W-TRAIL-02. */
  #checkActor(draft: EntryDraft): ParleyError | undefined {
    if (draft.actor.length === 0 || draft.actor.length > 256)
      return invalid(draft, 'needs an actor of 1 to 256 characters')
    if (actorAdmitted(draft.event_type, draft.actor, this.#roles)) return undefined
    return invalid(draft, `does not admit the actor '${draft.actor}'`)
  }

  /** W-TRAIL-07: fixed-width timestamps compare as text. */
  #checkTime(draft: EntryDraft, local: LocalHead | undefined): ParleyError | undefined {
    const last = draft.workspace === null ? this.#systemTimestamp : (local?.timestamp ?? '')
    if (draft.timestamp > last) return undefined
    const where = draft.workspace ?? 'the system-level entries'
    return new ParleyError(
      'non_monotonic_timestamp',
      `${draft.event_type} at ${draft.timestamp} is not later than the last entry of ${where}, ${last}.`,
      {
        details: { timestamp: draft.timestamp, last },
      },
    )
  }
}

/** The first entry of a run is the creation of its root (W-TRAIL-13); its body was checked already. */
function checkGenesis(draft: EntryDraft): ParleyError | undefined {
  const body = draft.body as Partial<EventBody<'workspace_created'>>
  if (draft.event_type !== 'workspace_created' || body.parent !== null) {
    return new ParleyError(
      'not_initialized',
      `${draft.event_type} cannot be the first entry of a run: that is the root's workspace_created.`,
    )
  }
  if (draft.workspace !== body.workspace_id) return invalid(draft, `is filed under ${body.workspace_id}`)
  return draft.actor === 'protocol' ? undefined : invalid(draft, "of a root has the actor 'protocol'")
}

/** A timestamp that a body repeats equals the header's (AMB-42). */
function checkRepeats({ body, timestamp, ...draft }: EntryDraft): ParleyError | undefined {
  const repeated = body as { readonly timestamp?: unknown; readonly delivered_at?: unknown }
  if ((repeated.timestamp ?? timestamp) === timestamp && (repeated.delivered_at ?? timestamp) === timestamp)
    return undefined
  return new ParleyError('invalid_body', `${draft.event_type}: a timestamp in the body differs from the entry's own.`)
}

function invalid(draft: EntryDraft, message: string): ParleyError {
  return new ParleyError('invalid_entry', `${draft.event_type} ${message}.`, {
    details: { event_type: draft.event_type },
  })
}

function shown(workspace: WorkspaceId | null | 'caller'): string {
  return workspace === null ? 'no workspace' : workspace
}
