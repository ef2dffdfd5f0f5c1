// A run written by script, one lawful entry after the other: for tests, benchmarks and the demonstration. It stands in
// for a runtime: it stamps, files and appends, and decides nothing else.
import {
  type Clock,
  type EntryId,
  formatTimestamp,
  type IdSource,
  type Result,
  type RunId,
  StrictClock,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import { type EntryDraft, type ProposedEntry, stamp, type TrailObject } from '../entry.ts'
import type { EventBody, EventType, WorkspaceState } from '../events/index.ts'
import type { Appended, RunTrail } from '../run/run-trail.ts'
import type { Trail } from '../trail.ts'
import { exampleBody, exampleGenesis } from './examples.ts'

type Body<T extends EventType> = Partial<EventBody<T>>

export class ScriptedRun {
  readonly run: RunTrail
  readonly root: WorkspaceId
  readonly #ids: IdSource
  readonly #clock: StrictClock

  /** A new run, or one that is there already when its id and root are given. */
  constructor(trail: Trail, ids: IdSource, clock: Clock | StrictClock, known?: { run: RunId; root: WorkspaceId }) {
    this.run = trail.run(known?.run ?? (ids.next('run') as RunId))
    this.root = known?.root ?? (ids.next('ws') as WorkspaceId)
    this.#ids = ids
    this.#clock = clock instanceof StrictClock ? clock : new StrictClock(clock)
  }

  /** A new run with its root in place. */
  static async start(trail: Trail, ids: IdSource, clock: Clock | StrictClock): Promise<ScriptedRun> {
    const script = new ScriptedRun(trail, ids, clock)
    unwrap(await script.append(script.genesis()))
    return script
  }

  id(prefix: string): string {
    return this.#ids.next(prefix)
  }

  genesis(): ProposedEntry<'workspace_created'> {
    return {
      event_type: 'workspace_created',
      workspace: this.root,
      actor: 'protocol',
      body: exampleGenesis({ workspace_id: this.root, owner: 'operator', originator: 'system' }),
    }
  }

  /** A proposal of any type, with the example body of that type where nothing else is given. */
  entry<T extends EventType>(type: T, workspace: WorkspaceId | null, actor: string, body: Body<T> = {}): ProposedEntry {
    const { timestamp: _stamped, ...rest } = exampleBody(type, body as never) as { timestamp?: unknown }
    return { event_type: type, workspace, actor, body: rest } as ProposedEntry
  }

  /** Stamps and appends proposals as one batch. */
  append(...proposals: readonly ProposedEntry[]): Promise<Result<Appended>> {
    return this.appendWith([], ...proposals)
  }

  appendWith(objects: readonly TrailObject[], ...proposals: readonly ProposedEntry[]): Promise<Result<Appended>> {
    return this.run.append({ entries: this.drafts(proposals), objects })
  }

  drafts(proposals: readonly ProposedEntry[]): EntryDraft[] {
    const base = this.#clock.take(proposals.length)
    return proposals.map((proposal, index) => {
      const timestamp = formatTimestamp((base + index) as typeof base)
      const draft = stamp(proposal, this.#ids.next('e') as EntryId, timestamp)
      return 'delivered_at' in draft.body ? { ...draft, body: { ...draft.body, delivered_at: timestamp } } : draft
    })
  }

  async workspace(options: Body<'workspace_created'> = {}): Promise<WorkspaceId> {
    const id = this.#ids.next('ws') as WorkspaceId
    const body = { workspace_id: id, parent: this.root, role: 'worker', visibility_set: [], ...options }
    unwrap(await this.append(this.entry('workspace_created', id, 'system', body)))
    return id
  }

  async state(
    workspace: WorkspaceId,
    from: WorkspaceState,
    to: WorkspaceState,
    more: Body<'workspace_state_changed'> = {},
  ): Promise<void> {
    const body = {
      workspace_id: workspace,
      from_state: from,
      to_state: to,
      ...(to === 'failed' && { reason: 'timeout' }),
      ...more,
    }
    unwrap(await this.append(this.entry('workspace_state_changed', workspace, 'protocol', body)))
  }

  async envelope(from: WorkspaceId, to: WorkspaceId, actor: string): Promise<string> {
    const envelope_id = this.#ids.next('env')
    const created = this.entry('envelope_created', from, actor, { envelope_id, from, to, in_reply_to: null })
    const delivered = this.entry('envelope_delivered', to, 'protocol', { envelope_id, from, to })
    unwrap(await this.append(created, delivered))
    return envelope_id
  }

  async checkpoint(workspace: WorkspaceId, more: Body<'checkpoint_created'> = {}): Promise<string> {
    const checkpoint_id = this.#ids.next('cp')
    unwrap(
      await this.append(this.entry('checkpoint_created', workspace, 'worker', { checkpoint_id, workspace, ...more })),
    )
    return checkpoint_id
  }

  /** Ends the run: the root is terminal. */
  async end(): Promise<void> {
    await this.state(this.root, 'active', 'closed')
  }
}
