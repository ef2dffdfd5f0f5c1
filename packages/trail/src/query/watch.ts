// Watching a run (W-TRAIL-21): a query repeated after each commit, so that a slow reader costs the writer nothing.
import type { Result, RunId } from '@parley/core'

/** What a watch tells at once. */
interface WatchPage {
  readonly entries: readonly { readonly seq: number }[]
  readonly cursor: number
  readonly more: boolean
}

class RunCommits {
  watchers = 0
  /** Grows with every commit, so that a watcher can tell whether it missed one. */
  count = 0
  /** `seq` of the newest entry of which a commit was told. */
  durable = 0
  readonly #wake = new Set<() => void>()

  committed(seq: number): void {
    this.durable = seq
    this.count++
    for (const wake of this.#wake) wake()
  }

  /** Resolves at the next commit, or as soon as the signal is raised; it may have been already. */
  next(signal: AbortSignal | undefined): Promise<void> {
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

/** Who watches which run. A watch outlives its RunTrail: an ended run is released, and another object appends to it. */
export class RunWatchers {
  readonly #runs = new Map<RunId, RunCommits>()

  join(run: RunId): RunCommits {
    const commits = this.#runs.get(run) ?? new RunCommits()
    this.#runs.set(run, commits)
    commits.watchers++
    return commits
  }

  leave(run: RunId, commits: RunCommits): void {
    if (--commits.watchers === 0) this.#runs.delete(run)
  }

  /** Entries of the run up to this one are durable. */
  committed(run: RunId, seq: number): void {
    this.#runs.get(run)?.committed(seq)
  }
}

/** `pageAfter`: what is behind a position; `durable`: the newest entry that it must know, 0 where that is unknown. */
export async function* watchRun<Page extends WatchPage>(
  run: RunId,
  watchers: RunWatchers,
  from: number,
  pageAfter: (after: number, durable: number) => Promise<Result<Page>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Page> {
  let after = from
  const commits = watchers.join(run)
  try {
    while (!signal?.aborted) {
      const { count, durable } = commits
      const page = await pageAfter(after, durable)
      if (!page.ok) throw page.error
      const { entries, more, cursor } = page.value
      // What the filter passed over need not be looked at again.
      after = more ? cursor : Math.max(cursor, durable)
      if (entries.length > 0) yield page.value
      if (!more && commits.count === count) await commits.next(signal)
    }
  } finally {
    watchers.leave(run, commits)
  }
}
