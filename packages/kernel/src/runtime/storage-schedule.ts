// The storage life cycle of ended runs (W-TRAIL-24 to 30), in the background. Failures are reported and retried with
// growing waits; nothing is kept here, since after a restart the trail tells what is left to do.
import {
  asParleyError,
  type Clock,
  deadline,
  type EntryId,
  err,
  formatTimestamp,
  type IdSource,
  ok,
  type ParleyError,
  type Result,
  type RunId,
  type StrictClock,
  type Ticks,
  type Timestamp,
} from '@parley/core'
import { type MoveProgress, type ProposedEntry, type StorageHost, stamp, type Trail } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import { earlier } from '../due/due.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { invalidState, refusal } from '../refusal.ts'
import { Alarm } from './actor/alarm.ts'

/** When what happens to the record of a run that has ended, in milliseconds (W-TRAIL-28). */
export interface StoragePolicy {
  readonly compactAfter?: number | undefined
  readonly warm: number
  /** Behind the time when an archive came to the cold tier, before it is deleted; undefined: never. */
  readonly cold?: number | undefined
}

export interface StorageFault {
  readonly run: RunId | null
  readonly code: string
  readonly message: string
  readonly since: Timestamp
  readonly attempts: number
  readonly retry: Timestamp
}

interface StorageStatus {
  readonly working: RunId | null
  readonly faults: readonly StorageFault[]
}

interface CompactedRun {
  readonly run: RunId
  readonly archived: number
  readonly moved: MoveProgress
}

interface CompactionReport {
  readonly runs: readonly CompactedRun[]
  readonly failed: readonly { readonly run: RunId; readonly code: string; readonly message: string }[]
  readonly freed: number
}

type SnapshotReport = EventBody<'trail_snapshot_created'> & { readonly run: RunId }

export interface StorageKeeper {
  /** Takes ended runs out of the log now; refuses with `invalid_state`, `trail_damaged`, … for a named run. */
  compact(run?: RunId): Promise<Result<CompactionReport>>
  /** Freezes a run that has ended, up to an entry or to its newest one (W-TRAIL-30). */
  snapshot(run: RunId, upTo?: number): Promise<Result<SnapshotReport>>
  status(): StorageStatus
}

interface StorageScheduleOptions {
  readonly trail: Trail
  readonly clock: Clock
  readonly stamps: StrictClock
  readonly ids: IdSource
  readonly policy?: StoragePolicy | undefined
  readonly release: (run: RunId) => Promise<void>
  /** Whether a run is exempt from deletion; asked when it would be due. */
  readonly exempt: (run: RunId) => Promise<boolean>
  readonly record: (entries: readonly ProposedEntry[]) => Promise<Result<void>>
  readonly onFault: (fault: StorageFault) => void
}

export class StorageSchedule implements StorageKeeper {
  readonly #options: StorageScheduleOptions
  readonly #host: StorageHost
  readonly #stopping = new AbortController()
  readonly #alarm: Alarm
  readonly #faults: StorageFaults
  #due: Ticks | undefined
  /** Something has left the log, now or before the last stop, and may have left segments that nobody needs. */
  #moved = true

