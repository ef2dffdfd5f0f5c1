// Operations that change one workspace's place among the others: what it sees (W-WS-16), how urgent it is (W-WS-18),
// whose it is (W-USER-09). Groups and orphans have files of their own.
import { ok, type Result } from '@parley/core'
import { WORKSPACE_PRIORITIES, type WorkspacePriority } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { writeEscalationsRouted } from '../highway/escalation.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState, limitReached, notFound } from '../refusal.ts'
import { workspaceOf } from '../run/run.ts'
import { blindAncestor } from './authority.ts'
import { isOwner } from './create.ts'
import { existing, operand } from './operation.ts'
import { sees, type Workspace } from './workspace.ts'

/** Additive and for ever. The target is not told, whatever state it is in. */
export function decideGrantVisibility(
  batch: Batch,
  caller: Workspace,
  request: { readonly workspace: unknown; readonly target: unknown; readonly reason: unknown },
): Result<void> {
  const receiver = operand(batch, caller, 'grant_visibility', request.workspace)
  if (!receiver.ok) return receiver
  const workspace = receiver.value
  const target = workspaceOf(batch.run, String(request.target))
  if (!target) return notFound('workspace', request.target)
  const { reason } = request
  if (!isText(reason)) return invalidArgument('A grant needs a reason.')
  if (!mayBeGiven(workspace))
    return invalidState(
      `${workspace.id} is ${workspace.status}: only idle, active or blocked ones are given more to see.`,
    )
  // The grantor is one of those above.
  const blind = blindAncestor(workspace, target)
  if (blind)
    return batch.denyOperation(caller, 'grant_visibility', {
      target: target.id,
      reason: 'containment_violation',
      code: 'containment',
      message: `${blind.id} does not see ${target.id}; grant it there first.`,
    })
  if (sees(workspace, target)) return ok(undefined)
  if ((workspace.visibility?.size ?? 0) >= kernelLimits.visibility)
    return limitReached('workspaces that one may see', kernelLimits.visibility)
  batch.add('visibility_granted', workspace, actorOf(caller), {
    workspace_id: workspace.id,
    target: target.id,
    reason: clip(reason, kernelLimits.reasonLength),
  })
  return ok(undefined)
}

/** `idle` as set-up. */
function mayBeGiven({ status }: Workspace): boolean {
  return status === 'idle' || status === 'active' || status === 'blocked'
}

export function decideChangePriority(batch: Batch, caller: Workspace, id: unknown, priority: unknown): Result<void> {
  const target = operand(batch, caller, 'change_priority', id)
  if (!target.ok) return target
  const wanted = priorityOf(priority)
  if (!wanted.ok) return wanted
  if (!changesPriority(target.value))
    return invalidState(`${target.value.id} is ${target.value.status}, neither active nor blocked.`)
  writePriority(batch, caller, target.value, wanted.value)
  return ok(undefined)
}

/** W-WS-18. */
export function changesPriority({ status }: Workspace): boolean {
  return status === 'active' || status === 'blocked'
}

export function priorityOf(priority: unknown): Result<WorkspacePriority> {
  const known = WORKSPACE_PRIORITIES.find(each => each === priority)
  return known ? ok(known) : invalidArgument(`A priority is one of ${WORKSPACE_PRIORITIES.join(', ')}.`)
}

export function writePriority(
  batch: Batch,
  caller: Workspace,
  workspace: Workspace,
  priority: WorkspacePriority,
): boolean {
  if (workspace.priority === priority) return false
  batch.add('priority_changed', workspace, actorOf(caller), {
    workspace_id: workspace.id,
    old_priority: workspace.priority,
    new_priority: priority,
  })
  return true
}

/** Children keep their owner. Without a `caller`, `actor` is the user who asked. */
export function decideTransferOwnership(
  batch: Batch,
  caller: Workspace | undefined,
  actor: string,
  request: { readonly workspace: unknown; readonly owner: unknown; readonly reason?: unknown },
): Result<void> {
  const target = caller
    ? operand(batch, caller, 'transfer_ownership', request.workspace)
    : existing(batch, request.workspace)
  if (!target.ok) return target
  const { owner, reason } = request
  if (reason !== undefined && !isText(reason)) return invalidArgument('The reason of a transfer is a text.')
  const workspace = target.value
  if (owner === workspace.owner) return ok(undefined)
  if (typeof owner !== 'string' || !isOwner(batch, owner)) return notFound('user', owner)
  batch.add('workspace_ownership_transferred', workspace, actor, {
    workspace_id: workspace.id,
    from_user: workspace.owner,
    to_user: owner,
    ...(reason !== undefined && { reason: clip(reason, kernelLimits.reasonLength) }),
    transferred_by: actor,
    timestamp: batch.at,
  })
  writeEscalationsRouted(batch, workspace, owner)
  return ok(undefined)
}
