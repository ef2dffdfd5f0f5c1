// The record of a batch abort (W-WS-19, A-19): its summary stands behind the last member, and where some wait at a
// gate, behind the end of the last gate (W-HWY-03).
import { invariant, type ObjectId, type WorkspaceId } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import type { Batch } from '../batch.ts'
import { rootOf } from '../run/run.ts'

export interface BatchOutcome {
  readonly affected: readonly WorkspaceId[]
  /** Terminal already, or in a state that excludes the operation, or a gate rejected it. */
  readonly skipped: readonly WorkspaceId[]
}

/** Stored, and stored again as each gate ends; `waiting` are members whose gate is open. */
export interface BatchAbort extends BatchOutcome {
  readonly group: string
  readonly waiting: readonly WorkspaceId[]
}

/** To be called after the gate's decision was written; the summary follows the last one. */
export function writeMemberDecided(batch: Batch, group: string, workspace: WorkspaceId, aborted: boolean): void {
  const open = openBatchAbort(batch, group)
  invariant(open, 'a gate of a batch abort ends before the batch abort does')
  const { affected, skipped } = open
  const all = batch.run.groups.get(group) ?? []
  const inOrder = (ids: readonly WorkspaceId[]) => {
    const wanted = new Set(ids)
    return all.map(({ id }) => id).filter(id => wanted.has(id))
  }
  writeBatchAbort(batch, {
    group,
    affected: aborted ? inOrder([...affected, workspace]) : affected,
    skipped: aborted ? skipped : inOrder([...skipped, workspace]),
    waiting: open.waiting.filter(id => id !== workspace),
  })
}

export function writeBatchAbort(batch: Batch, outcome: BatchAbort): void {
  const { group, affected, skipped, waiting } = outcome
  // One command may end many gates: what it comes to is stored once.
  const earlier = batch.objects.findIndex(object => isOf(group, object))
  if (earlier >= 0) batch.objects.splice(earlier, 1)
  if (waiting.length > 0) {
    batch.store('batch_abort', batch.newId<ObjectId>('obj'), outcome)
    return
  }
  batch.add('batch_abort', rootOf(batch.run), 'system', {
    group_id: group,
    affected_workspaces: [...affected],
    skipped_workspaces: [...skipped],
  })
}

function openBatchAbort(batch: Batch, group: string): BatchAbort | undefined {
  const stored = batch.objects.find(object => isOf(group, object))
  return stored ? (stored.value as BatchAbort) : batch.run.batchAborts.get(group)
}

function isOf(group: string, { kind, value }: TrailObject): boolean {
  return kind === 'batch_abort' && (value as BatchAbort).group === group
}
