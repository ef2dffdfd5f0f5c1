// The index of a log: where each record lies, by run, workspace and type. It is disposable: it can be rebuilt from the
// log, and nothing is ever true because the index says so. SQLite on a worker thread (sqlite-index.ts), or the same
// tables in memory in the caller's thread (testing/memory/).
import type { ObjectId, RunId, WorkspaceId } from '@parley/core'
import type { StoredObject, StoredRecord } from '../entry.ts'
import type {
  AggregateRow,
  Position,
  RunHead,
  RunSummary,
  StoreAggregate,
  StorePage,
  StoreQuery,
} from '../store/store.ts'

/** A point in the log up to which everything is durable: `end` is the offset behind the last frame of `segment`. */
export interface LogPoint {
  readonly segment: number
  readonly end: number
  /** Number of the last frame; also the store's position. */
  readonly frame: Position
}

/** What the index found when it was opened against a log that ends at a given point. */
export interface IndexOpening {
  /** `current`: good and at most behind; `rebuilt`: there was none, or it was damaged, of another trail or version. */
  readonly state: 'current' | 'rebuilt'
  readonly reason?: string
  /** Heads that the old index knew and the log no longer reaches: evidence of truncation. Saved before a rebuild. */
  readonly lostHeads: readonly RunHead[]
}

/** The newest entry that the index has of a run, and how many it accounts for, deleted ones included. */
export interface IndexedHead extends RunHead {
  readonly known: number
}

export interface TrailIndex {
  /** Resolves once the state of the index is known; catching up goes on behind it. */
  opening(): Promise<IndexOpening>
  /** Tells that the log is durable up to here. Cheap; never waits, may be called for every commit. */
  advance(point: LogPoint): void
  // Every query waits until the index has seen `atLeast`, then answers from one consistent state.
  select(query: StoreQuery, atLeast: Position): Promise<StorePage>
  aggregate(query: StoreAggregate, atLeast: Position): Promise<readonly AggregateRow[]>
  head(run: RunId, atLeast: Position): Promise<IndexedHead | undefined>
  runs(atLeast: Position): Promise<readonly RunSummary[]>
  object(run: RunId, id: ObjectId, atLeast: Position): Promise<StoredObject | undefined>
  /** `TrailStore.starts`. */
  starts(runs: readonly RunId[], atLeast: Position): Promise<readonly StoredRecord[]>
  place(run: RunId, seq: number, atLeast: Position): Promise<RecordPlace | undefined>
  /** Up to `limit` records of a run in log order, from the one behind `cursor`; `cursor` is undefined at the end. */
  replay(run: RunId, after: number, limit: number, cursor: string | undefined, atLeast: Position): Promise<ReplayPage>
  /** Records of a run as the bytes of the log, in its order, for an archive. */
  take(request: TakeRequest, atLeast: Position): Promise<TakenRecords>
  /** Which runs, or whether one, have records in which segments. */
  usage(atLeast: Position, run?: RunId): Promise<readonly RunUsage[]>
  /**
   * Records of one run now lie in an archive (a file below 0); of two archives the higher number counts. Each is
   * checked at its new place first: nothing moves when one is missing. After a crash the index finds them on opening.
   */
  relocate(run: RunId, places: readonly RecordPlace[]): Promise<void>
  /** Takes in archives that came from elsewhere while the index was open. */
  adopt(): Promise<void>
  /** Entries of one run were deleted for good (retention), and so were the objects in `file`, where given. */
  forget(run: RunId, seqs: readonly number[], file?: number): Promise<void>
  /** Makes the index anew from the log: it turned out not to hold what the log does. */
  rebuild(): Promise<void>
  close(): Promise<void>
}

/** Where a record lies: a segment (above 0) or an archive (below 0), and its bytes. Only objects have an id. */
export interface RecordPlace {
  readonly seq: number
  readonly id?: ObjectId
  readonly file: number
  readonly at: number
  readonly length: number
}

/** A place in a run: behind it stand the entry `seq`, its objects but the first `objects`, and all that follow. */
export interface RunPoint {
  readonly seq: number
  readonly objects: number
}

export interface TakeRequest {
  readonly run: RunId
  readonly after: RunPoint
  /** What lies in segments up to this one is taken. */
  readonly upTo: number
  /** What lies in these archives is taken, too. */
  readonly also: readonly number[]
  /** Bounds of what is taken at once; one record always fits. */
  readonly records: number
  readonly bytes: number
}

export interface TakenRecords {
  readonly records: Uint8Array
  /** The place that each object among them has in its run (`ObjectRow.ordinal`). */
  readonly ordinals: readonly number[]
  /** Everything before this point was taken, by this request or before. */
  readonly until: RunPoint
  readonly more: boolean
}

export interface SegmentUsage {
  readonly segment: number
  readonly records: number
  readonly bytes: number
}

export interface RunUsage {
  readonly run: RunId
  readonly ended: boolean
  /** Segments that hold records of it; none when all of it lies in archives. */
  readonly segments: readonly SegmentUsage[]
}

export interface ReplayPage {
  readonly records: readonly StoredRecord[]
  readonly cursor: string | undefined
  /** What is known to be missing of this run, as in `StorePage`. */
  readonly partial?: readonly string[]
}

/** How an index reads the log (log-reader.ts). Synchronous: it runs on the worker's thread, or over memory. */
export interface LogReader {
  follow(point: LogPoint): void
  /** Bytes of a segment (above 0) or of an archive's records (below 0); fewer only behind its end. */
  read(file: number, at: number, length: number): Buffer
  archives(): readonly ArchiveRecords[]
  /** Where frames of this segment end for good: `previousEnd` of the next one, undefined for the newest. */
  sealedEnd(segment: number): number | undefined
  /** The first segment that is still there (earlier ones may have moved to archives). */
  firstSegment(): number
}

/** Entries that are gone for good, with the archive that held them. */
export interface Forgotten {
  readonly run: RunId
  readonly seqs: readonly number[]
  /** The first of them that was filed under a workspace: where the run began among them, that is its root. */
  readonly filed?: { readonly seq: number; readonly workspace: WorkspaceId } | undefined
}

/** An archive (below 0): records without frames, or what it held before it was deleted. */
export interface ArchiveRecords {
  readonly file: number
  /** Whose entries it holds, where that is known without reading it. */
  readonly run?: RunId
  readonly length: number
  readonly forgotten?: Forgotten | undefined
  /** The place in its run of each object, where the archive tells. */
  readonly ordinals?: ReadonlyMap<ObjectId, number> | undefined
}
