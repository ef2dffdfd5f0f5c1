// Conflicts (W-INT-07, -11 to -14): what stands against a merge, and how it is settled.
import type { Result } from '@parley/core'
import type { ConflictOutcome, ConflictType, RecordedResolutionStrategy } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { Paused } from '../highway/gate.ts'
import { refusal } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'

export interface Conflict {
  readonly id: string
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
  /** How many resolutions were proposed at a gate. */
  proposals: number
  /** Set once it is settled. */
  strategy: RecordedResolutionStrategy | undefined
  resolution: string | undefined
  outcome: ConflictOutcome | undefined
}

/** The integrator of an `evaluated` merge found these. */
export function decideReportConflicts(
  _batch: Batch,
  _caller: Workspace,
  _source: unknown,
  _conflicts: unknown,
): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

export function decideResolveConflict(
  _batch: Batch,
  _caller: Workspace,
  _request: {
    readonly source: unknown
    readonly conflict: unknown
    readonly strategy: unknown
    readonly resolution: unknown
  },
): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

/** A `conflict_resolution` gate has ended (highway/resolve.ts calls this): the resolution is carried out or dropped. */
export function writeConflictDecided(
  _batch: Batch,
  _paused: Extract<Paused, { readonly type: 'conflict_resolution' }>,
  _verdict: 'approve' | 'reject',
  /** Header actor of `conflict_resolved`: a user, `fallback`. */
  _actor: string,
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}

/** The workspace's time ran out while it was `conflicted` (W-INT-14); due/due.ts calls this. */
export function writeConflictTimeout(_batch: Batch, _source: Workspace): void {}
