// Moving records between their places (W-TRAIL-25 to 29): from the log to files of runs, from there to the cold tier,
// and removing what is no longer needed. Each change is durable at its new place before anything is removed, and a
// crash leaves every record where it counts (docs/decisions/0014). Appends and queries continue meanwhile.
import { formatTimestamp, invariant, ParleyError, type RunId, type Timestamp, type WorkspaceId } from '@parley/core'
import type { ArchiveDraft, Archives } from '../archive/archives.ts'
import { contentsOf } from '../archive/contents.ts'
import { type ColdCopies, replicateCold, restoreCold } from '../archive/copies.ts'
import { HeldRun } from '../archive/held.ts'
import type { Leftovers } from '../archive/leftovers.ts'
import type { Manifest } from '../archive/manifest.ts'
import { writeSnapshot } from '../archive/snapshot.ts'
import { type ReplicaReport, reportReplica, reportTiers, type TierReport } from '../archive/tier-report.ts'
import type { StoredEntry } from '../entry.ts'
import { damagedError, readOnlyError } from '../errors.ts'
import type { RecordPlace, RunUsage, TakenRecords, TrailIndex } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import { pause } from '../log/pause.ts'
import type { SegmentReader } from '../log/reader.ts'
import { KIND_ENTRY, packRecords, type RecordSpan, readObject, recordRun } from '../log/record.ts'
import type { LogWriter } from '../log/writer.ts'
import { expectNoGap, type RunFiles, runFiles, superseded, usedSegments } from './run-files.ts'
import type { MoveProgress, RecordTier, RestoreReport, TrailStore, TrailTiers } from './store.ts'

interface TiersOptions {
  readonly copies: ColdCopies
  readonly leftovers: Leftovers
  readonly reader: SegmentReader
  readonly index: TrailIndex
  readonly writer: LogWriter
  readonly store: Pick<TrailStore, 'readOnly' | 'position' | 'imports' | 'head' | 'runs' | 'replay'>
  /** Whether somebody is reading the files as they are, so that none may be removed now. */
  readonly scanned: () => boolean
}

const EVERYWHERE = Number.MAX_SAFE_INTEGER

export class Tiers implements TrailTiers {
  readonly #options: TiersOptions
  readonly #archives: Archives
  readonly #index: TrailIndex
  #changing: Promise<unknown> | undefined
  #closed = false
  /** A change failed: archives may count that the index was not told of. */
  #doubtful = false
  #adopting: Promise<void> | undefined

  constructor(options: TiersOptions) {
    this.#options = options
    this.#archives = options.copies.archives
    this.#index = options.index
  }

  /** Waits for the step that is under way; what is left of it is given up. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#changing
  }

  async #change<T>(work: () => Promise<T>): Promise<T> {
    if (this.#options.store.readOnly) throw readOnlyError()
    invariant(!this.#changing, 'the storage is changed by one piece of work at a time')
    const done = this.#changed(work)
    this.#changing = done.catch(() => undefined)
    try {
      return await done
    } finally {
      this.#changing = undefined
    }
  }

  async #changed<T>(work: () => Promise<T>): Promise<T> {
    this.#expectOpen()
    // Else what an archive holds would be taken from the log once more, and be in two of them.
    await this.certain()
    try {
      return await work()
    } catch (cause) {
      this.#doubtful = true
      throw cause
    }
  }

  /** Tells the index of archives and deletions that it missed. Each change begins with this, so none is at work. */
  async certain(): Promise<void> {
    if (!this.#doubtful) return
    this.#adopting ??= this.#adopt()
    await this.#adopting
  }

  async #adopt(): Promise<void> {
    try {
      this.#expectOpen()
      await this.#index.adopt()
      this.#doubtful = false
    } finally {
      this.#adopting = undefined
    }
  }

  #expectOpen(): void {
    if (this.#closed) throw new ParleyError('trail_closed', 'The trail is closed.')
  }

  async manifests(run: RunId): Promise<readonly Manifest[]> {
    const found: Manifest[] = []
    for await (const manifest of this.#archives.catalogue.manifests(run)) found.push(manifest)
    return found
  }

  async whereIs(run: RunId, seq: number): Promise<RecordTier | undefined> {
    await this.certain()
    const place = await this.#index.place(run, seq, this.#options.store.position)
    if (!place) return undefined
    return place.file > 0 ? 'log' : this.#archives.catalogue.tierOf(-place.file)
  }

  async usage(): Promise<readonly RunUsage[]> {
    await this.certain()
    return this.#usage()
  }

  #usage(): Promise<readonly RunUsage[]> {
    return this.#index.usage(this.#options.store.position)
  }

  async warmRuns(): Promise<readonly RunId[]> {
    return this.#archives.catalogue.warmRuns()
  }

  async replica(): Promise<ReplicaReport | null> {
    const { files, replica } = this.#options.copies
    return replica ? reportReplica(files, replica) : null
  }

