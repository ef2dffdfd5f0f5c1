// A migration as the state keeps it (W-MIG-05, W-LIFE-11); the new agent is reserved from the start (W-SEC-03).
import type { WorkspaceId } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { type Folds, knownWorkspace, type Run } from '../run/run.ts'
import type { Failure } from './failure.ts'
import { agentOf, type Workspace } from './workspace.ts'

export interface Migration {
  readonly agent: string
  /** What ended it, while the transition that follows is not on record yet. */
  over: 'completed' | 'failed' | undefined
}

export const migrationFolds: Folds = {
  migration_started(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    workspace.migration = { agent: body.new_agent, over: undefined }
    run.agents.set(body.new_agent, workspace.id)
  },

  /** Step 4: the binding is swapped in one step. */
  migration_completed(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    release(run, workspace.id, agentOf(workspace))
    workspace.agent = body.new_agent
    run.agents.set(body.new_agent, workspace.id)
    if (workspace.migration) workspace.migration.over = 'completed'
  },

  migration_failed(run, body) {
    const { migration } = knownWorkspace(run, body.workspace_id)
    if (migration) migration.over = 'failed'
  },
}

/** To be called before a terminal workspace gives up its agent. */
export function endMigration(run: Run, workspace: Workspace): void {
  const { migration } = workspace
  if (!migration) return
  workspace.migration = undefined
  if (migration.agent !== workspace.agent) release(run, workspace.id, migration.agent)
}

function release(run: Run, workspace: WorkspaceId, agent: string): void {
  if (run.agents.get(agent) === workspace) run.agents.delete(agent)
}

/** W-MIG-06: a migration that is open ends with its workspace, by an error of its own or by an abort. */
export function writeMigrationFailed(batch: Batch, workspace: Workspace, failure: Failure): void {
  const { migration } = workspace
  if (!migration || migration.over !== undefined) return
  const { trigger, error = trigger } = failure
  batch.add('migration_failed', workspace, 'protocol', {
    workspace_id: workspace.id,
    old_agent: agentOf(workspace),
    new_agent: migration.agent,
    reason: trigger === 'migration_error' ? trigger : 'aborted',
    error: clip(error, bodyLimits.textLength),
  })
}
