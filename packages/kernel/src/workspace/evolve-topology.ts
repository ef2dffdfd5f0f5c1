// What the entries of topology do to the state: sight, priority, owner, parent.
import type { WorkspaceId } from '@parley/core'
import { moveCharge } from '../budget/charge.ts'
import type { Folds } from '../fold.ts'
import { knownWorkspace } from '../run/run.ts'
import { rerouteSignals } from '../signal/evolve.ts'
import type { Workspace } from './workspace.ts'

export const topologyFolds: Folds = {
  visibility_granted(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    workspace.visibility ??= new Set()
    workspace.visibility.add(body.target as WorkspaceId)
  },
  priority_changed(run, body) {
    knownWorkspace(run, body.workspace_id).priority = body.new_priority
  },
  workspace_ownership_transferred(run, body) {
    knownWorkspace(run, body.workspace_id).owner = body.to_user
  },
  workspace_reparented(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    const old = knownWorkspace(run, body.old_parent)
    const parent = knownWorkspace(run, body.new_parent)
    workspace.parent = parent
    workspace.orphan = body.reason === 'parent_aborted_cross_ownership'
    old.children = old.children?.filter(child => child !== workspace)
    adopt(parent, workspace)
    rerouteSignals(run, workspace, old, parent)
    moveIntegration(workspace, old, parent)
    moveCharge(run, workspace, old)
  },
  batch_abort(run, body) {
    run.batchAborts.delete(body.group_id)
  },
}

/** Siblings stand in order of creation, wherever they came from (W-WS-10). */
function adopt(parent: Workspace, child: Workspace): void {
  parent.children ??= []
  const place = parent.children.findIndex(each => each.created > child.created)
  parent.children.splice(place < 0 ? parent.children.length : place, 0, child)
}

/** W-INT-08: an open integration moves to the new parent, and waits there for the lock. */
function moveIntegration(source: Workspace, old: Workspace, parent: Workspace): void {
  if (old.merging === source) old.merging = undefined
  if (!source.integration) return
  source.integration = { ...source.integration, target: parent }
  parent.merging ??= source
}
