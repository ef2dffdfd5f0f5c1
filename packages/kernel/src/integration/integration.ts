// The integration record (W-INT-21) while it is open, and what stays of it at its target.
import type { CheckpointId, WorkspaceId } from '@parley/core'
import type { IntegrationStrategy } from '@parley/trail/events'
import type { Workspace } from '../workspace/workspace.ts'

export const DECISIONS = ['accept', 'revise', 'reject'] as const
export type IntegrationDecision = (typeof DECISIONS)[number]

/** Strategies that this level offers (W-INT-06: `direct` at level 1). */
export const AVAILABLE_STRATEGIES: readonly IntegrationStrategy[] = ['direct']

export interface Integration {
  readonly target: Workspace
  readonly strategy: IntegrationStrategy
  readonly checkpoint: CheckpointId | null
}

/** One merge into a target: `direct` lays its files over what was there, the later one wins. */
export interface Merge {
  readonly source: WorkspaceId
  readonly checkpoint: CheckpointId | null
  readonly strategy: IntegrationStrategy
}
