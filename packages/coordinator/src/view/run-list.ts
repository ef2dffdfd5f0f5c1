// The runs of a profile as a list, and one of them by what somebody wrote. A run whose record is damaged is told as
// such, with what is known without reading it: a record that shows tampering must not be hidden by it.
import { asParleyError, err, formatTimestamp, ok, ParleyError, type Result, type RunId } from '@parley/core'
import type { Trail, TrailRun } from '@parley/trail'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import { summary } from './to-view.ts'
import { isOver, type ListedState, type RunSummaryView, type RunView } from './view.ts'

export interface RunListOptions {
  readonly trail: Pick<Trail, 'runs'>
  readonly house: () => RunId
  /** Those at work. */
  readonly active: () => readonly RunId[]
  readonly view: (run: RunId) => Promise<Result<RunView>>
}

export interface RunsFilter {
  readonly limit?: number
  readonly states?: readonly ListedState[]
}

/** What is known of a run without reading it; of those at work it is not looked up. */
type Known = Pick<TrailRun, 'run'> & Partial<TrailRun>

export class RunList {
  readonly #options: RunListOptions

  constructor(options: RunListOptions) {
    this.#options = options
  }

  /** The newest first. One that is damaged keeps nobody from the others. */
  async list({ limit: wanted, states }: RunsFilter = {}): Promise<readonly RunSummaryView[]> {
    const limit = Math.min(wanted ?? coordinatorDefaults.listedRuns, coordinatorLimits.listedRuns)
    const found: RunSummaryView[] = []
    // Who asks for runs at work, and that often, need not wait for those that are over to be read.
    const live = states?.every(state => !isOver(state))
    const runs = live ? this.#options.active().map(run => ({ run })) : await this.#all()
    for (const each of newestFirst(runs)) {
      if (found.length >= limit) break
      const told = await this.#told(each)
      if (told && (states?.includes(told.state) ?? true)) found.push(told)
    }
    return found
  }

  /** By its id, by the beginning of it if that is unique, or `last`. */
  async find(text: string): Promise<Result<RunId>> {
    if (text === 'last') {
      const newest = await this.#last()
      return newest ? ok(newest) : err(new ParleyError('not_found', 'There is no run yet.'))
    }
    const ids = newestFirst(await this.#all()).map(({ run }) => run)
    const found = ids.filter(id => id === text || id.startsWith(text) || id.slice(4).startsWith(text))
    const exact = found.find(id => id === text)
    if (exact !== undefined || found.length === 1) return ok((exact ?? found[0])!)
    return err(
      found.length === 0
        ? new ParleyError('not_found', `There is no run ${text}.`)
        : new ParleyError('ambiguous', `${found.length} runs begin with ${text}; give more of the id.`, {
            details: { runs: found.slice(0, 10) },
          }),
    )
  }

  /** The newest of our own, damaged or not: one that was imported may be of any time. */
  async #last(): Promise<RunId | undefined> {
    const all = newestFirst(await this.#all())
    const ownFirst = [...all.filter(each => !each.imported), ...all.filter(each => each.imported)]
    for (const each of ownFirst) if (await this.#told(each)) return each.run
    return undefined
  }

  /** Every run but the house's. */
  async #all(): Promise<TrailRun[]> {
    const house = this.#options.house()
    return (await this.#options.trail.runs()).filter(({ run }) => run !== house)
  }

  /**
   * Undefined for what is no run for people: one that was never begun, or that something else than a coordinator has
   * started.
   */
  async #told(run: Known): Promise<RunSummaryView | undefined> {
    const view = await this.#options.view(run.run)
    if (!view.ok) return isDamage(view.error) ? damagedSummary(run) : undefined
    // One that was imported without its content does not say what it was for.
    return view.value.intent === '' && !view.value.imported ? undefined : summary(view.value)
  }
}

/** What the trail refuses with where a record, or the content that it refers to, is not there as it was written. */
const DAMAGE = new Set(['trail_damaged', 'archive_unreadable', 'blob_missing', 'content_damaged'])

function isDamage({ code }: ParleyError): boolean {
  return DAMAGE.has(code)
}

/** Why a run cannot be read, with its name; a defect is thrown as it is. */
export function unreadable(run: RunId, cause: unknown): ParleyError {
  const { code, message, retryable, details } = asParleyError(cause)
  if (code === 'internal') throw cause
  if (message.includes(run)) return asParleyError(cause)
  return new ParleyError(code, `${run} cannot be read: ${message}`, {
    retryable,
    details: { ...details, run },
    cause,
  })
}

/** When it began is known to the index, and whence it came to the list of imports; nothing else is made up. */
function damagedSummary({ run, created, imported }: Known): RunSummaryView {
  return {
    run,
    intent: '',
    team: '',
    project: '',
    principal: '',
    state: 'damaged',
    started: created === undefined ? '' : formatTimestamp(created),
    tasks_done: 0,
    tasks_total: 0,
    usage: { turns: 0, wall_ms: 0, output_bytes: 0 },
    ...(imported && { imported: { from: imported.fingerprint, at: imported.at } }),
  }
}

/** Ids begin with their time. */
function newestFirst<Run extends Pick<TrailRun, 'run'>>(runs: readonly Run[]): Run[] {
  return runs.toSorted((one, other) => (one.run < other.run ? 1 : -1))
}
