// What a host gives a runtime when it opens one, and what all its runs are given of that.
import type { Clock, IdSource, ParleyError, RunId, StrictClock, Ticks, WorkspaceId } from '@parley/core'
import type { EntryDraft, RunTrail, StateCacheStore, Trail } from '@parley/trail'
import type { Context, UserDirectory } from '../batch.ts'
import type { Evidence } from '../checkpoint/checkpoint.ts'
import type { Identify } from '../integrity/identity.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import type { Level } from '../run/level.ts'
import type { CapacityProbe } from '../workspace/create.ts'
import type { StateCache } from './actor/state-cache.ts'
import { directTransport, type Transport } from './actor/transport.ts'
import type { AgentHandle } from './handle/agent.ts'
import type { Prepare } from './migrations.ts'
import type { StorageFault, StoragePolicy } from './storage-schedule.ts'

export interface RuntimeOptions {
  readonly trail: Trail
  readonly clock?: Clock
  readonly ids?: IdSource
  readonly transport?: Transport
  /** Hands over each agent, again after a restart. What it throws fails the workspace with `creation_error`. */
  readonly bind?: (agent: AgentHandle) => void | Promise<void>
  /** Prepares the agent that takes over (W-MIG-05); without it that one is handed to `bind`. */
  readonly prepare?: Prepare
  /** 3 by default. From 2 on `secret` and `users` are required (§11.3, §11.4); below 3 W-MIG-04 excludes migration. */
  readonly level?: Level
  /** Base of redelivery in milliseconds (W-ENV-14). */
  readonly redeliveryBase?: number
  /** Waits before a commit is tried again, in milliseconds (W-REC-07). */
  readonly commitRetries?: readonly number[]
  /** How many commands of one run are held while its trail cannot be written (W-REC-08). */
  readonly heldCommands?: number
  /** A directory of the host's own, or the house's registry. Without it (level 1 only) everybody may do everything. */
  readonly users?: UserDirectory | 'house'
  /** Escalations that may wait for one user of one run who is away (W-HWY-21). */
  readonly escalationQueue?: number
  /** Percent by which reports of use may differ from the meter unrecorded (W-CP-10); 1 by default. */
  readonly resourceTolerance?: number
  /** At least 32 bytes, for proofs of envelopes and checkpoints (W-SEC-07, -09); optional at level 1 only. */
  readonly secret?: Uint8Array
  /** Assigns agents to workspaces (W-SEC-03); without it each workspace has an agent of its own. */
  readonly identify?: Identify
  /** W-SEC-13, `single-runtime` by default. Others need a trail opened with the model's cipher. */
  readonly deployment?: string
  /** What the machine has left (W-WS-20); without it there is room for everything within the limits. */
  readonly capacity?: CapacityProbe
  /** Keeps states of long runs, so that they open fast; takes `secret` too. */
  readonly stateCache?: StateCacheStore
  readonly stateCacheEntries?: number
  /** Told why a state could not be kept or used, for debugging: nothing else comes of it. */
  readonly onStateCacheFault?: (cause: unknown) => void
  /** Observers may read the global trail (W-TRAIL-19). */
  readonly observersReadGlobally?: boolean
  readonly onFault?: (cause: unknown) => void
  /** Called at every attempt; the runtime retries whatever happens here (W-REC-07, -08). */
  readonly onUnwritable?: (error: ParleyError) => void
  /** The `user_id` of the node's operator, who owns the house run (W-USER-07). */
  readonly operator?: string
  readonly houseEntries?: number
  readonly libraryEntries?: number
  /** What happens by itself to the record of runs that have ended; nothing by default. */
  readonly storage?: StoragePolicy
  /** Told what of it failed, once for each reason; `storage.status()` has what is still open. */
  readonly onStorageFault?: (fault: StorageFault) => void
}

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

export interface ActorOptions extends Omit<Context, 'now' | 'evidence' | 'carriesSignals'> {
  readonly id: RunId
  readonly trail: RunTrail
  readonly clock: Clock
  readonly stamps: StrictClock
  readonly transport: Transport
  readonly redeliveryBase: number
  readonly commitRetries: readonly number[]
  /** How many commands are held while the trail cannot be written (W-REC-08). */
  readonly heldCommands: number
  /** The run goes on after a restart: anchors and signatures of what is read are checked (W-REC-12). */
  readonly proven?: boolean
  readonly states?: StateCache | undefined
  readonly onCreated: (workspace: WorkspaceId, role: string, creator: WorkspaceId) => void
  readonly onMigration: (entry: EntryDraft) => void
  readonly onEnd: () => void
  readonly onUnwritable?: ((error: ParleyError) => void) | undefined
  readonly onFault: (cause: unknown) => void
}

export function contextAt(options: ActorOptions, now: Ticks, evidence?: Evidence): Context {
  const { ids, users, escalationQueue, resourceTolerance, proofs, identify, level, capacity, deployment } = options
  const carriesSignals = options.transport.signals ?? false
  const given = { ids, users, escalationQueue, resourceTolerance, proofs, identify, level, capacity, deployment }
  return { now, ...given, evidence, carriesSignals }
}