  constructor(options: StorageScheduleOptions) {
    this.#options = options
    this.#host = {
      signal: this.#stopping.signal,
      now: () => options.stamps.next(),
      append: async (run, entries) => {
        this.#moved = true
        const appended = await this.#append(run, entries)
        await options.release(run)
        return appended
      },
    }
    this.#faults = new StorageFaults(options.clock, options.onFault)
    this.#alarm = new Alarm({
      clock: options.clock,
      next: async () => this.#due,
      ring: async () => {
        await this.#look()
        return ok(true)
      },
    })
  }

  begin(): void {
    if (this.#options.policy) this.#soon(deadline(this.#options.clock.now(), kernelDefaults.storageStart))
  }

  ended(): void {
    const { compactAfter } = this.#options.policy ?? {}
    if (compactAfter !== undefined) this.#soon(deadline(this.#options.stamps.next(), compactAfter))
  }

  /** Begins nothing more. What is under way ends with its next step, when the trail is closed. */
  stop(): void {
    this.#stopping.abort()
    this.#alarm.stop()
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted
  }

  status(): StorageStatus {
    return { working: this.#options.trail.storage.working, faults: this.#faults.list() }
  }

  async compact(run?: RunId): Promise<Result<CompactionReport>> {
    const { storage } = this.#options.trail
    try {
      const wanted = run === undefined ? (await storage.pending()).map(each => each.run) : [run]
      const runs: CompactedRun[] = []
      const failed: { run: RunId; code: string; message: string }[] = []
      for (const each of wanted) {
        const done = await this.#compact(each)
        if (done.ok) {
          this.#faults.clear(each)
          runs.push(done.value)
        } else if (run !== undefined || this.#stopped) return done
        else failed.push({ run: each, code: done.error.code, message: done.error.message })
      }
      if (this.#stopped) return closed()
      const freed = await storage.reclaim()
      return freed.ok ? ok({ runs, failed, freed: freed.value }) : freed
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  async snapshot(run: RunId, upTo?: number): Promise<Result<SnapshotReport>> {
    const { trail, ids } = this.#options
    if (this.#stopped) return closed()
    if (trail.imported(run)) return invalidState(`${run} was imported: nothing is added to it.`)
    try {
      const last = upTo ?? (await trail.run(run).head()).seq
      if (last === 0) return refusal('not_found', `There is no run ${run}.`)
      const frozen = await trail.storage.snapshot(run, ids.next('snap'), last)
      if (!frozen.ok) {
        await this.#note(frozen.violations)
        return frozen
      }
      const appended = await this.#append(run, [frozen.value])
      return appended.ok ? ok({ run, ...frozen.value.body }) : appended
    } catch (cause) {
      return err(asParleyError(cause))
    } finally {
      await this.#options.release(run)
    }
  }

  async #look(): Promise<void> {
    const { clock } = this.#options
    this.#due = deadline(clock.now(), kernelDefaults.storageLook)
    try {
      if (await this.#tidy()) this.#faults.clear(null)
    } catch (cause) {
      this.#failed(null, asParleyError(cause))
    }
    this.#due = earlier(this.#due, this.#faults.next())
  }

  /** False where the storage itself has failed: what is left would fail as well. */
  async #tidy(): Promise<boolean> {
    const { trail, policy } = this.#options
    const { storage } = trail
    if (!policy) return true
    const { compactAfter, warm, cold } = policy
    const retention = { warm, cold: cold ?? 0 }
    const runs = new Map((await trail.runs()).map(each => [each.run, each]))
    if (compactAfter !== undefined) {
      for (const { run } of await storage.pending()) {
        if (!this.#isDue(run, runs.get(run)?.updated, compactAfter)) continue
        if (!(await this.#attempt(run, () => this.#compact(run)))) return false
      }
    }
    if (this.#moved) {
      if (!(await this.#attempt(null, () => storage.reclaim()))) return false
      this.#moved = false
    }
    for (const run of await storage.warm()) {
      if (!this.#isDue(run, runs.get(run)?.updated, warm)) continue
      const expire = () => this.#expire(run, retention.warm)
      if (!(await this.#attempt(run, expire))) return false
    }
    if (cold !== undefined) {
      for (const { run, ended, created } of runs.values()) {
        if (!ended || !this.#isDue(run, created, cold)) continue
        const remove = async () =>
          (await this.#options.exempt(run)) ? ok(0) : storage.deleteExpired(run, this.#options.stamps.next(), retention)
        if (!(await this.#attempt(run, remove))) return false
      }
    }
    return this.#attempt(null, () => this.#replicate())
  }

  /** W-TRAIL-26: what an absence of the replica kept from it, or all of the cold tier where it is new. */
  async #replicate(): Promise<Result<unknown>> {
    const { trail } = this.#options
    const replica = await trail.replica()
    const behind = replica !== null && (replica.lacking > 0 || replica.problem !== undefined)
    return ok(behind ? await trail.storage.replicate() : 0)
  }

  /** What has come to the log since stays there, and so does the run, until that is compacted as well. */
  async #expire(run: RunId, warm: number): Promise<Result<unknown>> {
    const expired = await this.#options.trail.storage.expire(run, this.#options.stamps.next(), { warm, cold: 0 })
    return expired.ok || expired.error.code !== 'invalid_state' ? expired : ok(0)
  }

  #isDue(run: RunId, since: Ticks | undefined, after: number): boolean {
    if (this.#stopped || since === undefined) return false
    const now = this.#options.stamps.next()
    const at = deadline(since, after)
    const again = this.#faults.retry(run)
    if (at <= now && (again === undefined || again <= now)) return true
    this.#due = earlier(this.#due, again !== undefined && again > at ? again : at)
    return false
  }

  /** What is wrong with one run is its own affair. Says whether to go on with others. */
  async #attempt(run: RunId | null, work: () => Promise<Result<unknown>>): Promise<boolean> {
    if (this.#stopped) return false
    const done = await work().catch(cause => err(asParleyError(cause)))
    if (this.#stopped) return false
    if (done.ok) {
      if (run !== null) this.#faults.clear(run)
      return true
    }
    const everywhere = done.error.retryable || run === null
    this.#failed(everywhere ? null : run, done.error)
    return !everywhere
  }

  #failed(run: RunId | null, error: ParleyError): void {
    if (!this.#stopped) this.#faults.note(run, error)
  }

  async #compact(run: RunId): Promise<Result<CompactedRun>> {
    if (this.#stopped) return closed()
    const done = await this.#options.trail.storage.compact(run, this.#host)
    if (!done.ok) {
      await this.#note(done.violations)
      return done
    }
    this.#moved = true
    return ok({ run, ...done.value })
  }

  /** W-TRAIL-27, -30: what the life cycle says of itself, on the trail of a run that takes nothing else any more. */
  async #append(run: RunId, proposals: readonly ProposedEntry[]): Promise<Result<unknown>> {
    for (let from = 0; from < proposals.length; from += kernelLimits.groupRecords) {
      if (this.#stopped) return closed()
      const part = proposals.slice(from, from + kernelLimits.groupRecords)
      const appended = await this.#appendHeld(run, part)
      if (!appended.ok) return appended
    }
    return ok(undefined)
  }

  /** The runtime lets go of a run that has ended, and so does everyone who reads it: then nothing was appended. */
  async #appendHeld(run: RunId, part: readonly ProposedEntry[]): Promise<Result<unknown>> {
    for (let tries = 1; ; tries++) {
      const appended = await this.#appendPart(run, part)
      if (appended.ok || appended.error.code !== 'run_released' || tries === kernelLimits.releasedAppends)
        return appended
      await this.#options.trail.release(run)
    }
  }

  #appendPart(run: RunId, proposals: readonly ProposedEntry[]): Promise<Result<unknown>> {
    const { trail, stamps, ids } = this.#options
    const first = stamps.take(proposals.length)
    const entries = proposals.map((each, index) =>
      stamp(each, ids.next('e') as EntryId, formatTimestamp((first + index) as Ticks)),
    )
    return trail.run(run).append({ entries })
  }

  /** W-TRAIL-10: once for each thing that is broken, however often it is met. */
  async #note(violations: readonly ProposedEntry[] = []): Promise<void> {
    const fresh = violations
      .slice(0, kernelLimits.reportedViolations)
      .filter(each => this.#faults.isNew(JSON.stringify(each.body)))
    if (fresh.length > 0) await this.#options.record(fresh)
  }

  #soon(at: Ticks): void {
    this.#due = earlier(this.#due, at)
    this.#alarm.set(at)
  }
}

function closed(): Result<never> {
  return refusal('trail_unavailable', 'The runtime is closed.')
}

class StorageFaults {
  readonly #clock: Clock
  readonly #onFault: (fault: StorageFault) => void
  readonly #noted = new Map<RunId | null, { readonly fault: StorageFault; readonly retry: Ticks }>()
  readonly #known = new Set<string>()

  constructor(clock: Clock, onFault: (fault: StorageFault) => void) {
    this.#clock = clock
    this.#onFault = onFault
  }

  note(run: RunId | null, { code, message }: ParleyError): void {
    const now = this.#clock.now()
    const before = this.#noted.get(run)
    const attempts = (before?.fault.attempts ?? 0) + 1
    const wait = Math.min(kernelDefaults.storageRetry * 2 ** (attempts - 1), kernelLimits.storageRetry)
    const retry = deadline(now, wait)
    const since = before?.fault.since ?? formatTimestamp(now)
    const fault = { run, code, message, since, attempts, retry: formatTimestamp(retry) }
    this.#noted.delete(run)
    this.#noted.set(run, { fault, retry })
    const [oldest] = this.#noted.keys()
    if (this.#noted.size > kernelLimits.storageFaults && oldest !== undefined) this.#noted.delete(oldest)
    // The same again is no news.
    if (before?.fault.code !== code) this.#onFault(fault)
  }

  clear(run: RunId | null): void {
    this.#noted.delete(run)
  }

  retry(run: RunId): Ticks | undefined {
    return this.#noted.get(run)?.retry
  }

  next(): Ticks | undefined {
    return [...this.#noted.values()].reduce<Ticks | undefined>((at, { retry }) => earlier(at, retry), undefined)
  }

  list(): readonly StorageFault[] {
    return [...this.#noted.values()].map(({ fault }) => fault)
  }

  isNew(content: string): boolean {
    if (this.#known.has(content) || this.#known.size >= kernelLimits.knownViolations) return false
    this.#known.add(content)
    return true
  }
}
