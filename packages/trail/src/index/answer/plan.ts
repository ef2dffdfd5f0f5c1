// From a filter to the entries that its header conditions allow, in order; conditions on bodies come later (engine.ts).
import type { StoreFilter, WorkspaceSpan } from '../../store/store.ts'
import { invalidQuery } from '../fault.ts'
import { indexLimits } from '../limits.ts'
import type { EntryPlace, RunRow, Scan } from '../rows.ts'
import type { Rows } from '../sqlite/sqlite-rows.ts'

export interface Plan {
  /** No entry is found by two of them. */
  readonly scans: readonly Scan[]
  readonly within?: (entry: EntryPlace) => boolean
}

export function checkFilter(filter: StoreFilter): void {
  for (const list of [filter.spans, filter.actors, filter.types, filter.body]) {
    if (list && list.length > indexLimits.filterItems) {
      throw invalidQuery(`names ${list.length} values in one list; ${indexLimits.filterItems} are the most`)
    }
  }
  for (const bound of [filter.from, filter.to, filter.after, filter.before]) {
    if (bound !== undefined && Number.isNaN(bound)) throw invalidQuery('has a bound that is not a number')
  }
  for (const { path } of filter.body ?? []) checkPath(path)
}

export function checkPath(path: readonly string[]): void {
  if (path.length > 0 && path.length <= indexLimits.pathSteps) return
  throw invalidQuery(`needs body paths of 1 to ${indexLimits.pathSteps} steps`)
}

/** The plan of a filter. With `exact`, the scans say everything, so that rows need not be looked at one by one. */
export function planFilter(rows: Rows, run: RunRow, filter: StoreFilter, exact = false): Plan {
  const { spans, actors, types, from, to } = filter
  if (spans?.length === 0 || actors?.length === 0 || types?.length === 0) return { scans: [] }
  const { after, before } = seqRange(rows, run, filter)
  const common = {
    after,
    before,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(actors && { actors }),
  }
  const byType = types && [...new Set(types)].map((type): Scan => ({ ...common, path: { by: 'type', type } }))
  if (!spans) return { scans: nonEmpty(byType ?? [{ ...common, path: { by: 'run' } }]) }
  const merged = mergeSpans(spans)
  const byWorkspace = nonEmpty(
    merged.map(span => ({
      ...common,
      path: { by: 'workspace', workspace: span.workspace },
      after: Math.max(after, span.from - 1),
      before: Math.min(before, span.to),
      ...(types && { types }),
    })),
  )
  if (!byType || exact || isShorter(rows, run, byWorkspace, byType)) return { scans: byWorkspace }
  const workspaces = [...new Set(merged.map(span => span.workspace))]
  return { scans: nonEmpty(byType.map(scan => ({ ...scan, workspaces }))), within: inSpans(merged) }
}

export class Candidates {
  readonly #cursors: Cursor[]
  readonly #descending: boolean

  constructor(rows: Rows, run: RunRow, plan: Plan, descending: boolean) {
    this.#descending = descending
    this.#cursors = plan.scans.map(scan => new Cursor(rows, run, scan, plan.within, descending))
    if (plan.scans.length > 1) {
      this.#cursors = this.#cursors.filter(cursor => cursor.head() !== undefined)
      this.#cursors.sort((a, b) => this.#compare(a, b))
    }
  }

  /** The next ones, at most `limit`; fewer only at the end. */
  take(limit: number): EntryPlace[] {
    if (this.#cursors.length === 1) return this.#cursors[0]!.take(limit)
    const taken: EntryPlace[] = []
    while (taken.length < limit && this.#cursors.length > 0) {
      const cursor = this.#cursors.shift()!
      taken.push(cursor.head()!)
      cursor.skip()
      if (cursor.head() !== undefined) this.#insert(cursor)
    }
    return taken
  }

  #compare(a: Cursor, b: Cursor): number {
    const difference = a.head()!.seq - b.head()!.seq
    return this.#descending ? -difference : difference
  }

  #insert(cursor: Cursor): void {
    let low = 0
    let high = this.#cursors.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#cursors[middle]!, cursor) < 0) low = middle + 1
      else high = middle
    }
    this.#cursors.splice(low, 0, cursor)
  }
}

class Cursor {
  readonly #rows: Rows
  readonly #run: RunRow
  readonly #within: ((entry: EntryPlace) => boolean) | undefined
  readonly #descending: boolean
  #rest: Scan | undefined
  #size: number = indexLimits.cursorRows
  #fetched: EntryPlace[] = []
  #index = 0

