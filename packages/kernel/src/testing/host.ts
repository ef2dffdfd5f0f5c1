// What a host gives its runtime, for tests that are about something else: guards, and a state cache in memory.
import type { RunId } from '@parley/core'
import type { StateCacheStore } from '@parley/trail'
import type { UserDirectory } from '../batch.ts'

/** Everybody is known and may do everything. */
export const EVERYBODY: UserDirectory = { stateOf: () => 'active', holds: () => true }

export const GUARDS = { secret: new Uint8Array(32).fill(42), users: EVERYBODY } as const

/** Keeps everything that was ever saved. */
export class MemoryStates implements StateCacheStore {
  readonly kept = new Map<RunId, Uint8Array>()
  readonly saved: { readonly run: RunId; readonly content: Uint8Array }[] = []
  /** Loads that found something. */
  loads = 0

  async load(run: RunId): Promise<Uint8Array | undefined> {
    const content = this.kept.get(run)
    if (content) this.loads++
    return content
  }

  async save(run: RunId, content: Uint8Array): Promise<void> {
    this.saved.push({ run, content })
    this.kept.set(run, content)
  }

  async remove(run: RunId): Promise<void> {
    this.kept.delete(run)
  }
}
