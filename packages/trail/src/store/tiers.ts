// Moving records between the places that a store has for them (W-TRAIL-25 to 29): from the log to files of runs, from there to the cold tier,
// and removing what nobody needs any more. One change at a time; each is durable at its new place before anything is removed, and a crash leaves
// every record where it counts (docs/decisions/0014). Appends and queries go on meanwhile.
import { formatTimestamp, ParleyError, type RunId, type Timestamp, type WorkspaceId } from '@parley/core'
import type { ArchiveDraft, Archives } from '../archive/archives.ts'
import { type Contents, contentsOf, packEntries } from '../archive/contents.ts'
import { HeldRun } from '../archive/held.ts'
import type { Leftovers } from '../archive/leftovers.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { StoredEntry } from '../entry.ts'
import { damagedError, readOnlyError } from '../errors.ts'
import type { RecordPlace, RunUsage, TakenRecords, TrailIndex } from '../index/contract.ts'
import type { TrailKey } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { pause } from '../log/pause.ts'
import type { SegmentReader } from '../log/reader.ts'
import type { LogWriter } from '../log/writer.ts'
import { type RunFiles, runFiles, superseded } from './run-files.ts'
import type { MoveProgress, RunHead } from './store.ts'
import { wipeRecords } from './wipe.ts'

export interface TiersOptions {
  readonly archives: Archives
  readonly leftovers: Leftovers
  readonly reader: SegmentReader
  readonly index: TrailIndex
  readonly writer: LogWriter
  readonly readOnly: boolean
  /** The newest entry of a run, whether it is still there or not. */
  readonly head: (run: RunId) => Promise<RunHead | undefined>
  /** The keys of whoever made an imported run. */
  readonly foreign: (run: RunId) => readonly TrailKey[] | undefined
  /** The newest position that was acknowledged. */
  readonly position: () => number
  /** Whether somebody is reading the files as they are, so that none may be removed now. */
  readonly scanned: () => boolean
}

const EVERYWHERE = Number.MAX_SAFE_INTEGER

export class Tiers {
  readonly #options: TiersOptions
  readonly #archives: Archives
  readonly #index: TrailIndex
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(options: TiersOptions) {
    this.#options = options
    this.#archives = options.archives
    this.#index = options.index
  }

