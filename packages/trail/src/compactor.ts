// What a runtime drives to keep a trail small (W-TRAIL-24 to 29): runs that have ended leave the log, and move to the cold tier later. It works in
// steps of bounded size beside appends and queries, and appends nothing itself: what must be on the trail is handed back.
import {
  err,
  ok,
  ParleyError,
  type Result,
  type RunId,
  refuse,
  type Ticks,
  type Timestamp,
} from '@parley/core'
import type { ProposedEntry } from './entry.ts'
import { moveError } from './errors.ts'
import type { Compacted, Retention, RunLifecycle } from './lifecycle.ts'
import { pause } from './log/pause.ts'
import type { RunTrail } from './run-trail.ts'
import type { MoveProgress, TrailStore } from './store/store.ts'
import { RunVerifier } from './verify.ts'

export interface CompactionProgress extends MoveProgress {
  readonly run: RunId
}

export interface CompactorOptions {
  /** Called after each step. */
  readonly progress?: (progress: CompactionProgress) => void
}

export interface RunCompaction {
  /** Entries that moved to the cold tier. */
  readonly archived: number
  /** For the runtime to append; then `compactRun` is called again, and takes them along with the rest of the run. */
  readonly summaries: readonly ProposedEntry<'trail_compacted'>[]
  /** What moved from the log to files of the run. */
  readonly moved: MoveProgress
  /** Nothing of the run is left in the log. */
  readonly done: boolean
}

/** A run that has ended and is not out of the log yet. */
export interface PendingRun {
  readonly run: RunId
  readonly records: number
  readonly bytes: number
}

/** What a compactor needs of a trail; a run that it opened itself is let go of afterwards. */
export interface CompactedTrail {
  readonly store: TrailStore
  /** One run and its life cycle for as long as the work takes. */
  readonly borrow: (run: RunId) => { readonly run: RunTrail; readonly lifecycle: RunLifecycle }
  /** Whether nothing can be appended to a run, so that no summary of it can ever be on the trail: it moves as a whole. */
  readonly closed: (run: RunId) => boolean
}

type Refused = { readonly violations?: readonly ProposedEntry<'integrity_violation'>[] }
const NOTHING: MoveProgress = { records: 0, bytes: 0 }
const NOTHING_ARCHIVED: Compacted = { archived: 0, summaries: [] }

export class Compactor {
  readonly #trail: CompactedTrail
  readonly #options: CompactorOptions
  /** Runs between their two steps: what came in between is ours. */
  readonly #sound = new Set<RunId>()
  /** The work on each run that was asked for last: what one has moved, the next must know of. */
  readonly #last = new Map<RunId, Promise<unknown>>()

  constructor(trail: CompactedTrail, options: CompactorOptions = {}) {
    this.#trail = trail
    this.#options = options
  }

  /** Runs that have ended and that `compactRun` has work with, be it only what was appended to them since. */
  async pending(): Promise<readonly PendingRun[]> {
    const usage = await this.#trail.store.usage()
    return usage
      .filter(({ ended, segments }) => ended && segments.length > 0)
      .map(({ run, segments }) => ({
        run,
        records: segments.reduce((sum, each) => sum + each.records, 0),
        bytes: segments.reduce((sum, each) => sum + each.bytes, 0),
      }))
  }

  /**
   * Moves a run that has ended out of the log: what is archivable to the cold tier, and once the summaries of that are on the trail, all else to
   * files of the run. A run whose chain is broken stays where it is (`trail_damaged`, with what to record of it); `replica_unavailable` and
   * errors of the disk leave everything readable where it was, to be tried again.
   */
  compactRun(id: RunId, at: Timestamp): Promise<Result<RunCompaction> & Refused> {
    return this.#alone(id, () => this.#compactRun(id, at))
  }

  #alone<T>(run: RunId, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(run) ?? Promise.resolve()).then(work)
    const settled: Promise<unknown> = done
      .catch(() => undefined)
      .finally(() => {
        if (this.#last.get(run) === settled) this.#last.delete(run)
      })
    this.#last.set(run, settled)
    return done
  }

