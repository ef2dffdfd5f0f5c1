// The embedded trail store: a framed segment log with group commit, blobs beside it, and a disposable index.
import { invariant, type ObjectId, ParleyError, type RunId, type Ticks } from '@parley/core'
import { Archives } from '../archive/archives.ts'
import type { ColdCopies } from '../archive/copies.ts'
import { Leftovers } from '../archive/leftovers.ts'
import { TierMerge } from '../archive/merge.ts'
import { Replica, type ReplicaOptions } from '../archive/replica.ts'
import { pooledSqueeze, type Squeeze } from '../archive/squeeze.ts'
import type { StoredObject, StoredRecord } from '../entry.ts'
import { readOnlyError } from '../errors.ts'
import type { ImportRecord } from '../import/import-record.ts'
import type { RunImport } from '../import/import-run.ts'
import { type ImportParts, StoreImports } from '../import/store-imports.ts'
import type { LogPoint, TrailIndex } from '../index/contract.ts'
import { type BlobReport, Blobs, blobName, isLarge } from '../log/blobs.ts'
import type { Files } from '../log/files.ts'
import { type OpenedLog, openLog } from '../log/open.ts'
import { pause } from '../log/pause.ts'
import { SegmentReader } from '../log/reader.ts'
import { RunHeads } from '../log/run-heads.ts'
import { LogWriter, type LogWriterOptions } from '../log/writer.ts'
import { HeadFiles } from './heads.ts'
import { KnownHeads } from './known-heads.ts'
import { type LostArchive, lostArchives } from './lost-archives.ts'
import { RecentObjects } from './recent-objects.ts'
import type {
  AggregateRow,
  Damage,
  Position,
  RunHead,
  RunSummary,
  ScannedRecord,
  StoreAggregate,
  StorePage,
  StoreQuery,
  TrailStore,
} from './store.ts'
import { Tiers } from './tiers.ts'

export interface SegmentStoreOptions {
  readonly files: Files
  readonly blobs: Files
  readonly index: (log: { trail: string; end: LogPoint }) => TrailIndex
  /** A new identity for a trail that does not exist yet: 32 hexadecimal digits. */
  readonly newTrail: () => string
  readonly firstSegmentBytes?: number
  readonly segmentBytes?: number
  readonly measured?: LogWriterOptions['measured']
  readonly replica?: ReplicaOptions
  /** How archives are compressed; in the thread pool unless told otherwise. */
  readonly squeeze?: Squeeze
  readonly readOnly?: boolean
  readonly release?: () => void
}

const REPLAY_PAGE = 4096

export class SegmentStore implements TrailStore {
  readonly #archives: Archives
  readonly tiers: Tiers
  readonly readOnly: boolean
  readonly #blobs: Blobs
  readonly #heads: HeadFiles
  readonly #knownHeads: KnownHeads
  readonly #runHeads: RunHeads
  readonly #reader: SegmentReader
  readonly #writer: LogWriter
  readonly #index: TrailIndex
  readonly #recent = new RecentObjects()
  readonly #release: (() => void) | undefined
  readonly imports: ReadonlyMap<RunId, ImportRecord>
  readonly #imports: StoreImports
  readonly #importParts: ImportParts
  readonly #damage: Damage[]
  #position: Position
  #reindexed: Promise<void> | undefined
  /** Scans under way: no file goes while there are any. */
  #scans = 0
  #closing: Promise<void> | undefined

