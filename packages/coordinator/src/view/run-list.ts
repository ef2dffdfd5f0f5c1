// The runs of a profile as a list, and one of them by name. A damaged run is listed too: its record may have been
// tampered with, which must not hide it.
import {
  asParleyError,
  type Clock,
  formatTimestamp,
  meantIds,
  ok,
  ParleyError,
  type Result,
  type RunId,
  refuse,
} from '@parley/core'
import type { Trail, TrailRun } from '@parley/trail'
import { inProject } from '../folder/project.ts'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import type { RunViews } from './run-views.ts'
import { summary } from './to-view.ts'
import { isOver, type ListedState, type RunSummaryView } from './view.ts'

interface RunsFilter {
  readonly limit?: number
  readonly states?: readonly ListedState[]
  /** Only runs of the project that this folder is in, and damaged ones: they do not say whose they are. */
  readonly folder?: string
}

type ListHost = {
  readonly clock: Clock
  readonly trail: Pick<Trail, 'runs'>
  readonly runtime: {
    readonly active: readonly RunId[]
    readonly house: { readonly run: RunId }
    readonly library: { parts(after: number): Promise<readonly { readonly run: RunId }[]> }
  }
}

/** What is known of a run without reading it; of those at work it is not looked up. */
type Known = Pick<TrailRun, 'run'> & Partial<TrailRun>

export class RunList {
  readonly #host: ListHost
  readonly #views: Pick<RunViews, 'view'>

  constructor(host: ListHost, views: Pick<RunViews, 'view'>) {
    this.#host = host
    this.#views = views
  }

  /** The newest first. One that is damaged keeps nobody from the others. */
  async list({ limit: wanted, states, folder }: RunsFilter = {}): Promise<readonly RunSummaryView[]> {
    const limit = Math.min(wanted ?? coordinatorDefaults.listedRuns, coordinatorLimits.listedRuns)
    const found: RunSummaryView[] = []
    // Who asks for runs at work, and that often, need not wait for those that are over to be read.
    const live = states?.every(state => !isOver(state))
    const inHere = folder === undefined ? undefined : await inProject(folder, this.#host.clock)
    // A path of one that was imported is of another machine.
    const isHere = async ({ state, imported, project }: RunSummaryView) =>
      !inHere || state === 'damaged' || (!imported && (await inHere(project)))
    const runs = live ? this.#host.runtime.active.map(run => ({ run })) : await this.#all()
    for (const each of newestFirst(runs)) {
      if (found.length >= limit) break
      const told = await this.#told(each)
      if (!told || states?.includes(told.state) === false) continue
      if (await isHere(told)) found.push(told)
    }
    return found
  }

  /** By its id, by a beginning or end of it if that is unique, or `last`. */
  async find(text: string): Promise<Result<RunId>> {
    if (text === 'last') {
      const newest = await this.#last()
      return newest ? ok(newest) : refuse('not_found', 'There is no run yet.')
    }
    return runMeant(
      text,
      newestFirst(await this.#all()).map(({ run }) => run),
    )
  }

  /** The newest of our own, damaged or not: one that was imported may be of any time. */
  async #last(): Promise<RunId | undefined> {
    const all = newestFirst(await this.#all())
    const ownFirst = [...all.filter(each => !each.imported), ...all.filter(each => each.imported)]
    for (const each of ownFirst) if (await this.#told(each)) return each.run
    return undefined
  }

  /** Every run but the node's own. A library that is damaged is listed as such. */
  async #all(): Promise<TrailRun[]> {
    const { trail, runtime } = this.#host
    const library = await runtime.library.parts(0).catch(() => [])
    const own = new Set([runtime.house.run, ...library.map(({ run }) => run)])
    return (await trail.runs()).filter(({ run }) => !own.has(run))
  }

  /** Undefined for a run that was never begun, or that a coordinator did not start: it is nothing for people. */
  async #told(run: Known): Promise<RunSummaryView | undefined> {
    const view = await this.#views.view(run.run)
    if (!view.ok) return DAMAGE.has(view.error.code) ? damagedSummary(run) : undefined
    // One that was imported without its content does not say what it was for.
    return view.value.intent === '' && !view.value.imported ? undefined : summary(view.value)
  }
}

/** The one run that a text names. */
export function runMeant(text: string, ids: readonly RunId[]): Result<RunId> {
  const [only, ...others] = meantIds(text, ids)
  if (only === undefined) return refuse('not_found', `There is no run ${text}.`)
  if (others.length === 0) return ok(only)
  const details = { runs: [only, ...others].slice(0, coordinatorLimits.candidates) }
  return refuse('ambiguous', `'${text}' means ${others.length + 1} runs; give more of the id.`, { details })
}

/** Codes of the trail where a record, or content that it refers to, is not as it was written. */
const DAMAGE = new Set(['trail_damaged', 'archive_unreadable', 'blob_missing', 'content_damaged'])

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
export function newestFirst<Run extends Pick<TrailRun, 'run'>>(runs: readonly Run[]): Run[] {
  return runs.toSorted((one, other) => (one.run < other.run ? 1 : -1))
}
