// Rows in plain maps and sorted lists, for simulation and tests: deterministic, no files, no timers.
import type { ObjectId, RunId } from '@parley/core'
import type { SegmentUsage } from './contract.ts'
import {
  type Applied,
  type ArchiveState,
  type DamageRow,
  type EntryPlace,
  type EntryRow,
  type HeaderKey,
  NOTHING_APPLIED,
  newRun,
  type ObjectRow,
  type Place,
  type Rows,
  type RunRow,
  type Scan,
  type Tally,
} from './rows.ts'

interface MemoryRun {
  row: RunRow
  /** By `seq`; the two maps hold the same rows. */
  readonly entries: EntryRow[]
  readonly byWorkspace: Map<string | null, EntryRow[]>
  readonly byType: Map<string, EntryRow[]>
  /** By `seq` and ordinal. */
  readonly objects: ObjectRow[]
  readonly byId: Map<ObjectId, ObjectRow>
  readonly forgotten: Set<number>
}

export class MemoryRows implements Rows {
  readonly #runs: MemoryRun[] = []
  readonly #byName = new Map<RunId, MemoryRun>()
  readonly #archives = new Map<number, ArchiveState>()
  #damage: readonly DamageRow[] = []
  #applied = NOTHING_APPLIED
  /** What takes back the changes since `begin`. */
  #undo: (() => void)[] = []

  begin(): void {
    this.#undo = []
  }

  commit(): void {
    this.#undo = []
  }

