// Watching a run (W-TRAIL-21): a query that is asked again after each commit. A slow reader costs the writer nothing: it is behind, and
// catches up by query.
import type { TrailReader } from './access.ts'
import { trailLimits } from './limits.ts'
import type { TrailFilter } from './query.ts'
import type { QueryPage, RunQueries } from './run-query.ts'

export class RunWatch {
  readonly #queries: RunQueries
  /** Grows with every commit, so that a watcher can tell whether it missed one. */
  #commits = 0
  /** `seq` of the newest entry of which a commit was told. */
  #durable = 0
  readonly #wake = new Set<() => void>()

  constructor(queries: RunQueries) {
    this.#queries = queries
  }

  /** Entries up to this one are durable. */
  committed(seq: number): void {
    this.#durable = seq
    this.#commits++
    for (const wake of this.#wake) wake()
  }

  async *pages(
    filter: TrailFilter & { readonly after?: number },
    reader: TrailReader,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<QueryPage> {
    let { after = 0, ...rest } = filter
    for (;;) {
      if (signal?.aborted) return
      const seen = this.#commits
      const durable = this.#durable
      const page = await this.#queries.query({ ...rest, after, limit: trailLimits.watchEntries }, reader)
      if (!page.ok) throw page.error
      // What the filter passed over need not be looked at again.
      after = page.value.more ? page.value.cursor : Math.max(page.value.cursor, durable)
      if (page.value.entries.length > 0) yield page.value
      if (page.value.more || this.#commits !== seen) continue
      await this.#nextCommit(signal)
    }
  }

  /** Resolves at the next commit, or as soon as the signal is raised; it may have been already. */
  #nextCommit(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const done = () => {
        signal?.removeEventListener('abort', done)
        this.#wake.delete(done)
        resolve()
      }
      this.#wake.add(done)
      signal?.addEventListener('abort', done)
    })
  }
}
