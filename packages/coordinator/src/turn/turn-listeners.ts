// Who listens to the agents of a run while they work.
import { asParleyError, type RunId } from '@parley/core'
import type { WorkspaceEvent } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'

interface Recent {
  readonly events: WorkspaceEvent[]
  /** How many older ones there were. */
  missed: number
}

type Listener = (event: WorkspaceEvent) => void

export class TurnListeners {
  readonly #byRun = new Map<RunId, Set<Listener>>()
  readonly #recent = new Map<RunId, Recent>()
  readonly #failed: (message: string) => void

  constructor(failed: (message: string) => void) {
    this.#failed = failed
  }

  /** Hears what the agents of a run at work emit, which is not on record. A listener must not throw. */
  listen(run: RunId, listener: Listener): () => void {
    // Whoever listens twice is told twice.
    const own: Listener = event => listener(event)
    const listeners = this.#byRun.get(run) ?? new Set()
    this.#byRun.set(run, listeners.add(own))
    return () => {
      listeners.delete(own)
      if (listeners.size === 0 && this.#byRun.get(run) === listeners) this.#byRun.delete(run)
    }
  }

  /** What was emitted so far, the newest of it. */
  recent(run: RunId): Recent {
    const { events, missed } = this.#recent.get(run) ?? { events: [], missed: 0 }
    return { events: [...events], missed }
  }

  /** Nothing more comes of a run that is over. */
  forget(run: RunId): void {
    this.#recent.delete(run)
  }

  tell(run: RunId, event: WorkspaceEvent): void {
    if (event.event.type !== 'usage') this.#keep(run, event)
    for (const listener of this.#byRun.get(run) ?? []) {
      try {
        listener(event)
      } catch (cause) {
        // A watcher that fails must not fail the turn.
        this.#failed(`somebody who listens to ${run} failed: ${asParleyError(cause).message}`)
      }
    }
  }

  #keep(run: RunId, event: WorkspaceEvent): void {
    const recent = this.#recent.get(run) ?? { events: [], missed: 0 }
    this.#recent.set(run, recent)
    recent.events.push(event)
    if (recent.events.length <= coordinatorLimits.heardItems) return
    recent.events.shift()
    recent.missed++
  }
}
