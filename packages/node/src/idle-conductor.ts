// What stands in for the coordinator where the trail's own book of runs is damaged: no run can be started or driven, but whoever wants to
// verify the trail, read it or stop the node must still reach it.
import type {
  Conducting,
  GateView,
  RunSummaryView,
  RunView,
  StoredRun,
  UserView,
  WorkspaceDoor,
} from '@parley/coordinator'
import { err, ok, ParleyError, type Result, type RunId } from '@parley/core'
import type { StorageKeeper } from '@parley/kernel'
import type { Trail } from '@parley/trail'

export class IdleConductor implements Conducting {
  readonly #trail: Pick<Trail, 'runs'>
  readonly #error: ParleyError
  readonly #stop = new AbortController()

  /** Every refusal is `error`, which says what is damaged. */
  constructor(trail: Pick<Trail, 'runs'>, error: ParleyError) {
    this.#trail = trail
    this.#error = error
  }

  /** Nothing is moved where it is not known what is damaged, and nothing could be put on record. */
  readonly storage: StorageKeeper = {
    compact: async () => err(this.#error),
    snapshot: async () => err(this.#error),
    status: () => ({ working: null, faults: [] }),
  }

  /** There is nothing to be held up. */
  readonly held = undefined

  get error(): ParleyError {
    return this.#error
  }

  async solve(): Promise<Result<{ readonly run: RunId }>> {
    return err(this.#error)
  }

  /** Not an empty list: that would say that there are none. Those at work, though, are none. */
  async runs({ states }: Parameters<Conducting['runs']>[0] = {}): Promise<readonly RunSummaryView[]> {
    if (states?.every(state => state === 'waiting' || state === 'working')) return []
    throw this.#error
  }

  async find(text: string): Promise<Result<RunId>> {
    const ids = (await this.#trail.runs()).map(({ run }) => run)
    const found = ids.filter(id => id.startsWith(text) || id.slice(4).startsWith(text))
    const [only] = found.includes(text as RunId) ? [text as RunId] : found
    if (only !== undefined && (only === text || found.length === 1)) return ok(only)
    // Which run is the last one cannot be told without reading them.
    if (text === 'last') return err(this.#error)
    return err(
      found.length === 0
        ? new ParleyError('not_found', `There is no run ${text}.`)
        : new ParleyError('ambiguous', `${found.length} runs begin with ${text}; give more of the id.`, {
            details: { runs: found.slice(0, 10) },
          }),
    )
  }

  async view(): Promise<Result<RunView>> {
    return err(this.#error)
  }

  // biome-ignore lint/correctness/useYield: there is nothing to follow.
  async *follow(): AsyncGenerator<RunView> {
    throw this.#error
  }

  // biome-ignore lint/correctness/useYield: what they were started with cannot be read.
  async *stored(): AsyncGenerator<StoredRun> {
    throw this.#error
  }

  async keyed(): Promise<undefined> {
    throw this.#error
  }

  /** No turn is at work. */
  listen(): () => void {
    return () => undefined
  }

  async gates(): Promise<readonly GateView[]> {
    return []
  }

  // biome-ignore lint/correctness/useYield: there is nothing to watch.
  async *watchGates(): AsyncGenerator<readonly GateView[]> {
    throw this.#error
  }

  readonly #refuse = async () => err(this.#error)
  readonly storedRun = this.#refuse
  readonly account = this.#refuse
  readonly respond = this.#refuse
  readonly reply = this.#refuse
  readonly inject = this.#refuse
  readonly suspend = this.#refuse
  readonly resume = this.#refuse
  readonly abort = this.#refuse
  readonly migrate = this.#refuse
  readonly left = this.#refuse
  readonly salvage = this.#refuse
  readonly proof = this.#refuse
  readonly budgets = this.#refuse
  readonly raiseBudget = this.#refuse
  readonly changeUser = this.#refuse

  async hasAgent(): Promise<boolean> {
    return false
  }

  async users(): Promise<readonly UserView[]> {
    return []
  }

  /** Nobody can be recorded, and nobody need be: there is nothing that they could do. */
  async accept(): Promise<Result<void>> {
    return ok(undefined)
  }

  door(): Result<WorkspaceDoor> {
    return err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  async close(): Promise<void> {
    this.#stop.abort()
  }
}
