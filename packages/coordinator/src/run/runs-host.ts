// What all parts of the coordinator work with.
import type { Clock, IdSource, RunId } from '@parley/core'
import type { Runtime } from '@parley/kernel'
import type { CoordinatorOptions, Log } from '../contract.ts'
import type { Machine } from '../machine/machine.ts'
import type { RunAdapters } from './run-adapters.ts'
import type { RunDriver } from './run-driver.ts'
import type { RunHomes } from './run-homes.ts'

export interface RunsHost extends CoordinatorOptions {
  readonly runtime: Runtime
  readonly clock: Clock
  readonly ids: IdSource
  readonly machine: Machine
  readonly homes: RunHomes
  readonly adapters: RunAdapters
  readonly drivers: ReadonlyMap<RunId, RunDriver>
  /** Fires when the node stops. */
  readonly stopping: AbortSignal
  readonly log: Log
  /** Something may still be recorded in it: what the trail holds of it in memory is in use. */
  readonly isActive: (run: RunId) => boolean
}
