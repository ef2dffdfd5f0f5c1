// What a host gives a runtime when it opens one, and what all its runs are given of that.
import type { Clock, IdSource, ParleyError } from '@parley/core'
import type { StateCacheStore, Trail } from '@parley/trail'
import type { UserDirectory } from '../batch.ts'
import type { Identify } from '../integrity/identity.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import type { Level } from '../run/level.ts'
import type { CapacityProbe } from '../workspace/admission.ts'
import type { ActorOptions } from './actor/actor-options.ts'
import { directTransport, type Transport } from './actor/transport.ts'
import type { AgentHandle } from './handle/agent.ts'
import type { Prepare } from './migrations.ts'
import type { StorageFault, StoragePolicy } from './storage-schedule.ts'

export interface RuntimeOptions {
  /** An open trail; whoever opened it closes it, after the runtime. */
  readonly trail: Trail
  readonly clock?: Clock
  readonly ids?: IdSource
  readonly transport?: Transport
  /**
   * Hands each agent to whoever runs it, again after a restart. What it throws fails the workspace with
   * `creation_error`.
   */
  readonly bind?: (agent: AgentHandle) => void | Promise<void>
  /**
   * Prepares the agent that takes over a workspace (W-MIG-05); without it that one is handed to `bind`, as after a
   * creation.
   */
  readonly prepare?: Prepare
  /**
   * The conformance level that the host declares, 3 by default. From 2 on the runtime opens only with `secret` and
   * `users` (§11.3, §11.4); below 3 there is no migration and no graceful termination (W-MIG-04).
   */
  readonly level?: Level
  /** Base of redelivery in milliseconds (W-ENV-14). */
  readonly redeliveryBase?: number
  /** Waits before a commit is tried again, in milliseconds (W-REC-07). */
  readonly commitRetries?: readonly number[]
  /** How many commands of one run are held while its trail cannot be written (W-REC-08). */
  readonly heldCommands?: number
  /**
   * Who is known and may do what: a directory of the host's own, or the registry of the house run (`runtime.users`).
   * Without it, at level 1 only, everybody who is let in may do everything.
   */
  readonly users?: UserDirectory | 'house'
  /** Escalations that may wait for one user of one run who is away (W-HWY-21). */
  readonly escalationQueue?: number
  /**
   * Percent by which an agent's report of what it used may differ from the meter before that is on record (W-CP-10); 1
   * by default.
   */
  readonly resourceTolerance?: number
  /**
   * The profile's secret, at least 32 bytes: envelopes and checkpoints carry proofs (W-SEC-07, -09). Without it, at
   * level 1 only, there are none.
   */
  readonly secret?: Uint8Array
  /** Assigns agents to workspaces (W-SEC-03); without it each workspace has an agent of its own. */
  readonly identify?: Identify
  /**
   * The deployment model that the host declares (W-SEC-13), `single-runtime` by default. A trail for another one is
   * opened with a cipher of `sealingOf`.
   */
  readonly deployment?: string
  /** What the machine has left (W-WS-20); without it there is room for everything within the limits. */
  readonly capacity?: CapacityProbe
  /**
   * Keeps states of long runs, so that they open fast; without one, or without a secret, every run is replayed from its
   * beginning.
   */
  readonly stateCache?: StateCacheStore
  /** Entries of a run behind its newest kept state after which the next one is kept. */
  readonly stateCacheEntries?: number
  /** Told why a state could not be kept or used, for debugging: nothing else comes of it. */
  readonly onStateCacheFault?: (cause: unknown) => void
  /** Observers may read the global trail (W-TRAIL-19). */
  readonly observersReadGlobally?: boolean
  /** Told when a subscriber of notices throws; by default the process hears of it as of any uncaught error. */
  readonly onFault?: (cause: unknown) => void
  /**
   * Told at every attempt that the trail could not be written, and why. It is tried again whatever comes of it
   * (W-REC-07, -08).
   */
  readonly onUnwritable?: (error: ParleyError) => void
  /**
   * The `user_id` of whoever operates this node: they own the house run, which belongs to no other user (W-USER-07).
   */
  readonly operator?: string
  /** Entries of the house run after which a new one takes over. */
  readonly houseEntries?: number
  /** What happens by itself to the record of runs that have ended; nothing by default. */
  readonly storage?: StoragePolicy
  /** Told what of it failed, once for each reason; `storage.status()` has what is still open. */
  readonly onStorageFault?: (fault: StorageFault) => void
}

/** The same for every run, with the defaults. */
export function settingsOf(options: RuntimeOptions) {
  const { escalationQueue, resourceTolerance, identify, level, capacity } = options
  return {
    transport: options.transport ?? directTransport,
    redeliveryBase: options.redeliveryBase ?? kernelDefaults.redeliveryBase,
    commitRetries: options.commitRetries ?? kernelDefaults.commitRetries,
    heldCommands: options.heldCommands ?? kernelLimits.queuedCommands,
    escalationQueue,
    resourceTolerance,
    identify,
    level,
    capacity,
    onUnwritable: options.onUnwritable,
    onFault: options.onFault ?? rethrow,
  } satisfies Partial<ActorOptions>
}

function rethrow(cause: unknown): void {
  queueMicrotask(() => {
    throw cause
  })
}