  constructor(rows: Rows, run: RunRow, scan: Scan, within: Plan['within'], descending: boolean) {
    this.#rows = rows
    this.#run = run
    this.#rest = scan
    this.#within = within
    this.#descending = descending
  }

  head(): EntryPlace | undefined {
    while (this.#index === this.#fetched.length && this.#rest) this.#fetch(this.#size)
    return this.#fetched[this.#index]
  }

  skip(): void {
    this.#index++
  }

  take(limit: number): EntryPlace[] {
    let taken: EntryPlace[] = []
    while (taken.length < limit) {
      if (this.#index === this.#fetched.length) {
        if (!this.#rest) break
        this.#fetch(Math.max(this.#size, limit - taken.length))
      }
      const piece = this.#fetched.slice(this.#index, this.#index + limit - taken.length)
      this.#index += piece.length
      taken = taken.length === 0 ? piece : taken.concat(piece)
    }
    return taken
  }

  #fetch(size: number): void {
    const scan = this.#rest!
    const found = this.#rows.scan(this.#run, scan, this.#descending, size)
    const last = found.at(-1)
    if (found.length < size || !last) this.#rest = undefined
    else this.#rest = this.#descending ? { ...scan, before: last.seq } : { ...scan, after: last.seq }
    this.#fetched = this.#within ? found.filter(this.#within) : found
    this.#index = 0
    this.#size = Math.min(this.#size * 2, indexLimits.scanRows)
  }
}

function nonEmpty(scans: readonly Scan[]): readonly Scan[] {
  return scans.filter(scan => scan.before - scan.after > 1)
}

/** The range of `seq` that the filter leaves, fixed now: what is appended during a long search is not part of it. */
function seqRange(rows: Rows, run: RunRow, filter: StoreFilter): { after: number; before: number } {
  let after = Math.max(filter.after ?? -1, -1)
  let before = Math.min(filter.before ?? run.head + 1, run.head + 1)
  if (run.ordered && filter.from !== undefined) after = Math.max(after, firstSeq(rows, run, filter.from) - 1)
  if (run.ordered && filter.to !== undefined) before = Math.min(before, firstSeq(rows, run, filter.to + 1))
  return { after, before }
}

/** The `seq` of the first entry at or behind a time; one behind the head when there is none. */
function firstSeq(rows: Rows, run: RunRow, ticks: number): number {
  let low = Math.max(run.first, 0)
  let high = run.head + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const entry = rows.next(run, middle)
    if (entry && entry.ticks < ticks) low = entry.seq + 1
    else high = middle
  }
  return low
}

interface MergedSpan {
  readonly workspace: string | null
  readonly from: number
  to: number
}

/** Spans of one workspace that touch or overlap become one, so that no entry is found twice. */
function mergeSpans(spans: readonly WorkspaceSpan[]): readonly MergedSpan[] {
  const known = new Map<string | null, MergedSpan[]>()
  const sorted = spans
    .map(
      (span): MergedSpan => ({
        workspace: span.workspace,
        from: span.from ?? 0,
        to: span.to ?? Number.MAX_SAFE_INTEGER,
      }),
    )
    .filter(span => span.from < span.to)
    .sort((a, b) => a.from - b.from)
  for (const span of sorted) {
    const list = known.get(span.workspace) ?? []
    const last = list.at(-1)
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else list.push(span)
    known.set(span.workspace, list)
  }
  return [...known.values()].flat()
}

function inSpans(spans: readonly MergedSpan[]): (entry: EntryPlace) => boolean {
  const known = Map.groupBy(spans, span => span.workspace)
  return entry => known.get(entry.workspace)?.some(span => entry.seq >= span.from && entry.seq < span.to) ?? false
}

/** Whether the first way meets at most as many entries as the second one, as far as a short count can tell. */
function isShorter(rows: Rows, run: RunRow, first: readonly Scan[], second: readonly Scan[]): boolean {
  const length = (scans: readonly Scan[]) => {
    let count = 0
    for (const scan of scans) {
      if (count >= indexLimits.probeRows) break
      const { path, after, before } = scan
      count += rows.count(run, { path, after, before }, indexLimits.probeRows - count)
    }
    return count
  }
  return length(first) <= length(second)
}
