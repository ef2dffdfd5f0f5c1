// The contract of a trail's storage. A store keeps linked records and finds them again; it knows neither the event
// registry nor the chains. Every implementation passes `trailStoreCompliance` (compliance.ts).
import type { ObjectId, ParleyError, RunId, Ticks, Timestamp, WorkspaceId } from '@parley/core'
import type { Manifest } from '../archive/manifest.ts'
import type { ReplicaReport, TierReport } from '../archive/tier-report.ts'
import type { StoredEntry, StoredObject, StoredRecord } from '../entry.ts'
import type { TrailImports } from '../import/import-run.ts'
import type { RunUsage } from '../index/contract.ts'
import type { BlobReport } from '../log/blobs.ts'
import type { LostArchive } from './lost-archives.ts'

/** A point of the commit order. What was acknowledged at one position is seen by every query that carries it. */
export type Position = number

/** Where a run's chain ends: the newest entry that is durable. */
export interface RunHead {
  readonly run: RunId
  readonly seq: number
  readonly hash: string
}

/** Entries filed under one workspace (`null`: system-level), optionally only those with from ≤ seq < to. */
export interface WorkspaceSpan {
  readonly workspace: WorkspaceId | null
  readonly from?: number
  readonly to?: number
}

export type Scalar = string | number | boolean | null

/** A body path such as `['resource_usage', 'tokens_consumed']` that must equal a value. */
export interface BodyFilter {
  readonly path: readonly string[]
  readonly equals: Scalar
}

/** All filters are joined by AND. An absent list means no restriction, an empty one matches nothing. */
export interface StoreFilter {
  readonly run: RunId
  readonly spans?: readonly WorkspaceSpan[]
  readonly actors?: readonly string[]
  readonly types?: readonly string[]
  /** Inclusive time range. */
  readonly from?: Ticks
  readonly to?: Ticks
  /** seq > after, seq < before. */
  readonly after?: number
  readonly before?: number
  readonly body?: readonly BodyFilter[]
}

export interface StoreQuery extends StoreFilter {
  readonly order: 'ascending' | 'descending'
  readonly limit: number
}

/** `partial` names what could not be read, for example an archive that is gone (W-TRAIL-29). */
export interface StorePage {
  readonly entries: readonly StoredEntry[]
  /** True when the filter may match more in this direction. */
  readonly more: boolean
  readonly partial?: readonly string[]
}

export type AggregateKey = 'workspace' | 'actor' | 'event_type' | { readonly body: readonly string[] }

export interface StoreAggregate {
  readonly filter: StoreFilter
  readonly groupBy?: AggregateKey
  /** Sum of a numeric body path; entries without the path are left out, a non-numeric value is `invalid_query`. */
  readonly sum?: readonly string[]
}

export interface AggregateRow {
  readonly key: Scalar
  readonly count: number
  readonly sum: number
}

export interface RunSummary extends RunHead {
  readonly root: WorkspaceId
  readonly created: Ticks
  readonly updated: Ticks
  readonly entries: number
  /** The root is terminal: nothing that changes state can follow. */
  readonly ended: boolean
}

/** Damage that a store met while opening or reading. It halts the runs named, not the store. */
export interface Damage {
  readonly code: string
  readonly message: string
  readonly runs: readonly RunId[]
}

export interface TrailStore extends TrailImports {
  readonly tiers: TrailTiers

  /**
   * Appends the records of one batch, all or none; objects stand before the entries that name them. A batch that cannot
   * be taken is refused at once by the error returned (`trail_busy`: too much is waiting, retryable; `trail_closed`;
   * `batch_too_large`; `trail_conflict`: an entry's `seq` or `prev_hash` does not follow the newest entry of its run
   * that the storage itself holds or was given before), and `settle` is never called. One that is taken becomes durable
   * behind those taken before it, and `settle` is called once, after `append` has returned: without an error when the
   * batch would survive a power loss, with `trail_unavailable` or `trail_full` (both retryable) when it did not become
   * durable. When a batch fails, every batch behind it fails in the same turn of the event loop, before anything else
   * can be appended.
   */
  append(records: readonly StoredRecord[], settle: (error?: ParleyError) => void): ParleyError | undefined

  /** The newest position that was acknowledged; queries see at least what was acknowledged when they were asked. */
  readonly position: Position

  /** The greatest timestamp that the store holds, for re-anchoring the clock (W-CLOCK-07); 0 when empty. */
  readonly floor: Ticks

  /** Nothing can be appended, moved or deleted: a copy of the cold tier. */
  readonly readOnly: boolean

  readonly damage: readonly Damage[]

  head(run: RunId): Promise<RunHead | undefined>

  /** What a reading of the run must reach, without help of an index. Undefined for a new run and an imported one. */
  logHead(run: RunId): Promise<RunHead | undefined>

