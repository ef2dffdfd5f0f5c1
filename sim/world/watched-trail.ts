// The real trail with a window in it: every batch that a runtime appends is seen when it is handed in and when it is
// settled. A test that wants to break a rule on purpose changes batches here, behind the kernel's back.
import type { Result, RunId } from '@parley/core'
import { type RunTrail, Trail } from '@parley/trail'
import type { Appended, Batch, TrailOptions } from '@parley/trail/testing'

export interface TrailWatcher {
  /** What is really appended. */
  readonly tamper: ((run: RunId, batch: Batch) => Batch) | undefined
  appending(run: RunId, batch: Batch): void
  appended(run: RunId, batch: Batch, result: Result<Appended>): void
}

export class WatchedTrail extends Trail {
  readonly #watcher: TrailWatcher
  readonly #watched = new WeakSet<RunTrail>()

  constructor(options: TrailOptions, watcher: TrailWatcher) {
    super(options)
    this.#watcher = watcher
  }

  override run(id: RunId): RunTrail {
    const run = super.run(id)
    if (!this.#watched.has(run)) {
      this.#watched.add(run)
      this.#watch(run)
    }
    return run
  }

  #watch(run: RunTrail): void {
    const appendEach = run.appendEach.bind(run)
    const watcher = this.#watcher
    run.appendEach = handedIn => {
      const batches = handedIn.map(batch => watcher.tamper?.(run.id, batch) ?? batch)
      for (const batch of batches) watcher.appending(run.id, batch)
      const appends = appendEach(batches)
      for (const [index, append] of appends.entries()) {
        // Registered first, so that the watcher knows of a commit before the runtime does.
        void append.then(result => watcher.appended(run.id, batches[index]!, result))
      }
      return appends
    }
  }
}
