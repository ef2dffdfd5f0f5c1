// What the trail says about work that changes hands or is asked to finish.
import type { WorkspaceId } from '@parley/core'
import type { Folds } from './run-projection.ts'

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
