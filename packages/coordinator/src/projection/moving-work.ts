// What the trail says about work that changes hands, is asked to finish, or is saved after it failed: parts of a
// workspace's projection.
import type { CheckpointId, ObjectId, Timestamp, WorkspaceId } from '@parley/core'
import type { ProjectedConflict } from './projected.ts'
import type { Folds } from './run-projection.ts'

/** Another agent in the place of a workspace's own (W-MIG-05). */
export interface ProjectedMigration {
  readonly from: string
  readonly to: string
  readonly reason: string
  readonly at: Timestamp
  outcome: 'open' | 'completed' | 'failed'
}

/** A workspace that was asked to wind down (W-TERM-02). */
export interface ProjectedTermination {
  readonly since: Timestamp
  /** Milliseconds. */
  readonly period: number
  readonly reason: string
  /** Milliseconds that it was paused meanwhile, which do not count. */
  paused: number
}

/** The newest integration of what a failed workspace left (W-INT-18). */
export interface ProjectedSalvage {
  readonly seq: number
  readonly target: WorkspaceId
  readonly checkpoint: CheckpointId
  open: boolean
  result: ObjectId | undefined
  /** `seq` of its end, if it was merged. */
  merged: number | undefined
  /** Why it came to nothing. */
  aborted: string | undefined
  readonly conflicts: ProjectedConflict[]
}

export const movingWorkFolds: Folds = {
  migration_started(projection, body, entry) {
    const { old_agent: from, new_agent: to, reason } = body
    projection.workspaces
      .get(body.workspace_id as WorkspaceId)
      ?.migrations.push({ from, to, reason, at: entry.timestamp, outcome: 'open' })
  },

  migration_completed(projection, body) {
    const workspace = projection.workspaces.get(body.workspace_id as WorkspaceId)
    if (!workspace) return
    const migration = workspace.migrations.at(-1)
    if (migration) migration.outcome = 'completed'
    if (workspace.facts) workspace.facts = { ...workspace.facts, agent: body.new_agent }
  },

  migration_failed(projection, body) {
    const migration = projection.workspaces.get(body.workspace_id as WorkspaceId)?.migrations.at(-1)
    if (migration) migration.outcome = 'failed'
  },

  graceful_termination_initiated(projection, body, entry) {
    const workspace = projection.workspaces.get(body.workspace_id as WorkspaceId)
    const { grace_period: period, reason } = body
    if (workspace) workspace.termination = { since: entry.timestamp, period, reason, paused: 0 }
  },
}
