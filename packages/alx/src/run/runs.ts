// The runs that are being read or at work: each followed once, whoever reads it. A run that is over stays for a while;
// a later reader folds it again from the trail.
import type { HashFn, ProtocolInfo } from '@alx/protocol'
import {
  asParleyError,
  type Clock,
  ParleyError,
  type Principal,
  pause,
  type RunEnd,
  type RunId,
  type RunPort,
} from '@parley/core'
import { alxLimits } from '../limits.ts'
import { readSolveFacts, type SolveFacts } from './facts.ts'
import { LiveRun } from './live-run.ts'

export interface RunsOptions {
  readonly port: Pick<RunPort, 'watch' | 'stored'>
  /** Sees every run of the server's own. */
  readonly self: Principal
  readonly clock: Clock
  readonly protocol: ProtocolInfo
  readonly hash?: HashFn | undefined
  /** A run is followed from now on. */
  readonly onFollow: (live: LiveRun) => void
  /** Before the end of a run is told to anybody. */
  readonly atEnd: (live: LiveRun, end: RunEnd) => Promise<void>
  /** What keeps a run from being followed. */
  readonly onFault: (live: LiveRun, cause: ParleyError) => void
}

interface Followed {
  readonly live: LiveRun
  /** Resolves when all is folded that was acknowledged when the reading began. */
  readonly current: Promise<void>
}

export class Runs {
  readonly #options: RunsOptions
  readonly #working = new Map<RunId, Followed>()
  /** Over; the one that was read longest ago first. */
  readonly #kept = new Map<RunId, LiveRun>()
  readonly #reading = new Map<RunId, Promise<LiveRun | undefined>>()
  readonly #closing = new AbortController()

  constructor(options: RunsOptions) {
    this.#options = options
  }

  get stopping(): boolean {
    return this.#closing.signal.aborted
  }

  /** Nothing is followed any more; the runs themselves go on. */
  close(): void {
    this.#closing.abort()
    for (const { live } of this.#working.values()) live.lose(stopped())
  }

  /** How many read the run now and wait for more. */
  readersOf(run: RunId): number {
    return this.#working.get(run)?.live.readers ?? 0
  }

  /** A run that this server has just started; its first entries are on record. */
  async started(run: RunId, user: string, facts: SolveFacts): Promise<LiveRun> {
    const { live, current } = this.#follow(run, user, facts, 0)
    await current
    return live
  }

  /** Undefined if there is no such run of ALX. Rejects with what the trail says where it cannot be read. */
  async read(run: RunId): Promise<LiveRun | undefined> {
    const kept = this.#kept.get(run)
    if (kept) {
      this.#keep(kept)
      return kept
    }
    const working = this.#working.get(run)
    if (working) {
      await working.current
      return working.live
    }
    let reading = this.#reading.get(run)
    if (!reading) {
      reading = this.#load(run).finally(() => this.#reading.delete(run))
      this.#reading.set(run, reading)
    }
    return reading
  }

  async #load(run: RunId): Promise<LiveRun | undefined> {
    const stored: Awaited<ReturnType<RunPort['stored']>> = await this.#options.port.stored(run, {
      principal: this.#options.self,
    })
    if (!stored.ok) {
      if (stored.error.code === 'not_found') return undefined
      throw stored.error
    }
    const { origin, context, principal, head } = stored.value
    const facts = origin === 'alx' ? readSolveFacts(context) : undefined
    if (!facts) return undefined
    const { live, current } = this.#follow(run, principal, facts, head)
    await current
    return live
  }

  #follow(run: RunId, user: string, facts: SolveFacts, head: number): Followed {
    const { protocol, hash } = this.#options
    const live = new LiveRun(user, { runId: run, facts, protocol, hash })
    const current = Promise.withResolvers<void>()
    // Nobody may wait for it.
    current.promise.catch(() => undefined)
    const followed = { live, current: current.promise }
    this.#options.onFollow(live)
    this.#working.set(run, followed)
    this.#watch(live, () => {
      if (live.fold.cursor >= Math.max(head, 1)) current.resolve()
    }).then(
      () => {
        current.resolve()
        this.#working.delete(run)
        this.#keep(live)
      },
      (cause: unknown) => {
        this.#working.delete(run)
        const error = asParleyError(cause)
        if (!this.stopping) this.#options.onFault(live, error)
        live.lose(error)
        current.reject(error)
      },
    )
    return followed
  }

  /** Until the end of the run. */
  async #watch(live: LiveRun, progress: () => void): Promise<void> {
    const { clock, onFault } = this.#options
    const { signal } = this.#closing
    for (let tried = 1; ; tried++) {
      try {
        if (await this.#pages(live, progress)) return
        throw stopped()
      } catch (cause) {
        const error = asParleyError(cause)
        if (signal.aborted || !error.retryable || tried === alxLimits.followTries) throw error
        onFault(live, error)
        await pause(clock, alxLimits.followWaitMs * 2 ** (tried - 1), signal)
        if (signal.aborted) throw stopped()
      }
    }
  }

  async #pages(live: LiveRun, progress: () => void): Promise<boolean> {
    const { port, self } = this.#options
    const { fold, run } = live
    const options = { principal: self, after: fold.cursor, signal: this.#closing.signal }
    for await (const { events, end } of port.watch(run, options)) {
      for (const entry of events) fold.apply(entry)
      if (end) await this.#ended(live, end)
      progress()
      live.changed()
    }
    return fold.over
  }

  async #ended(live: LiveRun, end: RunEnd): Promise<void> {
    live.fold.end(end)
    await this.#options.atEnd(live, end)
  }

  #keep(live: LiveRun): void {
    this.#kept.delete(live.run)
    this.#kept.set(live.run, live)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > alxLimits.keptRuns && oldest !== undefined) this.#kept.delete(oldest)
  }
}

function stopped(): ParleyError {
  return new ParleyError('unavailable', 'The server is stopping; read the run again when it is up.', {
    retryable: true,
  })
}
