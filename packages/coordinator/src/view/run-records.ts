// Questions about runs from outside: what they were started with, which one has a key, what they came to. For runs that
// just ended it also knows what cut-off turns used, which came too late for the record.
import { sumUsage } from '@parley/agents'
import {
  asParleyError,
  type EntryId,
  err,
  type FoundRuns,
  limits,
  ok,
  type Result,
  type RunId,
  type RunKey,
  type RunQuery,
  refuse,
  type StoredRun,
  type Ticks,
  type Usage,
  unwrap,
} from '@parley/core'
import type { ProofReport } from '@parley/kernel'
import type { ReadableRun } from '@parley/trail'
import type { RunAccount } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import { type Load, RunProjection } from '../projection/run-projection.ts'
import type { RunFacts } from '../run/facts.ts'
import { keyMark, MarkedRuns } from '../run/run-key.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { lostTurns, runEnd, usageOf } from './run-end.ts'
import { newestFirst } from './run-list.ts'
import type { RunViews } from './run-views.ts'
import { type RunStart, StartIndex } from './start-index.ts'
import { runView } from './to-view.ts'

/** Turns that were ended after the last word of their run. */
export interface CutOff {
  readonly turns: number
  readonly usage: Usage
}

/** What is durable of a run, as it passed through this process. */
type Written = ReadableRun['recent']

export const NOTHING_CUT_OFF: CutOff = { turns: 0, usage: {} }

export class RunRecords {
  readonly #host: RunsHost
  readonly #views: Pick<RunViews, 'readable'>
  readonly #starts: StartIndex
  readonly #marked: MarkedRuns
  /** The oldest first. */
  readonly #cutOffs = new Map<RunId, CutOff>()
  /** Of runs that ended as they began, until somebody asks for their end; the oldest first. */
  readonly #written = new Map<RunId, Written>()