  keep(): void {
    this.commit()
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) undo()
    this.#undo = []
  }

  get applied(): Applied {
    return this.#applied
  }

  setApplied(applied: Applied): void {
    const before = this.#applied
    this.#undo.push(() => {
      this.#applied = before
    })
    this.#applied = applied
  }

  run(run: RunId): RunRow | undefined {
    const found = this.#byName.get(run)
    return found && { ...found.row }
  }

  addRun(run: RunId): RunRow {
    const row = newRun(run, this.#runs.length)
    const made: MemoryRun = {
      row,
      entries: [],
      byWorkspace: new Map(),
      byType: new Map(),
      objects: [],
      byId: new Map(),
      forgotten: new Set(),
    }
    this.#runs.push(made)
    this.#byName.set(run, made)
    this.#undo.push(() => {
      this.#runs.pop()
      this.#byName.delete(run)
    })
    return { ...row }
  }

  saveRun(row: RunRow): void {
    const run = this.#of(row)
    const before = run.row
    this.#undo.push(() => {
      run.row = before
    })
    run.row = { ...row }
  }

  runs(): RunRow[] {
    return this.#runs.map(run => ({ ...run.row }))
  }

  addEntry(row: RunRow, entry: EntryRow): void {
    const run = this.#of(row)
    const lists = [run.entries, listOf(run.byWorkspace, entry.workspace), listOf(run.byType, entry.type)]
    for (const list of lists) list.splice(indexBehind(list, entry.seq), 0, entry)
    this.#undo.push(() => {
      for (const list of lists) list.splice(list.indexOf(entry), 1)
    })
  }

  entry(row: RunRow, seq: number): EntryPlace | undefined {
    const { entries } = this.#of(row)
    const found = entries[indexBehind(entries, seq) - 1]
    return found?.seq === seq ? found : undefined
  }

  moveEntry(row: RunRow, seq: number, place: Place): void {
    const found = this.entry(row, seq) as EntryRow | undefined
    if (!found) return
    this.removeEntry(row, seq)
    this.addEntry(row, { ...found, ...place })
  }

  removeEntry(row: RunRow, seq: number): void {
    const run = this.#of(row)
    const found = this.entry(row, seq) as EntryRow | undefined
    if (!found) return
    for (const list of [
      run.entries,
      listOf(run.byWorkspace, found.workspace),
      listOf(run.byType, found.type),
    ]) {
      const index = indexBehind(list, seq) - 1
      list.splice(index, 1)
      this.#undo.push(() => list.splice(index, 0, found))
    }
  }

  addForgotten(row: RunRow, seq: number): boolean {
    const { forgotten } = this.#of(row)
    if (forgotten.has(seq)) return false
    forgotten.add(seq)
    this.#undo.push(() => forgotten.delete(seq))
    return true
  }

  forgotten(row: RunRow, first: number, last: number): number {
    let count = 0
    for (const seq of this.#of(row).forgotten) if (seq >= first && seq <= last) count++
    return count
  }

  addObject(row: RunRow, object: ObjectRow): boolean {
    const run = this.#of(row)
    if (run.byId.has(object.id)) return false
    const behind = (each: ObjectRow) =>
      each.seq < object.seq || (each.seq === object.seq && each.ordinal < object.ordinal)
    const index = run.objects.findLastIndex(behind) + 1
    run.objects.splice(index, 0, object)
    run.byId.set(object.id, object)
    this.#undo.push(() => {
      run.objects.splice(index, 1)
      run.byId.delete(object.id)
    })
    return true
  }

  object(row: RunRow, id: ObjectId): ObjectRow | undefined {
    return this.#of(row).byId.get(id)
  }

  moveObject(row: RunRow, id: ObjectId, place: Place): void {
    const run = this.#of(row)
    const before = run.byId.get(id)
    if (!before) return
    this.#putObject(run, before, { ...before, ...place })
    this.#undo.push(() => this.#putObject(run, run.byId.get(id)!, before))
  }

  #putObject(run: MemoryRun, before: ObjectRow, after: ObjectRow): void {
    run.objects[run.objects.indexOf(before)] = after
    run.byId.set(after.id, after)
  }

  removeObjects(row: RunRow, file: number): void {
    const run = this.#of(row)
    const before = [...run.objects]
    run.objects.splice(0, before.length, ...before.filter(each => each.file !== file))
    for (const each of before) if (each.file === file) run.byId.delete(each.id)
    this.#undo.push(() => {
      run.objects.splice(0, run.objects.length, ...before)
      for (const each of before) run.byId.set(each.id, each)
    })
  }

  usage(row: RunRow): SegmentUsage[] {
    const { entries, objects } = this.#of(row)
    const inLog = [...entries, ...objects].filter(({ file }) => file > 0)
    return [...Map.groupBy(inLog, ({ file }) => file)]
      .sort(([a], [b]) => a - b)
      .map(([segment, places]) => ({
        segment,
        records: places.length,
        bytes: places.reduce((sum, { length }) => sum + length, 0),
      }))
  }

  objects(row: RunRow, seq: number, ordinal: number, limit: number): ObjectRow[] {
    const { objects } = this.#of(row)
    let first = indexBehind(objects, seq - 1)
    while (objects[first]?.seq === seq && objects[first]!.ordinal <= ordinal) first++
    return objects.slice(first, first + limit)
  }

  scan(row: RunRow, scan: Scan, descending: boolean, limit: number): EntryPlace[] {
    const found: EntryPlace[] = []
    for (const entry of this.#walk(row, scan, descending)) {
      if (found.length === limit) break
      found.push(entry)
    }
    return found
  }

  count(row: RunRow, scan: Scan, most: number): number {
    return this.scan(row, scan, false, most).length
  }

  tally(row: RunRow, scan: Scan, key: HeaderKey | undefined): Tally[] {
    const counts = new Map<string | null, number>()
    for (const entry of this.#walk(row, scan, false)) {
      const value = headerValue(entry, key)
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return [...counts].map(([value, count]) => ({ key: value, count }))
  }

  next(row: RunRow, seq: number): { seq: number; ticks: number } | undefined {
    const { entries } = this.#of(row)
    return entries[indexBehind(entries, seq - 1)]
  }

  archive(file: number): ArchiveState | undefined {
    return this.#archives.get(file)
  }

  setArchive(file: number, state: ArchiveState): void {
    const before = this.#archives.get(file)
    this.#archives.set(file, state)
    this.#undo.push(() => (before ? this.#archives.set(file, before) : this.#archives.delete(file)))
  }

  addDamage(damage: DamageRow): void {
    const { run, file, at, message } = damage
    const isSame = (each: DamageRow) =>
      each.run === run && each.file === file && each.at === at && each.message === message
    if (!this.#damage.some(isSame)) this.#setDamage([...this.#damage, damage])
  }

  clearDamage(file: number): void {
    this.#setDamage(this.#damage.filter(each => each.file !== file))
  }

  #setDamage(damage: readonly DamageRow[]): void {
    const before = this.#damage
    this.#undo.push(() => {
      this.#damage = before
    })
    this.#damage = damage
  }

  damageCount(): number {
    return this.#damage.length
  }

  damage(run: RunId): DamageRow[] {
    return this.#damage.filter(each => each.run === run || each.run === '')
  }

  close(): void {}

  #of(row: RunRow): MemoryRun {
    return this.#runs[row.key]!
  }

  *#walk(row: RunRow, scan: Scan, descending: boolean): Generator<EntryRow> {
    const run = this.#of(row)
    const list =
      scan.path.by === 'run'
        ? run.entries
        : scan.path.by === 'workspace'
          ? run.byWorkspace.get(scan.path.workspace)
          : run.byType.get(scan.path.type)
    if (!list) return
    const matches = matcher(scan)
    const start = indexBehind(list, scan.after)
    const end = indexBehind(list, scan.before - 1)
    for (let step = 0; step < end - start; step++) {
      const entry = list[descending ? end - 1 - step : start + step]!
      if (matches(entry)) yield entry
    }
  }
}

function headerValue(entry: EntryRow, key: HeaderKey | undefined): string | null {
  if (key === undefined) return null
  return key === 'event_type' ? entry.type : entry[key]
}

function matcher(scan: Scan): (entry: EntryRow) => boolean {
  const workspaces = scan.workspaces && new Set(scan.workspaces)
  const actors = scan.actors && new Set(scan.actors)
  const types = scan.types && new Set(scan.types)
  return entry =>
    (scan.from === undefined || entry.ticks >= scan.from) &&
    (scan.to === undefined || entry.ticks <= scan.to) &&
    (!workspaces || workspaces.has(entry.workspace)) &&
    (!actors || actors.has(entry.actor)) &&
    (!types || types.has(entry.type))
}

function listOf<Key>(lists: Map<Key, EntryRow[]>, key: Key): EntryRow[] {
  let list = lists.get(key)
  if (!list) {
    list = []
    lists.set(key, list)
  }
  return list
}

/** The index of the first row whose `seq` is greater. Rows mostly arrive in order: the end is tried first. */
function indexBehind(list: readonly { readonly seq: number }[], seq: number): number {
  if (list.length === 0 || list[list.length - 1]!.seq <= seq) return list.length
  let low = 0
  let high = list.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle]!.seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}