  async report(): Promise<TierReport> {
    const runs = await this.#options.store.runs()
    const usage = await this.usage()
    const inLog = usage.map(({ run, segments }) => [run, segments.reduce((sum, { bytes }) => sum + bytes, 0)] as const)
    return reportTiers({ ...this.#options.copies, runs, inLog: new Map(inLog) })
  }

  snapshot(run: RunId, id: string, upTo: number): Promise<number> {
    return writeSnapshot(this.#options.copies, id, upTo, this.#options.store.replay(run))
  }

  replicate(): Promise<number> {
    return this.#change(() => replicateCold(this.#options.copies))
  }

  restore(): Promise<RestoreReport> {
    return this.#change(async () => {
      const report = await restoreCold(this.#options.copies, this.#options.leftovers)
      this.#archives.refresh()
      await this.#index.adopt()
      return report
    })
  }

  archive(run: RunId, workspace: WorkspaceId, seqs: readonly number[], at: Timestamp): Promise<Manifest> {
    return this.#change(async () => {
      const entries = await this.#select(run, workspace, seqs)
      const contents = await contentsOf(packRecords(entries))
      const kept = await this.#keep({ kind: 'workspace', run, workspace, at, contents, until: null })
      await this.#options.leftovers.sweep(run)
      return kept
    })
  }

  moveRun(run: RunId, at: Timestamp, progress?: (moved: MoveProgress) => void): Promise<MoveProgress> {
    return this.#change(() => this.#move(run, at, EVERYWHERE, true, progress))
  }

  expire(run: RunId, at: Timestamp): Promise<number> {
    return this.#change(async () => {
      // Asked before the log is: what is appended from here on is not in the cold tier when this is done.
      const head = await this.#options.store.head(run)
      const [usage] = await this.#index.usage(this.#options.store.position, run)
      if (usage && usage.segments.length > 0)
        throw new ParleyError('invalid_state', `${run} is still in the log; compact it first.`)
      let moved = 0
      // Files that survived a crash: another one holds their content, and deleting either must not leave it there.
      const dead = new Set(await superseded(this.#archives.catalogue, run))
      for await (const manifest of this.#archives.catalogue.manifests(run)) {
        if (manifest.tier !== 'warm' || dead.has(manifest.archive)) continue
        this.#expectOpen()
        await this.#archives.expire(manifest, at)
        moved++
      }
      if (head) await this.#archives.markWhole(head, this.#options.store.imports.get(run)?.keys)
      if (!this.#options.scanned()) await this.#archives.sweep(run, dead)
      await this.#options.leftovers.sweep(run)
      return moved
    })
  }

  async keepKeys(): Promise<void> {
    await this.#change(() => this.#archives.keepKeys())
  }

  reclaim(): Promise<number> {
    return this.#change(async () => {
      await this.#carry()
      const used = usedSegments(await this.#usage())
      await this.#rollIfUnused(used)
      let bytes = 0
      for (const segment of this.#finished()) {
        if (!used.has(segment)) bytes += await this.#drop(segment)
      }
      return bytes
    })
  }

