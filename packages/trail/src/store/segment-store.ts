// The embedded trail store: a framed segment log with group commit, blobs beside it, and a disposable index.
// On disk the index is SQLite on a worker thread; over the faulty twin it is in memory.
import {
  limits,
  type ObjectId,
  type ParleyError,
  type RunId,
  type Ticks,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import { Archives } from '../archive/archives.ts'
import type { Manifest } from '../archive/manifest.ts'
import { ColdMerge } from '../archive/merge.ts'
import type { StoredEntry, StoredObject, StoredRecord } from '../entry.ts'
import type { LogPoint, TrailIndex } from '../index/contract.ts'
import { type BlobReport, Blobs, blobName } from '../log/blobs.ts'
import type { Files } from '../log/files.ts'
import { type OpenedLog, openLog } from '../log/open.ts'
import { SegmentReader } from '../log/reader.ts'
import { LogWriter } from '../log/writer.ts'
import { HeadFiles } from './heads.ts'
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

export interface SegmentStoreOptions {
  /** The trail's folder. */
  readonly files: Files
  /** The folder of blobs. */
  readonly blobs: Files
  /** Makes the index over a log that ends at a point. */
  readonly index: (log: { trail: string; end: LogPoint; reader: SegmentReader }) => TrailIndex
  /** A new identity for a trail that does not exist yet: 32 hexadecimal digits. */
  readonly newTrail: () => string
  readonly firstSegmentBytes?: number
  readonly segmentBytes?: number
  /** Called once everything is closed. */
  readonly release?: () => void
}

const REPLAY_PAGE = 4096

export class SegmentStore implements TrailStore {
  readonly #archives: Archives
  readonly #blobs: Blobs
  readonly #heads: HeadFiles
  readonly #reader: SegmentReader
  readonly #writer: LogWriter
  readonly #index: TrailIndex
  readonly #recent = new RecentObjects()
  readonly #release: (() => void) | undefined
  readonly #damage: Damage[]
  #position: Position
  #closing: Promise<void> | undefined

  private constructor(options: SegmentStoreOptions, opened: OpenedLog) {
    const trail = opened.trail ?? options.newTrail()
    this.#archives = new Archives(options.files)
    this.#blobs = new Blobs(options.blobs)
    this.#heads = new HeadFiles(options.files)
    this.#reader = new SegmentReader(options.files, opened.segments, this.#archives)
    this.#index = options.index({ trail, end: opened.end, reader: this.#reader })
    this.#release = options.release
    this.#damage = [...opened.damage]
    this.#position = opened.end.frame
    this.#writer = new LogWriter({
      files: options.files,
      opened,
      trail,
      committed: (point, objects, frameAt) => {
        this.#reader.extend(point.segment, point.end)
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
    })
  }

  static async open(options: SegmentStoreOptions): Promise<SegmentStore> {
    const opened = await openLog(options.files)
    const store = new SegmentStore(options, opened)
    try {
      await store.#compareHeads(opened)
    } catch (cause) {
      await store.close()
      throw cause
    }
    return store
  }

  /** Opening does not verify; it only asks whether anything outside the log knows of more than the log holds. */
  async #compareHeads({ end }: OpenedLog): Promise<void> {
    const opening = await this.#index.opening()
    const lost = new Map(opening.lostHeads.map(head => [head.run, head]))
    const before = this.#heads.lost()
    const noted = opening.state === 'rebuilt' ? this.#heads.all() : this.#heads.behind(end.frame)
    for (const head of [...before, ...noted]) {
      const now = await this.#index.head(head.run, this.#position)
      if (!now || now.seq < head.seq) lost.set(head.run, head)
    }
    if (lost.size > 0 || before.length > 0) await this.#heads.noteLost([...lost.values()])
    if (lost.size === 0) return
    this.#damage.push({
      code: 'trail_truncated',
      message: `The log ends before entries that were acknowledged, in ${lost.size} ${lost.size === 1 ? 'run' : 'runs'}. Verify them, and restore the log from a backup.`,
      runs: [...lost.keys()],
    })
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

  append(records: readonly StoredRecord[], settle: (error?: ParleyError) => void): ParleyError | undefined {
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

  head(run: RunId): Promise<RunHead | undefined> {
    return this.#index.head(run, this.#position)
  }

  async knownHeads(run?: RunId): Promise<readonly RunHead[]> {
    const noted = [...this.#heads.all()]
    if (run === undefined) return [...noted, ...(await this.#index.runs(this.#position))]
    const indexed = await this.#index.head(run, this.#position)
    return [...noted.filter(head => head.run === run), ...(indexed ? [indexed] : [])]
  }

  runs(): Promise<readonly RunSummary[]> {
    return this.#index.runs(this.#position)
  }

  select(query: StoreQuery): Promise<StorePage> {
    return this.#index.select(query, this.#position)
  }

  aggregate(query: StoreAggregate): Promise<readonly AggregateRow[]> {
    return this.#index.aggregate(query, this.#position)
  }

  async object(run: RunId, id: ObjectId): Promise<StoredObject | undefined> {
    const found =
      this.#recent.read(this.#reader, run, id) ?? (await this.#index.object(run, id, this.#position))
    return found && this.#fill(found)
  }

  async *replay(run: RunId, after = 0): AsyncGenerator<StoredRecord> {
    let cursor: string | undefined
    do {
      const page = await this.#index.replay(run, after, REPLAY_PAGE, cursor, this.#position)
      for (const record of page.records) yield record.kind === 'object' ? this.#fill(record) : record
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  async *scan(run?: RunId, after = 0): AsyncGenerator<readonly ScannedRecord[]> {
    const cold = new ColdMerge(this.#archives, run)
    const first = run === undefined || after === 0 ? 0 : await this.#segmentOf(run, after)
    for (const segment of this.#reader.segments()) {
      if (segment < first) continue
      for (const records of this.#reader.scan(segment, run)) {
        yield [...cold.merge(records)]
        // A frame is a good piece of work; other callers get their turn in between.
        await new Promise(resolve => setImmediate(resolve))
      }
    }
    yield [...cold.rest()]
  }

  /** The segment that an entry lies in; 0 where it is not known. An index that errs makes entries look missing, never sound. */
  async #segmentOf(run: RunId, seq: number): Promise<number> {
    const place = await this.#index.place(run, seq, this.#position)
    return Math.max(0, place?.file ?? 0)
  }

  async archive(
    run: RunId,
    workspace: WorkspaceId,
    seqs: readonly number[],
    at: Timestamp,
  ): Promise<Manifest> {
    const wanted = new Set(seqs)
    const entries: StoredEntry[] = []
    const first = seqs[0] ?? 0
    for await (const record of this.replay(run, first - 1)) {
      if (record.kind === 'entry' && wanted.has(record.seq)) entries.push(record)
      if (entries.length === wanted.size) break
    }
    const manifest = await this.#archives.write(run, workspace, entries, at)
    const places = manifest.entries.map(each => ({
      seq: each.seq,
      file: -manifest.archive,
      at: each.at,
      length: each.length,
    }))
    await this.#index.relocate(run, places)
    return manifest
  }

  async manifests(run: RunId): Promise<readonly Manifest[]> {
    return this.#archives.manifests(run)
  }

  async reclaim(): Promise<number> {
    const gone = new Map<RunId, Set<number>>()
    for (const { run, entries } of this.#archives.manifests()) {
      const seqs = gone.get(run) ?? new Set()
      gone.set(run, seqs)
      for (const { seq } of entries) seqs.add(seq)
    }
    let bytes = 0
    for (const segment of this.#reader.segments().slice(0, -1)) {
      bytes += await this.#reader.wipe(segment, (run, seq) => gone.get(run)?.has(seq) ?? false)
    }
    return bytes
  }

  async deleteArchive(manifest: Manifest): Promise<void> {
    await this.#archives.delete(manifest)
    await this.#index.forget(
      manifest.run,
      manifest.entries.map(({ seq }) => seq),
    )
    await this.reclaim()
  }

  async snapshot(run: RunId, id: string, upTo: number): Promise<number> {
    const entries: StoredEntry[] = []
    for await (const record of this.replay(run)) {
      if (record.kind !== 'entry') continue
      if (record.seq > upTo) break
      entries.push(record)
    }
    await this.#archives.writeSnapshot(id, entries)
    return entries.length
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

  #fill(object: StoredObject): StoredObject {
    return object.blob === undefined ? object : { ...object, data: this.#blobs.get(object.blob) }
  }
}

function isLarge(record: StoredRecord): record is StoredObject {
  return record.kind === 'object' && Buffer.byteLength(record.data) > limits.objectInlineBytes
}
