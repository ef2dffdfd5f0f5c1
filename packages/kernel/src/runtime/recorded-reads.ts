// Reading in somebody's name. What they reach for and may not see is on record (W-WS-15, W-TRAIL-19, -20): in the run,
// and once that has ended, in the house.
import {
  type IdSource,
  ok,
  type Result,
  type RunId,
  type StrictClock,
  type UserId,
  type WorkspaceId,
} from '@parley/core'
import type {
  Aggregated,
  ProposedEntry,
  QueryPage,
  ReadableRun,
  Trail,
  TrailAggregate,
  TrailFilter,
  TrailQuery,
  TrailReader,
} from '@parley/trail'
import { bodyLimits, CAPABILITIES, isReservedActor } from '@parley/trail/events'
import { clip, type UserDirectory } from '../batch.ts'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import type { House } from '../house/house.ts'
import { elsewhere, invalidState, refusal } from '../refusal.ts'
import type { Runs } from './runs.ts'

interface ReadsOptions {
  readonly trail: Trail
  readonly runs: Runs
  readonly stamps: StrictClock
  readonly ids: IdSource
  readonly house: () => House
  readonly directory: UserDirectory | undefined
  readonly observersReadGlobally: boolean
}

export class RecordedReads {
  readonly #options: ReadsOptions

  constructor(options: ReadsOptions) {
    this.#options = options
  }

  /** Allowed reads need no entry, so that they work while none can be written (W-REC-08), and after the run. */
  async mayRead(run: RunId, command: Command): Promise<Result<unknown>> {
    const actor = await this.#options.runs.open(run)
    if (!actor.ok) return actor
    const context = { now: this.#options.stamps.next(), ids: this.#options.ids }
    const { result, entries } = await actor.value.read(state => decide(state, command, context))
    if (entries.length === 0) return result
    const live = await this.#inRun(run, command)
    if (live) return live
    const recorded = await this.#options.house().record(entries as readonly ProposedEntry[])
    return recorded.ok ? elsewhere(result) : recorded
  }

  async query(run: RunId, query: TrailQuery, workspace: WorkspaceId): Promise<Result<QueryPage>> {
    const reader = await this.#agentReader(run, workspace)
    return reader.ok ? this.#onRecord(run, await this.#trail(run).query(query, reader.value)) : reader
  }

  async aggregate(run: RunId, query: TrailAggregate, workspace: WorkspaceId): Promise<Result<Aggregated>> {
    const reader = await this.#agentReader(run, workspace)
    return reader.ok ? this.#onRecord(run, await this.#trail(run).aggregate(query, reader.value)) : reader
  }

  async queryAsUser(run: RunId, query: TrailQuery, user: string): Promise<Result<QueryPage>> {
    const reader = await this.#userReader(run, user)
    return reader.ok ? this.#onRecord(run, await this.#trail(run).query(query, reader.value)) : reader
  }

  /** W-TRAIL-20: only attempts of strangers, or to see what is not theirs, are on record. */
  async watchAsUser(
    run: RunId,
    filter: TrailFilter & { readonly after?: number },
    user: string,
    signal?: AbortSignal,
  ): Promise<Result<AsyncGenerator<QueryPage>>> {
    const reader = await this.#userReader(run, user)
    if (!reader.ok) return reader
    if (!(await this.#options.runs.read(run, state => state.highway.visibility)))
      return invalidState(`The run ${run} is not shown live; query its trail instead.`, 'visibility_off')
    const { after: _from, ...asked } = filter
    const looked = await this.#trail(run).query({ ...asked, limit: 1 }, reader.value)
    const allowed = await this.#onRecord(run, looked)
    return allowed.ok ? ok(this.#trail(run).watch(filter, reader.value, signal)) : allowed
  }

  async record(run: RunId, entries: readonly ProposedEntry[]): Promise<Result<void>> {
    return (await this.#inRun<void>(run, { type: 'record', entries })) ?? this.#options.house().record(entries)
  }

  async #inRun<T>(run: RunId, command: Command): Promise<Result<T> | undefined> {
    const live = await this.#options.runs.get(run)?.submit<T>(command)
    return live && (live.ok || live.error.code !== 'invalid_state') ? live : undefined
  }

  #trail(run: RunId): ReadableRun {
    return this.#options.trail.readable(run)
  }

  async #onRecord<T extends { readonly denials: readonly ProposedEntry[] }>(
    run: RunId,
    found: Result<T>,
  ): Promise<Result<T>> {
    if (!found.ok || found.value.denials.length === 0) return found
    const recorded = await this.record(run, found.value.denials)
    return recorded.ok ? found : recorded
  }

  async #agentReader(run: RunId, workspace: WorkspaceId): Promise<Result<TrailReader>> {
    const global = this.#options.observersReadGlobally ? await this.#observes(run, workspace) : ok(false)
    return global.ok ? ok({ kind: 'agent', workspace, ...(global.value && { global: true }) }) : global
  }

  async #observes(run: RunId, workspace: WorkspaceId): Promise<Result<boolean>> {
    const actor = await this.#options.runs.open(run)
    if (!actor.ok) return actor
    const observes = await actor.value.read(state => {
      const role = state.workspaces.get(workspace)?.role ?? ''
      return state.vocabulary.roles.get(role)?.base === 'observer'
    })
    return ok(observes)
  }

  async #userReader(run: RunId, user: string): Promise<Result<TrailReader>> {
    const actor = await this.#options.runs.open(run)
    if (!actor.ok) return actor
    const roles = await actor.value.read(state => new Set(state.vocabulary.roles.keys()))
    const reader = userReader(this.#options.directory, user, roles)
    if (reader) return ok(reader)
    const reason = 'unknown_identity'
    const entity = clip(user.toWellFormed(), bodyLimits.nameLength)
    const body = { entity, context: 'highway_access', reason, source: '' } as const
    const recorded = await this.record(run, [
      { event_type: 'authentication_failed', workspace: null, actor: 'protocol', body },
    ])
    if (!recorded.ok) return recorded
    return refusal('permission_denied', `There is no user ${clip(user, 80)}: authenticate first.`, { reason })
  }
}

function userReader(
  users: UserDirectory | undefined,
  user: string,
  roles: ReadonlySet<string>,
): TrailReader | undefined {
  if (isReservedActor(user, roles)) return undefined
  if (users && users.stateOf(user) === undefined) return undefined
  // Asked anew for every page: who watches for long may lose what they hold.
  return {
    kind: 'user',
    user: user as UserId,
    get state() {
      return users?.stateOf(user) ?? 'active'
    },
    get capabilities() {
      return new Set(CAPABILITIES.filter(each => users?.holds(user, each) ?? true))
    },
  }
}
