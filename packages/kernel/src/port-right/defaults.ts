// The rights that come by themselves (W-PORT-03): one in each direction between a workspace and its structural parent,
// where the matrix lets them send anything at all.
import type { RightId, WorkspaceId } from '@parley/core'
import type { RightType } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { maySendAny, type Party } from '../role/matrix.ts'
import type { Workspace } from '../workspace/workspace.ts'

/** Header actor and `created_by` of the entries. */
export interface Grantor {
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
