// The table of positions that an index keeps, whatever keeps it: SQLite (sqlite-rows.ts) or plain memory
// (memory-rows.ts). It stores and finds rows; what they mean is said in apply.ts and engine.ts.
import { crc32 } from 'node:zlib'
import type { ObjectId, RunId } from '@parley/core'
import type { Position } from '../store/store.ts'
import type { SegmentUsage } from './contract.ts'

/** Where a record lies: a segment above 0, an archive below 0. */
export interface Place {
  readonly file: number
  readonly at: number
  readonly length: number
}

export interface EntryPlace extends Place {
  readonly seq: number
  readonly workspace: string | null
}

export interface EntryRow extends EntryPlace {
  readonly actor: string
  readonly type: string
  readonly ticks: number
}

export interface ObjectRow extends Place {
  readonly id: ObjectId
  /** Sequence number of the next entry of the run. */
  readonly seq: number
  /** Counts the objects of a run in log order. */
  readonly ordinal: number
  /** CRC-32 of the record: an object has no hash of its own. */
  readonly crc: number
}

/** What is known of a run as a whole. Whoever asked for it may change it, and saves it within the same transaction. */
export interface RunRow {
  readonly run: RunId
  readonly key: number
  /** Newest entry; -1 when only objects are there. */
  head: number
  hash: string
  updated: number
  /** Oldest entry, and the oldest one that is filed under a workspace: the root. */
  first: number
  created: number
  rootSeq: number
  root: string
  entries: number
  objects: number
  ended: boolean
  /** How many entries are gone for good. */
  forgotten: number
  /** Timestamps never go back as `seq` grows, so that a range of time is a range of `seq`. */
  ordered: boolean
  /** Place of the newest entry that came from a segment; 0 when none did. */
  lastFile: number
  lastAt: number
}

export function newRun(run: RunId, key: number): RunRow {
  return {
    run,
    key,
    head: -1,
    hash: '',
    updated: 0,
    first: -1,
    created: 0,
    rootSeq: -1,
    root: '',
    entries: 0,
    objects: 0,
    ended: false,
    forgotten: 0,
    ordered: true,
    lastFile: 0,
    lastAt: 0,
  }
}

/** Up to where the log is in the rows. */
export interface Applied {
  readonly segment: number
  readonly end: number
  readonly frame: Position
  /** The last frame: where it starts and the CRC-32 of its header, to recognise it again. Segment 0: none is known. */
  readonly lastSegment: number
  readonly lastAt: number
  readonly lastMark: number
}

/** Recognises a frame by its header, which holds its number, its length and the checksum of its content. */
export function frameMark(header: Buffer): number {
  return crc32(header)
}

export type ArchiveState = 'held' | 'gone'

/** A place that could not be read. `run` is empty when nobody can say whose records it held. */
export interface DamageRow {
  readonly run: RunId | ''
  readonly file: number
  readonly at: number
  readonly message: string
  /** The entries that are missing, where these are known; they may turn up in an archive. */
  readonly first: number
  readonly last: number
}

export type ScanPath =
  | { readonly by: 'run' }
  | { readonly by: 'workspace'; readonly workspace: string | null }
  | { readonly by: 'type'; readonly type: string }

/** One range of one run's entries along one index, with what else must hold of each. */
export interface Scan {
  readonly path: ScanPath
  /** Both exclusive. */
  readonly after: number
  readonly before: number
  /** Ticks, both inclusive. */
  readonly from?: number
  readonly to?: number
  readonly workspaces?: readonly (string | null)[]
  readonly actors?: readonly string[]
  readonly types?: readonly string[]
}

export type HeaderKey = 'workspace' | 'actor' | 'event_type'

export interface Tally {
  readonly key: string | null
  readonly count: number
}

export interface Rows {
  // Changes happen between `begin` and `commit` or `keep`, and become visible to a later opening all together or not at
  // all.
  begin(): void
  commit(): void
  /**
   * Ends a change like `commit`, but gathers it with those that follow: what a crash loses is taken from the log again.
   */
  keep(): void
  /** Takes back everything since the last commit; `applied` says where that was. */
  rollback(): void

  readonly applied: Applied
  setApplied(applied: Applied): void

  run(run: RunId): RunRow | undefined
  addRun(run: RunId): RunRow
  saveRun(row: RunRow): void
  runs(): RunRow[]

  /** Adds an entry whose `seq` is not there yet. */
  addEntry(run: RunRow, row: EntryRow): void
  entry(run: RunRow, seq: number): EntryPlace | undefined
  moveEntry(run: RunRow, seq: number, place: Place): void
  removeEntry(run: RunRow, seq: number): void
  /** Notes that an entry is gone for good; says whether that is new. */
  addForgotten(run: RunRow, seq: number): boolean
  /** How many of the entries from `first` to `last` are gone for good. */
  forgotten(run: RunRow, first: number, last: number): number

  /** Adds an object unless its id is there already; says whether it did. */
  addObject(run: RunRow, row: ObjectRow): boolean
  object(run: RunRow, id: ObjectId): ObjectRow | undefined
  moveObject(run: RunRow, id: ObjectId, place: Place): void
  /** Removes the objects that lie in a file. */
  removeObjects(run: RunRow, file: number): void
  /** Objects behind (`seq`, `ordinal`), in log order. */
  objects(run: RunRow, seq: number, ordinal: number, limit: number): ObjectRow[]

  /** Up to `limit` entries of a scan, by `seq`. */
  scan(run: RunRow, scan: Scan, descending: boolean, limit: number): EntryPlace[]
  /** How many entries a scan finds, counted up to `most`. */
  count(run: RunRow, scan: Scan, most: number): number
  /** How many entries a scan finds of each kind; of all together, under `null`, without a key. */
  tally(run: RunRow, scan: Scan, key: HeaderKey | undefined): Tally[]
  /** Records and bytes of a run in each segment. */
  usage(run: RunRow): SegmentUsage[]
  /** The first entry at or behind `seq`. */
  next(run: RunRow, seq: number): { readonly seq: number; readonly ticks: number } | undefined

  /** Whether the records of an archive are in, or were and are gone for good; undefined when it was never met. */
  archive(file: number): ArchiveState | undefined
  setArchive(file: number, state: ArchiveState): void

  /** Remembers damage once. */
  addDamage(row: DamageRow): void
  /** A file turned out to be sound after all. */
  clearDamage(file: number): void
  damageCount(): number
  /** Damage of this run, and damage of nobody knows which. */
  damage(run: RunId): DamageRow[]

  close(): void
}
