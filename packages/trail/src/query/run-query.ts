// Queries of one run: checked, narrowed to what the reader may see, answered by the store from durable entries.
import { asParleyError, err, invariant, ok, type Result, type RunId } from '@parley/core'
import type { Entry, ProposedEntry } from '../entry.ts'
import { trailLimits } from '../limits.ts'
import { globalEntry, localEntry } from '../run/chain.ts'
import type { AggregateRow, StoreFilter, TrailStore } from '../store/store.ts'
import { Predecessors } from '../verify/predecessors.ts'
import { type Access, accessOf, type TrailReader } from './access.ts'
import type { RunModel } from './model.ts'
import {
  namedWorkspaces,
  needsModel,
  parseAggregate,
  parseQuery,
  storeFilter,
  type TrailAggregate,
  type TrailFilter,
  type TrailQuery,
} from './query.ts'
import { groupedRows } from './run-aggregate.ts'

export interface QueryPage {
  readonly entries: readonly Entry[]
  /** `seq` of the last entry returned: hand it back as `after` for the next page. */
  readonly cursor: number
  readonly more: boolean
  /** Attempts to read outside the reader's scope, for the runtime to record. */
  readonly denials: readonly ProposedEntry[]
  /** What could not be read, where something could not. */
  readonly partial?: readonly string[]
}

export interface Aggregated {
  readonly rows: readonly AggregateRow[]
  readonly denials: readonly ProposedEntry[]
}

export class RunQueries {
  readonly #run: RunId
  readonly #store: TrailStore
  readonly #model: () => Promise<RunModel>

  /** `model` reads the run on first use: it is asked only where a filter or a reader needs it. */
  constructor(run: RunId, store: TrailStore, model: () => Promise<RunModel>) {
    this.#run = run
    this.#store = store
    this.#model = model
  }

  async query(query: TrailQuery, reader: TrailReader): Promise<Result<QueryPage>> {
    const parsed = parseQuery(query)
    if (!parsed.ok) return parsed
    const { after, order = 'ascending', limit = trailLimits.pageEntries } = parsed.value
    try {
      const { filter, denials } = await this.#plan(parsed.value, reader)
      const bound = after === undefined ? {} : order === 'ascending' ? { after } : { before: after }
      const page = await this.#store.select({ ...filter, ...bound, order, limit })
      const global = page.entries.map(globalEntry)
      invariant(continues(after, order, global[0]?.seq), 'a page begins behind its cursor, in its order')
      const entries = parsed.value.scope === 'local' ? await this.#asLocal(global) : global
      return ok({
        entries,
        cursor: entries.at(-1)?.seq ?? after ?? 0,
        more: page.more,
        denials,
        ...(page.partial && { partial: page.partial }),
      })
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  async aggregate(query: TrailAggregate, reader: TrailReader): Promise<Result<Aggregated>> {
    const parsed = parseAggregate(query)
    if (!parsed.ok) return parsed
    const { group, sum } = parsed.value
    try {
      const { filter, denials } = await this.#plan(parsed.value.filter, reader)
      const summed = sum === undefined ? {} : { sum: sum.split('.') }
      const grouping = { filter, group, ...summed, owner: parsed.value.filter.owner }
      return ok({ rows: await groupedRows(this.#store, grouping, this.#model), denials })
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  async #plan(filter: TrailFilter, reader: TrailReader): Promise<Access & { filter: StoreFilter }> {
    const { after: _after, order: _order, limit: _limit, ...plain } = filter as TrailQuery
    const model = reader.kind === 'runtime' && !needsModel(plain) ? undefined : await this.#model()
    const reach = { scope: plain.scope, workspaces: namedWorkspaces(plain) }
    const access = model ? accessOf(reader, reach, model) : { workspaces: undefined, denials: [] }
    return { ...access, filter: storeFilter(this.#run, plain, access, model) }
  }

  /** The local chain's links: an entry's predecessor may be on another page, filtered out, or deleted. */
  async #asLocal(entries: readonly Entry[]): Promise<Entry[]> {
    const before = new Predecessors(this.#store, this.#run)
    const shown: Entry[] = []
    for (const entry of entries) shown.push(localEntry(entry, await before.localHash(entry)))
    return shown
  }
}

function continues(after: number | undefined, order: 'ascending' | 'descending', first: number | undefined): boolean {
  if (after === undefined || first === undefined) return true
  return order === 'ascending' ? first > after : first < after
}