  constructor(host: RunsHost, views: Pick<RunViews, 'readable'>) {
    this.#host = host
    this.#views = views
    this.#starts = new StartIndex(host.trail)
    this.#marked = new MarkedRuns(async () => {
      const runs = await host.trail.runs()
      return runs.flatMap(({ run, imported }) => (imported ? [] : [run]))
    })
  }

  /** Of a run that has just ended. */
  keep(run: RunId, cutOff: CutOff): void {
    if (cutOff.turns === 0) return
    this.#cutOffs.set(run, cutOff)
    const [oldest] = this.#cutOffs.keys()
    if (this.#cutOffs.size > coordinatorLimits.keptCutOffs && oldest !== undefined) this.#cutOffs.delete(oldest)
  }

  /** Of a run that has just ended as it began: who started it asks for its end at once, and need not read it again. */
  keepWritten(run: RunId, written: Written): void {
    this.#written.set(run, written)
    const [oldest] = this.#written.keys()
    if (this.#written.size > coordinatorLimits.keptWritten && oldest !== undefined) this.#written.delete(oldest)
  }

  /** Undefined for most runs, which are read where they are. */
  written(run: RunId): Written | undefined {
    return this.#written.get(run)
  }

  async storedRun(run: RunId): Promise<Result<StoredRun>> {
    try {
      const start = await this.#starts.start(run)
      return start ? ok(stored(start)) : refuse('not_found', `There is no run ${run}.`)
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  /** Runs that somebody `sees`, the newest first, also those that are over. Nothing but their starts is read. */
  async find(
    { origin, since = 0 as Ticks, after, limit }: RunQuery,
    sees: (run: Pick<StoredRun, 'principal'>) => boolean,
  ): Promise<FoundRuns> {
    const most = Math.min(limit ?? limits.foundRuns, limits.foundRuns)
    const all = (await this.#host.trail.runs()).filter(({ created, imported }) => created >= since && !imported)
    const ids = newestFirst(all)
      .map(({ run }) => run)
      .filter(run => after === undefined || run < after)
    const runs: StoredRun[] = []
    for (let at = 0; at < ids.length; at += coordinatorLimits.scannedStarts) {
      for (const start of await this.#starts.starts(ids.slice(at, at + coordinatorLimits.scannedStarts))) {
        if ((origin !== undefined && start.origin !== origin) || !sees(start)) continue
        runs.push(stored(await this.#starts.whole(start)))
        if (runs.length === most) return { runs, cursor: start.run }
      }
    }
    return { runs }
  }

  /** The run that a start of a principal under this key answers with. */
  async keyed(principal: string, { text, reuse }: RunKey): Promise<RunId | undefined> {
    const { runtime, secret } = this.#host
    const marked = await this.#marked.of(keyMark(secret, principal, text))
    for (const run of marked.toSorted().toReversed()) {
      const [start] = await this.#starts.starts([run])
      if (start?.principal !== principal || start.key !== text) continue
      if (runtime.active.includes(run) || runtime.halted.has(run)) return run
      if (await this.#neverBegan(run)) continue
      if (reuse === 'always' || unwrap(await this.account(run)).end?.outcome === 'complete') return run
    }
    return undefined
  }

  /** Of a run that has just begun. */
  begun(run: RunId, facts: RunFacts): Promise<void> {
    const first = this.#host.trail.readable(run).recent.after(0)?.[0]
    if (first) this.#starts.note(run, first, facts)
    return this.#marked.note(run)
  }

  /** It was ended when its start could not be recorded whole: whoever asked for it was told that there is none. */
  async #neverBegan(run: RunId): Promise<boolean> {
    const projection = await this.#views.readable(run)
    return (
      projection.ok && projection.value.controls.length === 0 && projection.value.root?.trigger === 'system_shutdown'
    )
  }

  /** Everything that proves one recorded act (W-SEC-17); by the id of its entry or by its `seq`. */
  async proof(run: RunId, entry: EntryId | number): Promise<Result<ProofReport>> {
    const handle = await this.#host.runtime.open(run)
    return handle.ok ? handle.value.proof(entry) : handle
  }

  /** What it came to; of a run that has just ended, when its turns have ended as well. */
  async account(run: RunId): Promise<Result<RunAccount>> {
    const stored = await this.storedRun(run)
    if (!stored.ok) return stored
    const driver = this.#host.drivers.get(run)
    if (driver) {
      // Whoever asks may have seen the end on the trail before the driver did.
      if (!driver.projection.over) await driver.poke()
      if (driver.projection.over) await driver.finished
      return ok(await this.#told(stored.value, driver.projection, driver.cutOff, usageOf(driver.view.usage)))
    }
    const written = await this.#takeWritten(run)
    const projection = written ? ok(written) : await this.#views.readable(run)
    if (!projection.ok) return projection
    const cutOff = this.#cutOffs.get(run) ?? NOTHING_CUT_OFF
    return ok(await this.#told(stored.value, projection.value, cutOff, usageOf(runView(run, projection.value).usage)))
  }

  /** Undefined where the end is not in it. */
  async #takeWritten(run: RunId): Promise<RunProjection | undefined> {
    const written = this.#written.get(run)
    const entries = written?.after(0)
    this.#written.delete(run)
    if (!written || !entries) return undefined
    const projection = new RunProjection()
    const load = this.#load(run)
    for (const entry of entries) await projection.apply(entry, async id => written.object(id)?.value ?? load(id))
    return projection.over ? projection : undefined
  }

  async #told(stored: StoredRun, projection: RunProjection, cutOff: CutOff, onRecord: Usage): Promise<RunAccount> {
    const { run } = stored
    const usage = sumUsage(onRecord, cutOff.usage)
    const known = { ...stored, usage, unknownCost: projection.over && lostTurns(projection) > cutOff.turns }
    return projection.over ? { ...known, end: await runEnd(run, projection, usage, this.#load(run)) } : known
  }

  #load(run: RunId): Load {
    const trail = this.#host.trail.readable(run)
    return async id => (await trail.object(id))?.value
  }
}

function stored({ key: _, ...run }: RunStart): StoredRun {
  return run
}
