// Granting and revoking port rights (W-PORT-08 to -10), and who may mint one (W-PORT-06).
import { ok, type Result, type RightId, type WorkspaceId } from '@parley/core'
import type { RightType } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState, limitReached, notFound } from '../refusal.ts'
import { maySendAny, type Party } from '../role/matrix.ts'
import { workspaceOf } from '../run/run.ts'
import { authorize } from '../workspace/operation.ts'
import { ended, isAbove, isRoot, type Workspace } from '../workspace/workspace.ts'
import { rightStatus } from './port-right.ts'

/** The root mints anywhere, a delegate inside its subtree, nobody else, not even to its own inbox. */
export function mayMint(sender: Workspace, holder: Workspace, target: Workspace): boolean {
  if (isRoot(sender)) return true
  const inside = (workspace: Workspace) => workspace === sender || isAbove(sender, workspace)
  return sender.delegate && inside(holder) && inside(target)
}

/** W-PORT-10. */
export function decideGrantRight(
  batch: Batch,
  caller: Workspace,
  request: { readonly right: unknown; readonly holder: unknown; readonly target: unknown },
): Result<RightId> {
  const holder = workspaceOf(batch.run, String(request.holder))
  const target = workspaceOf(batch.run, String(request.target))
  const refused = authorize(batch, caller, 'create_right', holder) ?? authorize(batch, caller, 'create_right', target)
  if (refused) return refused
  if (!holder) return notFound('workspace', request.holder)
  if (!target) return notFound('workspace', request.target)
  const { right: type } = request
  if (type !== 'send' && type !== 'send_once')
    return invalidArgument('A right that is granted is `send` or `send_once`.')
  if (holder === target) return invalidArgument('A right to send goes to another workspace.')
  for (const workspace of [holder, target])
    if (ended(workspace)) return invalidState(`${workspace.id} is ${workspace.status}.`)
  const held = holder.rights?.get(target.id)?.length ?? 0
  if (held >= kernelLimits.heldRights) return limitReached('rights between two workspaces', kernelLimits.heldRights)
  return ok(writeRight(batch, { actor: actorOf(caller), id: caller.id }, type, holder.id, target.id))
}

/** W-PORT-08: at once for new submissions; what was accepted still arrives. */
export function decideRevokeRight(batch: Batch, caller: Workspace, id: unknown, reason: unknown): Result<void> {
  const refused = authorize(batch, caller, 'revoke_right')
  if (refused) return refused
  const right = batch.run.rights.get(id as RightId)
  if (!right || rightStatus(right) !== 'active') return notFound('active right', id)
  if (right.type === 'receive') return invalidArgument('A receive right ends only with its workspace.')
  if (!isText(reason)) return invalidArgument('A revocation needs a reason.')
  batch.add('port_right_revoked', right.holder, actorOf(caller), {
    right_id: right.id,
    right_type: right.type,
    holder: right.holder.id,
    target: right.target.id,
    revoked_by: caller.id,
    reason: clip(reason, kernelLimits.reasonLength),
  })
  return ok(undefined)
}

interface Grantor {
  readonly actor: string
  readonly id: WorkspaceId
}

export function writeRight(
  batch: Batch,
  by: Grantor,
  type: RightType,
  holder: WorkspaceId,
  target: WorkspaceId,
): RightId {
  const id = batch.newId<RightId>('right')
  batch.add('port_right_created', holder, by.actor, {
    right_id: id,
    right_type: type,
    holder,
    target,
    created_by: by.id,
  })
  return id
}

/** In the order of W-TOPO-CHAN-01: the right towards the child, then the one that it holds. */
export function writeDefaultRights(
  batch: Batch,
  by: Grantor,
  child: Party & { readonly id: WorkspaceId },
  parent: Workspace,
): void {
  const { vocabulary } = batch.run
  if (maySendAny(vocabulary, parent, child, 'sender_above')) writeRight(batch, by, 'send', parent.id, child.id)
  if (maySendAny(vocabulary, child, parent, 'receiver_above')) writeRight(batch, by, 'send', child.id, parent.id)
}