  /** Waits for the step that is under way; what is left of it is given up. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#last
  }

  /** One change after the other: what one has moved, the next must know of. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#options.readOnly) return Promise.reject(readOnlyError())
    const done = this.#last.then(() => {
      this.#expectOpen()
      return work()
    })
    this.#last = done.catch(() => {})
    return done
  }

  #expectOpen(): void {
    if (this.#closed) throw new ParleyError('trail_closed', 'The trail is closed.')
  }

  archive(run: RunId, workspace: WorkspaceId, seqs: readonly number[], at: Timestamp): Promise<Manifest> {
    return this.alone(async () => {
      const entries = await this.#select(run, workspace, seqs)
      const contents = await contentsOf(packEntries(entries))
      const kept = await this.#keep({ kind: 'workspace', run, workspace, at, contents, until: null })
      await this.#options.leftovers.sweep(run)
      return kept
    })
  }

  moveRun(run: RunId, at: Timestamp, progress?: (moved: MoveProgress) => void): Promise<MoveProgress> {
    return this.alone(() => this.#move(run, at, EVERYWHERE, true, progress))
  }

  usage(): Promise<readonly RunUsage[]> {
    return this.#index.usage(this.#options.position())
  }

  expire(run: RunId, at: Timestamp): Promise<number> {
    return this.alone(async () => {
      // Before it is asked what the log still holds: what is appended from here on is not in the cold tier when this is done.
      const head = await this.#options.head(run)
      const [usage] = await this.#index.usage(this.#options.position(), run)
      if (usage && usage.segments.length > 0)
        throw new ParleyError('invalid_state', `${run} is still in the log; compact it first.`)
      let moved = 0
      // Files that a crash kept from going: what they hold is in another one, and deleting either must not leave it in the other.
      const dead = new Set(await superseded(this.#archives.catalogue, run))
      for await (const manifest of this.#archives.catalogue.manifests(run)) {
        if (manifest.tier !== 'warm' || dead.has(manifest.archive)) continue
        this.#expectOpen()
        await this.#archives.expire(manifest, at)
        moved++
      }
      if (head) await this.#archives.markWhole(head, this.#options.foreign(run))
      if (!this.#options.scanned()) await this.#archives.sweep(run, dead)
      await this.#options.leftovers.sweep(run)
      return moved
    })
  }

  keepKeys(): Promise<number> {
    return this.alone(() => this.#archives.keepKeys())
  }

  reclaim(): Promise<number> {
    return this.alone(async () => {
      await this.#carry()
      const used = usedSegments(await this.usage())
      await this.#rollIfUnused(used)
      let bytes = 0
      for (const segment of this.#finished()) {
        if (!used.has(segment)) bytes += await this.#drop(segment)
      }
      return bytes
    })
  }

  deleteArchive(manifest: Manifest): Promise<void> {
    return this.alone(async () => {
      await this.#archives.noteDeleted(manifest)
      // Before the records go: what fails up to there has deleted nothing, and the next attempt finishes it.
      await wipeRecords(this.#options.reader, this.#options.writer, manifest)
      await this.#archives.deleteNoted(manifest)
      const seqs = manifest.entries.map(({ seq }) => seq)
      await this.#index.forget(manifest.run, seqs, -manifest.archive)
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
    return this.#index.take(request, this.#options.position())
  }

  async #keep(draft: Omit<ArchiveDraft, 'head'>): Promise<Manifest> {
    const head = await this.#options.head(draft.run)
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
        this.#options.position(),
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

  /** Segments that nothing is written to any more, the oldest first. */
  #finished(): readonly number[] {
    return this.#options.reader.segments().slice(0, -1)
  }

  /**
   * Where what counts in the oldest segments is at most half of them, it moves to files of its runs, whether these have ended or not: so one
   * long run does not hold on to the log for ever, and what is copied is never more than what is freed.
   */
  async #carry(): Promise<void> {
    const usage = await this.usage()
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

  /** The index says that nobody needs this segment; the archives must say so, too. Damage is evidence: such a segment stays. */
  async #drop(segment: number): Promise<number> {
    const { reader, scanned } = this.#options
    const runs = new Map<RunId, HeldRun>()
    for (const records of reader.scan(segment, undefined)) {
      for (const record of records) {
        if (record.kind !== 'entry' && record.kind !== 'object') return 0
        const held =
          runs.get(record.run) ?? (await HeldRun.of(this.#archives.catalogue.manifests(record.run)))
        runs.set(record.run, held)
        const isHeld =
          record.kind === 'entry' ? held.hasEntry(record.seq) : held.hasObject(record.id, record.seq)
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

/** What the log has lost must not be lost for good: nothing moves out of it where entries of the run are missing. */
function expectNoGap(run: RunId, { entries }: Contents, held: HeldRun): void {
  const seqs = new Set(entries.map(({ seq }) => seq))
  const last = entries.at(-1)?.seq ?? 0
  for (let seq = Math.max(1, held.until.seq); seq < last; seq++) {
    if (seqs.has(seq) || held.hasEntry(seq)) continue
    throw damagedError(`${run} misses entry ${seq}; it stays in the log. Verify the run.`, { run, seq })
  }
}

/** Bytes that counting records take in each segment that has any. */
function usedSegments(usage: readonly RunUsage[]): Map<number, number> {
  const used = new Map<number, number>()
  for (const { segments } of usage) {
    for (const { segment, bytes } of segments) used.set(segment, (used.get(segment) ?? 0) + bytes)
  }
  return used
}