  /** Heads that anything outside the log itself knows, of one run or of all: index, heads files. */
  knownHeads(run?: RunId): Promise<readonly RunHead[]>
  /** Archives of a run, or of all, that the index knows of and that somebody removed. */
  lostArchives(run?: RunId): AsyncIterable<LostArchive>

  runs(): Promise<readonly RunSummary[]>

  /**
   * How each of these runs began: its first entry that is filed under a workspace and, behind it, the object that this
   * entry names as the context. Runs that are not there are left out. At most `trailLimits.starts` runs.
   */
  starts(runs: readonly RunId[]): Promise<readonly StoredRecord[]>

  select(query: StoreQuery): Promise<StorePage>

  aggregate(query: StoreAggregate): Promise<readonly AggregateRow[]>

  object(run: RunId, id: ObjectId): Promise<StoredObject | undefined>

  /**
   * Entries and objects of one run in the order of the log. Entries are checked against their hashes; an object whose
   * content is gone or damaged comes with `lost`.
   */
  replay(run: RunId, after?: number): AsyncIterable<StoredRecord>

  /**
   * What is physically there of one run (or of all), in the order of the log, without an index and without correction:
   * for verification. Damaged places are yielded, not thrown. With `after`, entries up to that one may be left out.
   */
  scan(run?: RunId, after?: number): AsyncIterable<readonly ScannedRecord[]>

  /** Which blobs nobody refers to, which are damaged, which are missing. Reads everything. */
  checkBlobs(): Promise<BlobReport>

  /** Waits for what was appended, writes heads, releases the lock. Later calls fail with `trail_closed`. Repeatable. */
  close(): Promise<void>
}

/**
 * The part of a store that moves records out of the log and to the cold tier (W-TRAIL-24 to 29). Copies are durable
 * before anything is removed, and appends go on meanwhile. The caller makes one change at a time (`StorageManager`);
 * what only reads may be asked at any time. Where a replica was named and cannot be used, what needs it
 * fails with `replica_unavailable` (retryable), and nothing is removed; a run of which entries are missing stays where
 * it is (`trail_damaged`).
 */
export interface TrailTiers {
  /**
   * Copies entries of one workspace, by ascending `seq`, into an archive of the cold tier; they are read from there.
   */
  archive(run: RunId, workspace: WorkspaceId, seqs: readonly number[], at: Timestamp): Promise<Manifest>
  manifests(run: RunId): Promise<readonly Manifest[]>
  whereIs(run: RunId, seq: number): Promise<RecordTier | undefined>
  /** Which runs have records in the log, in which of its segments. */
  usage(): Promise<readonly RunUsage[]>
  /**
   * Moves all that a run has in the log to files of its own (`runs/<run>/`), in bounded steps. Meant for ended runs;
   * the next call takes along what is appended later, and merges small files.
   */
  moveRun(run: RunId, at: Timestamp, progress?: (moved: MoveProgress) => void): Promise<MoveProgress>
  /** Runs that have files which are not in the cold tier. */
  warmRuns(): Promise<readonly RunId[]>
  /** Moves a run's files and blobs to the cold tier; returns how many files. `invalid_state` while it is in the log. */
  expire(run: RunId, at: Timestamp): Promise<number>
  /** Empties segments of which little counts, and removes those without any record that counts; returns their bytes. */
  reclaim(): Promise<number>
  /** Deletes an archive's entries for good and keeps its manifest. The caller has checked retention. */
  deleteArchive(manifest: Manifest): Promise<void>
  /** Notes in the cold tier and its replica, where there is anything in them, which public keys there are by now. */
  keepKeys(): Promise<void>
  replicate(): Promise<number>
  /** Puts back from the replica what is missing or damaged in the cold tier. */
  restore(): Promise<RestoreReport>
  /** How far the replica follows, by names and sizes of files; null where there is none. */
  replica(): Promise<ReplicaReport | null>
  /** What lies where, and how far the replica follows. Reads every manifest. */
  report(): Promise<TierReport>
  /** Keeps a frozen copy of all entries of a run up to a `seq` under `snapshots/`; returns how many there were. */
  snapshot(run: RunId, id: string, upTo: number): Promise<number>
}

/** `log`: in a segment; `warm`: in a file of its run; `cold`: in the cold tier. */
export type RecordTier = 'log' | 'warm' | 'cold'

export interface MoveProgress {
  readonly records: number
  /** Before compression. */
  readonly bytes: number
}

export interface RestoreReport {
  readonly restored: readonly string[]
  /** Files that are missing or damaged in the replica, too. */
  readonly lost: readonly string[]
}

export type ScannedRecord = StoredRecord | BridgedEntry | ScanDamage

/** An entry that was deleted after its retention; the manifest of its archive bridges the chains (W-TRAIL-29). */
export interface BridgedEntry {
  readonly kind: 'bridge'
  readonly run: RunId
  readonly seq: number
  readonly workspace: WorkspaceId | null
  readonly hash: string
  readonly localHash: string | undefined
}

interface ScanDamage {
  readonly kind: 'damage'
  readonly where: string
  readonly message: string
}