  async #compactRun(id: RunId, at: Timestamp): Promise<Result<RunCompaction> & Refused> {
    try {
      const { run, lifecycle } = this.#trail.borrow(id)
      const unsound = this.#sound.has(id) ? undefined : await this.#unsound(id)
      if (unsound) return unsound
      this.#sound.add(id)
      if (!(await run.model()).ended)
        return refuse('invalid_state', `${id} has not ended; only finished runs are compacted.`)
      const compacted = this.#trail.closed(id) ? ok(NOTHING_ARCHIVED) : await lifecycle.compactAll(at)
      if (!compacted.ok) return compacted
      const { archived, summaries } = compacted.value
      if (summaries.length > 0) return ok({ archived, summaries, moved: NOTHING, done: false })
      const { progress } = this.#options
      const moved = await this.#trail.store.moveRun(id, at, step => progress?.({ run: id, ...step }))
      this.#sound.delete(id)
      return ok({ archived, summaries, moved, done: true })
    } catch (cause) {
      this.#sound.delete(id)
      return err(moveError(cause))
    }
  }

  /** Removes from the log what has moved; returns the bytes freed. Worth a call after some runs were compacted. */
  async reclaim(): Promise<Result<number>> {
    try {
      return ok(await this.#trail.store.reclaim())
    } catch (cause) {
      return err(moveError(cause))
    }
  }

  /** Runs that have ended, have left the log and are not in the cold tier yet. */
  async warm(): Promise<readonly RunId[]> {
    const ended = new Set((await this.#trail.store.runs()).flatMap(({ run, ended }) => (ended ? run : [])))
    return (await this.#trail.store.warmRuns()).filter(run => ended.has(run))
  }

  /** Moves a compacted run to the cold tier and its replica; `retention_active` inside the warm window. Returns how many files. */
  expire(run: RunId, now: Ticks, retention: Retention): Promise<Result<number>> {
    return this.#alone(run, () => this.#trail.borrow(run).lifecycle.expire(now, retention))
  }

  /**
   * Deletes the archives of a run whose cold retention is over and that something on the trail still tells of (W-TRAIL-28); returns how many. Those
   * that nothing covers stay.
   */
  deleteExpired(run: RunId, now: Ticks, retention: Retention): Promise<Result<number>> {
    return this.#alone(run, () => this.#deleteExpired(run, now, retention))
  }

  async #deleteExpired(run: RunId, now: Ticks, retention: Retention): Promise<Result<number>> {
    try {
      const { lifecycle } = this.#trail.borrow(run)
      let deleted = 0
      for (const manifest of await this.#trail.store.manifests(run)) {
        if (manifest.deleted || manifest.tier !== 'cold') continue
        const gone = await lifecycle.deleteArchive(manifest.archive, now, retention)
        if (gone.ok) deleted++
        else if (gone.error.code !== 'retention_active') return gone
      }
      return ok(deleted)
    } catch (cause) {
      return err(moveError(cause))
    }
  }

  /** Both chains of the run, from the stored bytes: what is broken is evidence, and is not touched. */
  async #unsound(run: RunId): Promise<(Result<never> & Refused) | undefined> {
    const verifier = new RunVerifier(run, { skipSignatures: true })
    const gone = new Map<number, Parameters<RunVerifier['bridge']>[0]>()
    for (const { deleted, entries } of await this.#trail.store.manifests(run)) {
      if (!deleted) continue
      for (const { seq, workspace, hash, local_hash } of entries)
        gone.set(seq, { kind: 'bridge', run, seq, workspace, hash, localHash: local_hash ?? undefined })
    }
    let next = 1
    for await (const record of this.#trail.store.replay(run)) {
      if (record.kind !== 'entry') continue
      for (; next < record.seq; next++) if (gone.has(next)) verifier.bridge(gone.get(next)!)
      verifier.entry(record)
      next = record.seq + 1
      if (record.seq % SLICE === 0) await pause()
    }
    const { findings, violations } = verifier.finish()
    if (findings.length === 0) return undefined
    const message = `${findings[0]!.message}. Nothing of the run was moved; verify it and restore it from a backup.`
    return { ok: false, error: new ParleyError('trail_damaged', message, { details: { run } }), violations }
  }
}

/** Entries that are verified between two turns of the event loop. */
const SLICE = 256
