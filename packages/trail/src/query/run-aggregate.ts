// Grouping by a dimension (W-TRAIL-18); originator, owner and group follow from the workspace and are derived here.
import type { WorkspaceId } from '@parley/core'
import type { AggregateRow, StoreFilter, TrailStore } from '../store/store.ts'
import type { RunModel } from './model.ts'
import { ownedSpans } from './query.ts'

interface Grouping {
  readonly filter: StoreFilter
  /** A dimension, or `body.` and a path; one row for everything when absent. */
  readonly group: string | undefined
  readonly sum?: readonly string[]
  /** The one owner that the filter asks for. */
  readonly owner: string | undefined
}

export async function groupedRows(
  store: TrailStore,
  grouping: Grouping,
  model: () => Promise<RunModel>,
): Promise<readonly AggregateRow[]> {
  const { filter, group, sum } = grouping
  const query = { filter, ...(sum && { sum }) }
  switch (group) {
    case undefined:
      return store.aggregate(query)
    case 'workspace':
    case 'actor':
    case 'event_type':
      return store.aggregate({ ...query, groupBy: group })
    case 'role':
      return store.aggregate({ ...query, groupBy: 'actor' })
    case 'originator':
    case 'group': {
      const rows = await store.aggregate({ ...query, groupBy: 'workspace' })
      const { workspaces } = await model()
      const keyOf = (key: AggregateRow['key']) => workspaces.get(key as WorkspaceId)?.[group] ?? null
      return merged(rows.map(row => ({ ...row, key: keyOf(row.key) })))
    }
    case 'owner':
      return byOwner(store, grouping, await model())
    default:
      return store.aggregate({ ...query, groupBy: { body: group.slice('body.'.length).split('.') } })
  }
}

/** Owners change with time, so each is asked for the stretches that were theirs. */
async function byOwner(store: TrailStore, grouping: Grouping, model: RunModel): Promise<AggregateRow[]> {
  const { filter, sum, owner: only } = grouping
  const allowed = filter.spans && new Set(filter.spans.map(span => span.workspace))
  const facts = [...model.workspaces.values()].filter(each => allowed?.has(each.id) ?? true)
  const owners = only === undefined ? new Set(facts.flatMap(each => each.owners.map(({ owner }) => owner))) : [only]
  const rows: AggregateRow[] = []
  for (const owner of owners) {
    const spans = facts.flatMap(each => ownedSpans(each, owner))
    const [row] = await store.aggregate({ filter: { ...filter, spans }, ...(sum && { sum }) })
    if (row && row.count > 0) rows.push({ ...row, key: owner })
  }
  return rows
}

function merged(rows: readonly AggregateRow[]): AggregateRow[] {
  const sums = new Map<AggregateRow['key'], AggregateRow>()
  for (const row of rows) {
    const known = sums.get(row.key)
    sums.set(row.key, known ? { ...row, count: known.count + row.count, sum: known.sum + row.sum } : row)
  }
  return [...sums.values()]
}
