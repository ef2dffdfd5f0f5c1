// The integration record (W-INT-21), what callers say of an integration, and what stays of it at its target.
import type { CheckpointId, ObjectId, Ticks, WorkspaceId } from '@parley/core'
import type { IntegrationResult, IntegrationStrategy, WorkspaceState } from '@parley/trail/events'
import type { Evidence } from '../checkpoint/proof.ts'
import type { Paused } from '../highway/gate.ts'
import type { Workspace } from '../workspace/workspace.ts'

export const DECISIONS = ['accept', 'revise', 'reject'] as const
export type IntegrationDecision = (typeof DECISIONS)[number]

/** What an integrator says when it begins. */
export interface BeginRequest {
  readonly source: unknown
  readonly strategy: unknown
  /** Why this one comes now, in the integrator's own words (W-INT-09); recorded with its place in the order. */
  readonly basis?: unknown
  /** The proof of the deliverable as it is stored now (W-INT-05). */
  readonly evidence?: Evidence | undefined
}

/** What an integrator says when it accepts. Strategy and basis count only where the integration is not open yet. */
export interface AcceptRequest extends Omit<BeginRequest, 'strategy'> {
  /** `direct` where it is left out. */
  readonly strategy?: unknown
  /** The synthesised result of an `evaluated` merge: the target's new merged state (W-INT-06). */
  readonly result?: unknown
  /** Under `layered`: ignore overlap with what was integrated before the source was created (AMB-55). */
  readonly baseAware?: unknown
}

/** What a decision came to: accept closes the source or finds conflicts, revise and reject fail it. */
export interface IntegrationOutcome {
  readonly state: Extract<WorkspaceState, 'closed' | 'conflicted' | 'failed'>
  /** Ids of the conflicts that were found. */
  readonly conflicts: readonly string[]
}

/** A merge that waits at its gate, or was approved there while another one held the target. */
export type PausedIntegration = Extract<Paused, { readonly type: 'integration' }>

export interface Integration {
  readonly target: Workspace
  readonly owner: string
  readonly strategy: IntegrationStrategy
  readonly checkpoint: CheckpointId | null
  readonly orderIndex: number | undefined
  readonly orderBasis: string | undefined
  /** The newest result that the integrator handed in. */
  resultRef: ObjectId | undefined
  /** How it ended: merged, or the reason why not. */
  result: IntegrationResult | undefined
  aborted: string | undefined
}

/** One merge into a target. */
export interface Merge {
  readonly source: WorkspaceId
  readonly checkpoint: CheckpointId | null
  readonly strategy: IntegrationStrategy
  /** Where the merged state is the integrator's own work. */
  readonly result_ref?: ObjectId
}

/** The newest integration into a target that changed a file. */
export interface FileChange {
  readonly source: WorkspaceId
  readonly at: Ticks
}

/** An object of its own, so that a result survives until the last conflict is settled. */
export interface ResultRecord {
  readonly workspace: WorkspaceId
  readonly value: unknown
}