  deleteArchive(manifest: Manifest): Promise<void> {
    return this.#change(async () => {
      await this.#archives.noteDeleted(manifest)
      // Before the records go: what fails up to there has deleted nothing, and the next attempt finishes it.
      await wipeRecords(this.#options.reader, this.#options.writer, manifest)
      await this.#archives.deleteNoted(manifest)
      const seqs = manifest.entries.map(({ seq }) => seq)
      // It is deleted by now, whether the index can be told or not.
      await this.#index.forget(manifest.run, seqs, -manifest.archive).catch(() => {
        this.#doubtful = true
      })
    })
  }

  /** Moves what a run has in segments up to one, and, to tidy up, what it has in files that can be put together. */
  async #move(
    run: RunId,
    at: Timestamp,
    upTo: number,
    tidy: boolean,
    progress?: (moved: MoveProgress) => void,
  ): Promise<MoveProgress> {
    const files = await runFiles(this.#archives.catalogue, run)
    let moved: MoveProgress = { records: 0, bytes: 0 }
    for (let more = true; more; ) {
      this.#expectOpen()
      const also = tidy ? files.untidy() : []
      const taken = await this.#take(run, files, upTo, also)
      if (taken.records.length === 0 || files.isWhole(also, taken.records.length)) break
      const contents = await contentsOf(taken.records, taken.ordinals)
      expectNoGap(run, contents, files.held)
      const until = files.furthest(taken.until)
      files.add(await this.#keep({ kind: 'run', run, workspace: null, at, contents, until }))
      const records = contents.entries.length + contents.objects.length
      moved = { records: moved.records + records, bytes: moved.bytes + contents.bytes.length }
      progress?.(moved)
      ;({ more } = taken)
    }
    if (!this.#options.scanned()) {
      const dead = tidy ? await superseded(this.#archives.catalogue, run) : []
      await this.#archives.sweep(run, new Set(dead))
    }
    await this.#options.leftovers.sweep(run)
    return moved
  }

  #take(run: RunId, files: RunFiles, upTo: number, also: readonly number[]): Promise<TakenRecords> {
    const request = {
      run,
      after: also.length > 0 ? { seq: 0, objects: 0 } : files.held.until,
      upTo,
      also: also.map(archive => -archive),
      records: trailLimits.archiveRecords,
      bytes: trailLimits.archiveBytes,
    }
    return this.#index.take(request, this.#options.store.position)
  }

  async #keep(draft: Omit<ArchiveDraft, 'head'>): Promise<Manifest> {
    const head = await this.#options.store.head(draft.run)
    const known = head ? { seq: head.seq, hash: head.hash } : null
    const manifest = await this.#archives.write({ ...draft, head: known })
    const file = -manifest.archive
    const places: RecordPlace[] = [
      ...manifest.entries.map(({ seq, at, length }) => ({ seq, file, at, length })),
      ...manifest.objects.map(({ id, seq, at, length }) => ({ id, seq, file, at, length })),
    ]
    await this.#index.relocate(draft.run, places)
    return manifest
  }

  async #select(run: RunId, workspace: WorkspaceId, seqs: readonly number[]): Promise<StoredEntry[]> {
    const wanted = new Set(seqs)
    const entries: StoredEntry[] = []
    let after = (seqs[0] ?? 1) - 1
    for (;;) {
      const page = await this.#index.select(
        { run, spans: [{ workspace }], after, order: 'ascending', limit: trailLimits.pageEntries },
        this.#options.store.position,
      )
      for (const entry of page.entries) if (wanted.has(entry.seq)) entries.push(entry)
      after = page.entries.at(-1)?.seq ?? after
      if (entries.length === wanted.size || !page.more) break
    }
    if (entries.length === wanted.size) return entries
    throw damagedError(
      `${wanted.size - entries.length} entries of ${workspace} in ${run} cannot be read; nothing was archived. Verify the run.`,
      { run, workspace },
    )
  }

  #finished(): readonly number[] {
    return this.#options.reader.segments().slice(0, -1)
  }

  /**
   * Where at most half of the oldest segments counts, it moves to files of its runs, ended or not: so one long run does
   * not hold on to the log for ever, and no more is copied than is freed.
   */
  async #carry(): Promise<void> {
    const usage = await this.#usage()
    const used = usedSegments(usage)
    let upTo = 0
    let total = 0
    let live = 0
    for (const segment of this.#finished()) {
      total += this.#options.reader.sizeOf(segment)
      live += used.get(segment) ?? 0
      if (live > 0 && live * 2 <= total) upTo = segment
    }
    const at = formatTimestamp(this.#options.writer.floor)
    for (const { run, segments } of usage) {
      if (!segments.some(({ segment }) => segment <= upTo)) continue
      try {
        await this.#move(run, at, upTo, false)
      } catch (cause) {
        // A damaged run stays where it is, and so do the segments that hold it; the others need not wait for it.
        if (!(cause instanceof ParleyError) || cause.code !== 'trail_damaged') throw cause
      }
    }
  }

  /** Where all of the newest segment has moved, another one is begun, so that it can be removed. */
  async #rollIfUnused(used: ReadonlyMap<number, number>): Promise<void> {
    const newest = this.#options.reader.segments().at(-1)
    if (newest === undefined || used.has(newest)) return
    if (this.#options.reader.sizeOf(newest) >= trailLimits.rolledBytes) await this.#options.writer.roll()
  }

  /**
   * The index says that nobody needs this segment; the archives must agree. Damage is evidence: such a segment stays.
   */
  async #drop(segment: number): Promise<number> {
    const { reader, scanned } = this.#options
    const runs = new Map<RunId, HeldRun>()
    for (const records of reader.scan(segment, undefined)) {
      for (const record of records) {
        if (record.kind !== 'entry' && record.kind !== 'object') return 0
        const held = runs.get(record.run) ?? (await HeldRun.of(this.#archives.catalogue.manifests(record.run)))
        runs.set(record.run, held)
        const isHeld = record.kind === 'entry' ? held.hasEntry(record.seq) : held.hasObject(record.id, record.seq)
        if (!isHeld) return 0
      }
      await pause()
    }
    if (scanned()) return 0
    const bytes = reader.sizeOf(segment)
    await reader.drop(segment)
    return bytes
  }
}

/** Wipes from the log what was deleted for good (W-TRAIL-28), so that no index made anew finds it there. */
async function wipeRecords(
  reader: SegmentReader,
  writer: LogWriter,
  { run, entries, objects }: Manifest,
): Promise<void> {
  const seqs = new Set(entries.map(({ seq }) => seq))
  const ids = new Set(objects.map(({ id }) => id))
  const gone = (source: Buffer, span: RecordSpan) =>
    recordRun(source, span) === run &&
    (span.kind === KIND_ENTRY ? seqs.has(span.seq) : ids.has(readObject(source, span).id))
  const newest = reader.segments().at(-1)
  // What is being written to cannot be changed.
  if (newest !== undefined && reader.some(newest, gone)) await writer.roll()
  for (const segment of reader.segments().slice(0, -1)) await reader.wipe(segment, gone)
}
