// Orphans (W-WS-13, W-TOPO-TREE-07): a workspace of another owner outlives its parent below the root, and may be given
// one other parent. Nothing else moves a workspace.
import { ok, type Result, type WorkspaceId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { misfit } from '../budget/remaining.ts'
import { writeDefaultRights } from '../port-right/decide.ts'
import { invalidState, notFound } from '../refusal.ts'
import { knownWorkspace, rootOf, workspaceOf } from '../run/run.ts'
import { writeDelivery } from '../signal/signal.ts'
import { acceptsChildren, hasResources, seesAllOf } from './authority.ts'
import { operand } from './operation.ts'
import { ended, isAbove, isRoot, type Workspace } from './workspace.ts'

/** state, owner, rights and subtree stay as they are; new rights tie it to the root. */
export function writeOrphaned(batch: Batch, workspace: Workspace): void {
  const root = rootOf(batch.run)
  writeReparented(batch, workspace, root, 'protocol', 'parent_aborted_cross_ownership')
}

/** W-SIG-11: what it had sent to its old parent reaches the new one. */
export function writeRerouted(batch: Batch, workspace: Workspace): void {
  const parent = batch.parentOf(workspace)
  if (!parent || batch.context.carriesSignals) return
  for (const signal of workspace.waiting ?? []) if (signal.upward) writeDelivery(batch, signal.id, workspace, parent)
}

export function decideReparent(batch: Batch, caller: Workspace, id: unknown, to: unknown): Result<void> {
  const orphan = operand(batch, caller, 'reparent', id)
  if (!orphan.ok) return orphan
  const workspace = orphan.value
  // W-LIFE-15
  if (isRoot(workspace)) return invalidState('The root has no parent and gets none.')
  if (!workspace.orphan)
    return batch.denyOperation(caller, 'reparent', {
      target: workspace.id,
      reason: 'not_permitted',
      message: `${workspace.id} is no orphan, or was given a new parent already; it stays where it is.`,
    })
  if (ended(workspace)) return invalidState(`${workspace.id} is ${workspace.status}.`)
  const parent = workspaceOf(batch.run, String(to))
  if (!parent) return notFound('workspace', to)
  const problem = ineligible(workspace, parent)
  if (problem) return invalidState(problem)
  const visible = [...(workspace.visibility ?? [])].map(each => knownWorkspace(batch.run, each))
  const notContained = (message: string) =>
    batch.denyOperation(caller, 'reparent', {
      target: workspace.id,
      reason: 'containment_violation',
      code: 'containment',
      message,
    })
  if (!seesAllOf(parent, workspace, visible) || !hasResources(parent, workspace.authority.resources))
    return notContained(`${parent.id} does not have all that ${workspace.id} sees and may use.`)
  const misfitting = misfit(workspace, parent, batch.context.now)
  if (misfitting !== undefined) return notContained(misfitting)
  writeReparented(batch, workspace, parent, actorOf(caller), 'orphan_reassigned')
  return ok(undefined)
}

/** Rows 7 and 8 of W-WS-05, and what a tree and the owner ask for. */
function ineligible(workspace: Workspace, parent: Workspace): string | undefined {
  if (parent === workspace.parent) return `${parent.id} is the parent of ${workspace.id} already.`
  if (parent === workspace || isAbove(workspace, parent)) return `${parent.id} lies in the subtree of ${workspace.id}.`
  if (!acceptsChildren(parent)) return `${parent.id} (${parent.role}, ${parent.status}) takes no children.`
  if (parent.owner !== workspace.owner)
    return `${parent.id} belongs to ${parent.owner}, and ${workspace.id} to ${workspace.owner}.`
  return undefined
}

function writeReparented(
  batch: Batch,
  workspace: Workspace,
  parent: Workspace,
  actor: string,
  reason: EventBody<'workspace_reparented'>['reason'],
): void {
  batch.add('workspace_reparented', workspace, actor, {
    workspace_id: workspace.id,
    old_parent: batch.parentOf(workspace)?.id as WorkspaceId,
    new_parent: parent.id,
    reason,
    timestamp: batch.at,
  })
  batch.markMoved(workspace, parent)
  writeDefaultRights(batch, { actor, id: rootOf(batch.run).id }, workspace, parent)
}