  private constructor(
    options: SegmentStoreOptions,
    opened: OpenedLog,
    imports: StoreImports,
    log: { reader: SegmentReader; heads: HeadFiles; runs: RunHeads },
  ) {
    const trail = opened.trail ?? options.newTrail()
    const { files, squeeze = pooledSqueeze } = options
    const replica = options.replica && new Replica(options.replica, trail, files)
    this.#blobs = new Blobs(options.blobs)
    this.#archives = new Archives({ files, blobs: this.#blobs, squeeze, replica })
    this.readOnly = options.readOnly ?? false
    this.#heads = log.heads
    this.#reader = log.reader
    this.#runHeads = log.runs
    this.#index = options.index({ trail, end: opened.end })
    this.#knownHeads = new KnownHeads(this.#heads, this.#archives, this.#index)
    this.#release = options.release
    this.#imports = imports
    this.imports = imports.done
    this.#importParts = {
      files,
      blobs: this.#blobs,
      squeeze,
      archives: this.#archives,
      index: this.#index,
      readOnly: this.readOnly,
    }
    this.#damage = [...opened.damage]
    this.#position = opened.end.frame
    this.#writer = new LogWriter({
      files: options.files,
      opened,
      trail,
      runs: this.#runHeads,
      committed: (point, objects, frameAt) => {
        this.#reader.extend(point.segment, point.end)
        invariant(point.frame === this.#position + 1, 'commits are acknowledged in their order, and none is left out')
        this.#recent.add(objects, point.segment, frameAt)
        this.#position = point.frame
        this.#index.advance(point)
      },
      sealed: (point, heads) => {
        this.#reader.extend(point.segment, point.end)
        this.#heads.note(point, heads)
      },
      ...(options.firstSegmentBytes && { firstSegmentBytes: options.firstSegmentBytes }),
      ...(options.segmentBytes && { segmentBytes: options.segmentBytes }),
      measured: options.measured,
    })
    const copies: ColdCopies = { files, archives: this.#archives, replica, squeeze }
    const leftovers = new Leftovers({
      files,
      catalogue: this.#archives.catalogue,
      squeeze,
      index: this.#index,
      position: () => this.#position,
    })
    this.tiers = new Tiers({
      copies,
      leftovers,
      reader: this.#reader,
      index: this.#index,
      writer: this.#writer,
      store: this,
      scanned: () => this.#scans > 0,
    })
  }

  static async open(options: SegmentStoreOptions): Promise<SegmentStore> {
    const imports = await StoreImports.open(options.files, options.readOnly ?? false)
    const opened = await openLog(options.files)
    const reader = new SegmentReader(options.files, opened.segments)
    const heads = new HeadFiles(options.files)
    const runs = await readRunHeads(opened, reader, heads)
    const store = new SegmentStore(options, opened, imports, { reader, heads, runs })
    try {
      // Opening does not verify; it only asks whether anything outside the log knows of more than the log holds.
      const lost = await store.#knownHeads.compare(opened.end)
      if ((await store.#index.opening()).state === 'rebuilt') store.#reindexed = Promise.resolve()
      if (lost) store.#damage.push(lost)
    } catch (cause) {
      await store.close()
      throw cause
    }
    return store
  }

  get position(): Position {
    return this.#position
  }

  get floor(): Ticks {
    return this.#writer.floor
  }

  get damage(): readonly Damage[] {
    return this.#damage
  }

  beginImport(record: ImportRecord): Promise<RunImport> {
    return this.#imports.begin(record, this.#importParts)
  }

  append(records: readonly StoredRecord[], settle: (error?: ParleyError) => void): ParleyError | undefined {
    if (this.readOnly) return readOnlyError()
    let before: Promise<unknown> | undefined
    let kept: readonly StoredRecord[] = records
    if (records.some(isLarge)) {
      const puts: Promise<void>[] = []
      kept = records.map(record => {
        if (!isLarge(record)) return record
        const blob = blobName(record.data)
        puts.push(this.#blobs.put(blob, record.data))
        return { ...record, data: '', blob }
      })
      before = Promise.all(puts)
      before.catch(() => {})
    }
    return this.#writer.append(kept, settle, before)
  }

  async logHead(run: RunId): Promise<RunHead | undefined> {
    if (this.imports.has(run)) return undefined
    const archived = await this.#knownHeads.archived(run)
    if (archived) this.#runHeads.learn(archived)
    return this.#runHeads.of(run)
  }

  /**
   * The index may say where a record lies, never whether there is one: an index that knows less of a run than the log
   * holds is rebuilt before anything is read through it. Once in a life: what is missing then is missing in the log.
   */
  async #indexed(run: RunId): Promise<RunHead | undefined> {
    const own = this.#runHeads.of(run)
    const head = await this.#index.head(run, this.#position)
    const complete = head === undefined ? own === undefined : head.known >= Math.max(head.seq, own?.seq ?? 0)
    if (complete || !(await this.#reindex())) return head
    return this.#index.head(run, this.#position)
  }

  /** False where the index was made from this log already. */
  async #reindex(): Promise<boolean> {
    if (this.#reindexed) {
      await this.#reindexed
      return false
    }
    this.#reindexed = this.#index.rebuild()
    try {
      await this.#reindexed
      return true
    } catch (cause) {
      this.#reindexed = undefined
      throw cause
    }
  }

  /** An imported run may end with entries that were deleted before: then only its record knows of them. */
  async head(run: RunId): Promise<RunHead | undefined> {
    const head = await this.#indexed(run)
    return head && { run, seq: head.seq, hash: head.hash, ...this.imports.get(run)?.head }
  }

  knownHeads(run?: RunId): Promise<readonly RunHead[]> {
    return this.#knownHeads.at(this.#position, run)
  }

  lostArchives(run?: RunId): AsyncGenerator<LostArchive> {
    return lostArchives(this.#archives.catalogue, this.#index, this.#position, run)
  }

  async runs(): Promise<readonly RunSummary[]> {
    const asked = this.#position
    let runs = await this.#index.runs(asked)
    if (this.#position === asked && this.#lacks(runs) && (await this.#reindex()))
      runs = await this.#index.runs(this.#position)
    if (this.imports.size === 0) return runs
    return runs.map(each => ({ ...each, ...this.imports.get(each.run)?.head }))
  }

  /** Whether the log holds more of any run than the index has said. */
  #lacks(runs: readonly RunSummary[]): boolean {
    const listed = new Map(runs.map(({ run, seq }) => [run, seq]))
    return this.#runHeads.values().some(({ run, seq }) => seq > (listed.get(run) ?? 0))
  }

  async starts(runs: readonly RunId[]): Promise<readonly StoredRecord[]> {
    await this.tiers.certain()
    const records = await this.#index.starts(runs, this.#position)
    return records.map(record => (record.kind === 'object' ? this.#fill(record) : record))
  }

  async select(query: StoreQuery): Promise<StorePage> {
    await this.tiers.certain()
    return this.#index.select(query, this.#position)
  }

  async aggregate(query: StoreAggregate): Promise<readonly AggregateRow[]> {
    await this.tiers.certain()
    return this.#index.aggregate(query, this.#position)
  }

  async object(run: RunId, id: ObjectId): Promise<StoredObject | undefined> {
    const found = this.#recent.read(this.#reader, run, id) ?? (await this.#index.object(run, id, this.#position))
    return found && this.#fill(found)
  }

  async *replay(run: RunId, after = 0): AsyncGenerator<StoredRecord> {
    await this.tiers.certain()
    await this.#indexed(run)
    let cursor: string | undefined
    do {
      const page = await this.#index.replay(run, after, REPLAY_PAGE, cursor, this.#position)
      for (const record of page.records) yield record.kind === 'object' ? this.#fillForReplay(record) : record
      invariant(page.cursor === undefined || page.cursor !== cursor, 'a page of a replay continues behind the last')
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  async *scan(run?: RunId, after = 0): AsyncGenerator<readonly ScannedRecord[]> {
    this.#scans++
    try {
      const merged = new TierMerge(this.#archives)
      for (const each of run === undefined ? this.#archives.catalogue.runs() : [run]) {
        yield* merged.begin(each, run === undefined ? 0 : after)
      }
      const first = run === undefined || after === 0 ? 0 : await this.#segmentOf(run, after)
      for (const segment of this.#reader.segments()) {
        if (segment < first) continue
        for (const records of this.#reader.scan(segment, run)) {
          yield [...merged.merge(records)]
          // A frame is a good piece of work; other callers get their turn in between.
          await pause()
        }
      }
      yield [...merged.rest()]
    } finally {
      this.#scans--
    }
  }

  /** The segment of an entry; 0 where unknown. An index that errs makes entries look missing, never sound. */
  async #segmentOf(run: RunId, seq: number): Promise<number> {
    const place = await this.#index.place(run, seq, this.#position)
    return Math.max(0, place?.file ?? 0)
  }

  /** Which blobs nobody refers to, which are damaged, which are missing. Reads every blob. */
  async checkBlobs(): Promise<BlobReport> {
    const referred = new Set<string>()
    for await (const records of this.scan()) {
      for (const record of records) if (record.kind === 'object' && record.blob) referred.add(record.blob)
    }
    return this.#blobs.check(referred)
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      try {
        await this.tiers.close()
        await this.#writer.close()
        await this.#heads.settled()
        await this.#index.close()
        this.#reader.close()
      } finally {
        this.#release?.()
      }
    })()
    return this.#closing
  }

  /** One lost blob does not keep the rest of its run from being read: the caller of a replay decides (W-REC-13). */
  #fillForReplay(object: StoredObject): StoredObject {
    try {
      return this.#fill(object)
    } catch (cause) {
      if (!(cause instanceof ParleyError) || cause.retryable) throw cause
      return { ...object, lost: cause.message }
    }
  }

  #fill(object: StoredObject): StoredObject {
    return object.blob === undefined ? object : { ...object, data: this.#archives.blob(object.blob) }
  }
}

/** Where each run stands in the segments: from heads files that fit them, else from the segments themselves. */
async function readRunHeads(opened: OpenedLog, reader: SegmentReader, files: HeadFiles): Promise<RunHeads> {
  const runs = new RunHeads()
  for (const [segment, end] of opened.segments) {
    const tail = segment === opened.end.segment ? opened.tailHeads.values() : files.current(segment, end)
    for (const head of tail ?? reader.heads(segment).values()) runs.learn(head)
    await pause()
  }
  return runs
}
