// Questions about runs from the outside: what they were started with, which one has a key, what they came to. Those that are over are read
// from the trail; of those that just ended it is known as well what their cut-off turns had used, which came too late for the record.
import { sumUsage } from '@parley/agents'
import {
  asParleyError,
  err,
  type ObjectId,
  ok,
  ParleyError,
  type Result,
  type RunId,
  type Ticks,
  type Usage,
} from '@parley/core'
import type { Trail } from '@parley/trail'
import type { RunAccount, StoredRun } from './contract.ts'
import { coordinatorLimits } from './limits.ts'
import type { Load, RunProjection } from './projection.ts'
import type { RunDriver } from './run-driver.ts'
import { lostTurns, runEnd, usageOf } from './run-end.ts'
import { keyMark } from './run-key.ts'
import { readStart, type StartedRun } from './stored-run.ts'
import { runView } from './to-view.ts'

export interface AccountsOptions {
  readonly trail: Trail
  readonly secret: Uint8Array
  readonly driver: (run: RunId) => RunDriver | undefined
  readonly isActive: (run: RunId) => boolean
  /** What the trail says of a run. */
  readonly project: (run: RunId) => Promise<Result<RunProjection>>
}

/** Turns that were ended after the last word of their run. */
export interface CutOff {
  readonly turns: number
  readonly usage: Usage
}

export const NOTHING_CUT_OFF: CutOff = { turns: 0, usage: {} }

export class Accounts {
  readonly #options: AccountsOptions
  /** The oldest first. */
  readonly #cutOffs = new Map<RunId, CutOff>()

  constructor(options: AccountsOptions) {
    this.#options = options
  }

  /** Of a run that has just ended. */
  keep(run: RunId, cutOff: CutOff): void {
    if (cutOff.turns === 0) return
    this.#cutOffs.set(run, cutOff)
    const [oldest] = this.#cutOffs.keys()
    if (this.#cutOffs.size > coordinatorLimits.keptCutOffs && oldest !== undefined)
      this.#cutOffs.delete(oldest)
  }

  async storedRun(run: RunId): Promise<Result<StoredRun>> {
    try {
      // What a run from elsewhere says of itself is not what was asked for here.
      const start = this.#options.trail.imported(run) ? undefined : await this.#start(run)
      return start ? ok(start.stored) : err(notFound(run))
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  async *stored({
    origin,
    since = 0 as Ticks,
  }: {
    readonly origin: string
    readonly since?: Ticks
  }): AsyncGenerator<StoredRun> {
    const all = await this.#options.trail.runs()
    const young = all.filter(({ created, imported }) => created >= since && !imported)
    for (const { run } of young.toSorted((one, other) => other.created - one.created)) {
      const start = await this.#start(run)
      if (start?.stored.origin === origin) yield start.stored
    }
  }

  async keyed(principal: string, key: string): Promise<RunId | undefined> {
    const mark = keyMark(this.#options.secret, principal, key)
    for (const { run, imported, ended } of await this.#options.trail.runs()) {
      if (imported || !run.endsWith(mark)) continue
      const start = await this.#start(run)
      if (start?.stored.principal !== principal || start.key !== key) continue
      if (!ended || !(await this.#neverBegan(run))) return run
    }
    return undefined
  }

  /** It was ended when its start could not be recorded whole: whoever asked for it was told that there is none. */
  async #neverBegan(run: RunId): Promise<boolean> {
    const seen = await this.#options.project(run)
    return seen.ok && seen.value.controls.length === 0 && seen.value.root?.trigger === 'system_shutdown'
  }

  async account(run: RunId): Promise<Result<RunAccount>> {
    const stored = await this.storedRun(run)
    if (!stored.ok) return stored
    const driver = this.#options.driver(run)
    if (driver) {
      // Whoever asks may have seen the end on the trail before the driver did.
      await driver.poke()
      if (driver.seen.over) await driver.finished
      return ok(await this.#told(stored.value, driver.seen, driver.cutOff, usageOf(driver.view.usage)))
    }
    const seen = await this.#options.project(run)
    if (!seen.ok) return seen
    const cutOff = this.#cutOffs.get(run) ?? NOTHING_CUT_OFF
    return ok(await this.#told(stored.value, seen.value, cutOff, usageOf(runView(run, seen.value).usage)))
  }

  async #told(stored: StoredRun, seen: RunProjection, cutOff: CutOff, onRecord: Usage): Promise<RunAccount> {
    const { run } = stored
    const usage = sumUsage(onRecord, cutOff.usage)
    const known = { ...stored, usage, unknownCost: seen.over && lostTurns(seen) > cutOff.turns }
    return seen.over ? { ...known, end: await runEnd(run, seen, usage, this.#load(run)) } : known
  }

  #load(run: RunId): Load {
    return async (id: ObjectId) => {
      const object = await this.#options.trail.run(run).object(id)
      await this.#release(run)
      return object?.value
    }
  }

  async #start(run: RunId): Promise<StartedRun | undefined> {
    const start = await readStart(this.#options.trail, run)
    await this.#release(run)
    return start
  }

  /** Nothing of a run that is not at work stays in memory. */
  async #release(run: RunId): Promise<void> {
    if (!this.#options.isActive(run)) await this.#options.trail.release(run)
  }
}

function notFound(run: RunId): ParleyError {
  return new ParleyError('not_found', `There is no run ${run}.`)
}
