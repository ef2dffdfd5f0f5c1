// The one manager of a trail's storage (W-TRAIL-24 to 30): runs that have ended leave the log, move to the cold tier,
// are frozen and deleted. One piece of work at a time, since each must know what the last has moved; appends and
// queries continue meanwhile. It appends nothing itself: entries are returned, or passed to its host.
import {
  err,
  formatTimestamp,
  invariant,
  ok,
  type Result,
  type RunId,
  refuse,
  type Ticks,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import type { Manifest } from '../archive/manifest.ts'
import type { ProposedEntry } from '../entry.ts'
import { moveError } from '../errors.ts'
import { trailLimits } from '../limits.ts'
import type { RunTrail } from '../run/run-trail.ts'
import type { MoveProgress, RestoreReport, TrailStore } from '../store/store.ts'
import { type Compacted, compactWorkspace, compactWorkspaces, findUnsound, type Sound } from './compaction.ts'
import { freezeRun } from './freezing.ts'
import { deleteArchive, deleteExpired, expireRun, type Retention } from './retention.ts'

interface RunCompaction {
  /** Entries that moved to the cold tier. */
  readonly archived: number
  /** For the runtime to append; then `compactRun` is called again, and takes them along with the rest of the run. */
  readonly summaries: readonly ProposedEntry<'trail_compacted'>[]
  /** What moved from the log to files of the run. */
  readonly moved: MoveProgress
  readonly done: boolean
}

interface PendingRun extends MoveProgress {
  readonly run: RunId
}

export interface StorageHost {
  /** Raised once nothing more may be begun. */
  readonly signal: AbortSignal
  now(): Ticks
  /** Puts what compaction says of a run on its trail. */
  append(run: RunId, entries: readonly ProposedEntry[]): Promise<Result<unknown>>
}

const NOTHING: MoveProgress = { records: 0, bytes: 0 }
const NOTHING_ARCHIVED: Compacted = { archived: 0, summaries: [] }

export class StorageManager {
  readonly #store: TrailStore
  readonly #borrow: (run: RunId) => RunTrail
  /** Runs between the two steps of their compaction: what came in between is ours. */
  readonly #sound = new Set<RunId>()
  #last: Promise<unknown> = Promise.resolve()
  #working: RunId | null = null

  constructor(store: TrailStore, borrow: (run: RunId) => RunTrail) {
    this.#store = store
    this.#borrow = borrow
  }

  get working(): RunId | null {
    return this.#working
  }

  /** Runs that have ended and that `compactRun` has work with, be it only what was appended to them since. */
  async pending(): Promise<readonly PendingRun[]> {
    const usage = await this.#store.tiers.usage()
    return usage
      .filter(({ ended, segments }) => ended && segments.length > 0)
      .map(({ run, segments }) => ({
        run,
        records: segments.reduce((sum, each) => sum + each.records, 0),
        bytes: segments.reduce((sum, each) => sum + each.bytes, 0),
      }))
  }

  /** Runs that have ended, have left the log and are not in the cold tier yet. */
  async warm(): Promise<readonly RunId[]> {
    const ended = new Set((await this.#store.runs()).flatMap(({ run, ended }) => (ended ? run : [])))
    return (await this.#store.tiers.warmRuns()).filter(run => ended.has(run))
  }

  /** Moves what is archivable of one terminal workspace to the cold tier (W-TRAIL-27). Nothing is deleted. */
  compactWorkspace(run: RunId, workspace: WorkspaceId, at: Timestamp): Promise<Result<Compacted>> {
    return this.#alone(run, () => compactWorkspace(this.#store, this.#borrow(run), workspace, at))
  }

  compactWorkspaces(run: RunId, at: Timestamp): Promise<Result<Compacted>> {
    return this.#alone(run, async () => ok(await compactWorkspaces(this.#store, this.#borrow(run), at)))
  }

  /**
   * One step of moving an ended run out of the log: archivable entries to the cold tier, and once their summaries are
   * on the trail, all else to files of the run. A run with a broken chain stays (`trail_damaged`, with what to record
   * of it); after `replica_unavailable` and disk errors everything is readable where it was.
   */
  compactRun(run: RunId, at: Timestamp, progress?: (moved: MoveProgress) => void): Promise<Sound<RunCompaction>> {
    return this.#alone(run, () => this.#compactStep(run, at, progress))
  }

  /** All steps of it, with the summaries appended in between by the host. */
  compact(run: RunId, host: StorageHost): Promise<Sound<Omit<RunCompaction, 'summaries' | 'done'>>> {
    return this.#alone(run, async () => {
      let archived = 0
      for (let step = 0; step < trailLimits.compactionSteps && !host.signal.aborted; step++) {
        const done = await this.#compactStep(run, formatTimestamp(host.now()))
        if (!done.ok) return done
        archived += done.value.archived
        if (done.value.done) return ok({ archived, moved: done.value.moved })
        const appended = await host.append(run, done.value.summaries)
        if (!appended.ok) return appended
      }
      return refuse('trail_unavailable', `${run} is not out of the log yet; it is tried again.`)
    })
  }

  async #compactStep(
    id: RunId,
    at: Timestamp,
    progress?: (moved: MoveProgress) => void,
  ): Promise<Sound<RunCompaction>> {
    const isSound = this.#sound.delete(id)
    const run = this.#borrow(id)
    const unsound = isSound ? undefined : await findUnsound(this.#store, id)
    if (unsound) return unsound
    if (!(await run.model()).ended)
      return refuse('invalid_state', `${id} has not ended; only finished runs are compacted.`)
    // Nothing can be appended to a run from elsewhere, so no summary of it can ever be on the trail: it moves whole.
    const closed = this.#store.imports.has(id)
    const { archived, summaries } = closed ? NOTHING_ARCHIVED : await compactWorkspaces(this.#store, run, at)
    if (summaries.length > 0) {
      this.#sound.add(id)
      return ok({ archived, summaries, moved: NOTHING, done: false })
    }
    const moved = await this.#store.tiers.moveRun(id, at, progress)
    return ok({ archived, summaries, moved, done: true })
  }

  /** Removes from the log what has moved; returns the bytes freed. Worth a call after some runs were compacted. */
  reclaim(): Promise<Result<number>> {
    return this.#alone(null, async () => ok(await this.#store.tiers.reclaim()))
  }

  /** Moves a compacted run to the cold tier and its replica; `retention_active` before that. Returns how many files. */
  expire(run: RunId, now: Ticks, retention: Retention): Promise<Result<number>> {
    return this.#alone(run, () => expireRun(this.#store, this.#borrow(run), now, retention))
  }

  /** Deletes one archive after its retention (W-TRAIL-28); its manifest stays, so that the chains still verify. */
  deleteArchive(run: RunId, archive: number, now: Ticks, retention: Retention): Promise<Result<Manifest>> {
    return this.#alone(run, () => deleteArchive(this.#store, this.#borrow(run), archive, now, retention))
  }

  /** Deletes a run's archives whose cold retention is over and that an entry covers (W-TRAIL-28); returns how many. */
  deleteExpired(run: RunId, now: Ticks, retention: Retention): Promise<Result<number>> {
    return this.#alone(run, () => deleteExpired(this.#store, this.#borrow(run), now, retention))
  }

  /** Freezes a finished run up to a `seq`, if its chain is unbroken up to there (W-TRAIL-30). */
  snapshot(run: RunId, id: string, upTo: number): Promise<Sound<ProposedEntry<'trail_snapshot_created'>>> {
    return this.#alone(run, () => freezeRun(this.#store, this.#borrow(run), id, upTo))
  }

  /** Copies to the replica whatever of the cold tier it lacks; returns how many files. */
  replicate(): Promise<number> {
    return this.#next(null, () => this.#store.tiers.replicate())
  }

  restore(): Promise<RestoreReport> {
    return this.#next(null, () => this.#store.tiers.restore())
  }

  /** Notes in the cold tier and its replica, where there is anything in them, which public keys there are by now. */
  keepKeys(): Promise<void> {
    return this.#next(null, () => this.#store.tiers.keepKeys())
  }

  #alone<T>(run: RunId | null, work: () => Promise<Sound<T>>): Promise<Sound<T>> {
    return this.#next(run, async () => {
      try {
        return await work()
      } catch (cause) {
        return err(moveError(cause))
      }
    })
  }

  #next<T>(run: RunId | null, work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      invariant(this.#working === null, 'one piece of work on the storage at a time')
      this.#working = run
      try {
        return await work()
      } finally {
        this.#working = null
      }
    })
    this.#last = done.catch(() => undefined)
    return done
  }
}
