// Stands in for the coordinator where the trail's own book of runs is damaged: no run can be started or driven, but the
// trail can still be verified and read, and the node stopped.
import { type Coordination, type CoordinatorOptions, runMeant } from '@parley/coordinator'
import { asParleyError, err, ok, ParleyError, type Result, type RunId } from '@parley/core'
import type { Trail } from '@parley/trail'
import type { NodeLog } from './log/log.ts'

/** A profile whose book of runs is damaged still has a node: to verify, to read, and to be stopped. */
export async function orDamagedRuns(
  open: (options: CoordinatorOptions) => Promise<Coordination>,
  log: NodeLog,
  options: CoordinatorOptions,
): Promise<Coordination> {
  try {
    return await open(options)
  } catch (thrown) {
    const error = damageOf(asParleyError(thrown))
    if (!error) throw thrown
    log.error(`no run can be started or go on: ${error.message}`, { code: error.code })
    return new DamagedRuns(options.trail, error)
  }
}

/** The house run is damaged: without it there is nobody to record anything. */
function damageOf(error: ParleyError): ParleyError | undefined {
  if (error.code === 'trail_damaged') return error
  if (error.code !== 'run_halted') return undefined
  return new ParleyError('trail_damaged', error.message, { details: error.details, cause: error })
}

export class DamagedRuns implements Coordination {
  /** Says what is damaged; every refusal is this one. */
  readonly error: ParleyError
  readonly #trail: Pick<Trail, 'runs'>
  readonly #stop = new AbortController()
  readonly #refuse = async () => err(this.error)
  readonly #throw = async () => {
    throw this.error
  }
  /** Of what is watched and read on and on. */
  readonly #fail = async function* (this: DamagedRuns): AsyncGenerator<never> {
    yield await Promise.reject(this.error)
  }.bind(this)

  constructor(trail: Pick<Trail, 'runs'>, error: ParleyError) {
    this.#trail = trail
    this.error = error
  }

  readonly start = this.#refuse
  readonly views = { view: this.#refuse, follow: this.#fail, prompts: this.#refuse }
  readonly records = {
    storedRun: this.#refuse,
    find: this.#throw,
    keyed: this.#throw,
    written: () => undefined,
    account: this.#refuse,
    proof: this.#refuse,
  }
  readonly usage = { since: async () => ({ agents: [], turns: [] }) }
  readonly works = { show: this.#refuse }
  readonly cleaning = { clean: this.#refuse }
  readonly applies = { apply: this.#refuse, undo: this.#refuse, list: this.#throw }
  /** No turn is at work. */
  readonly listeners = { listen: () => () => undefined, recent: () => ({ events: [], missed: 0 }) }
  readonly gates = {
    list: async () => [],
    find: this.#refuse,
    watch: this.#fail,
    respond: this.#refuse,
    reply: this.#refuse,
  }
  readonly interventions = {
    inject: this.#refuse,
    suspend: this.#refuse,
    resume: this.#refuse,
    abort: this.#refuse,
    abandon: this.#refuse,
  }
  readonly migrations = { hasAgent: async () => false, migrate: this.#refuse }
  readonly salvages = { left: this.#refuse, decide: this.#refuse }
  readonly budgets = { list: this.#refuse, raise: this.#refuse }
  readonly library = { append: this.#refuse, read: this.#fail }
  readonly users = {
    list: async () => [],
    /** Nobody can be recorded, and nobody need be: there is nothing that they could do. */
    accept: async () => ok(undefined),
    change: this.#refuse,
    admit: this.#refuse,
    /** Nobody has a token that works. */
    stateOf: () => undefined,
  }
  readonly house = { write: this.#refuse }
  readonly degraded = true
  readonly load = { turns: 0, waiting: 0 }
  /** Nothing is moved where it is not known what is damaged, and nothing could be put on record. */
  readonly storage = {
    compact: this.#refuse,
    snapshot: this.#refuse,
    status: () => ({ working: null, faults: [] }),
  }
  readonly runs: Coordination['runs'] = {
    /** Not an empty list: that would say that there are none. Those at work, though, are none. */
    list: async ({ states } = {}) => {
      if (states?.every(state => state === 'waiting' || state === 'working')) return []
      throw this.error
    },
    find: text => this.#find(text),
  }

  async #find(text: string): Promise<Result<RunId>> {
    const ids = (await this.#trail.runs()).map(({ run }) => run)
    const found = runMeant(text, ids)
    // Which run is the last one cannot be told without reading them.
    return !found.ok && text === 'last' ? err(this.error) : found
  }

  /** There is nothing to be held up. */
  readonly held = undefined

  verbs() {
    return err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  async close(): Promise<void> {
    this.#stop.abort()
  }
}
