// Groups (W-WS-19): members' own entries come first, the batch entry is the closing summary (A-19).
import { ok, type Result, type WorkspaceId } from '@parley/core'
import type { WorkspacePriority } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { gate } from '../highway/gate.ts'
import { invalidState, notFound } from '../refusal.ts'
import { rootOf } from '../run/run.ts'
import { type BatchAbort, type BatchOutcome, writeBatchAbort } from './batch-abort.ts'
import { byOperation, writeFailure } from './failure.ts'
import { authorize } from './operation.ts'
import { changesPriority, priorityOf, writePriority } from './topology.ts'
import type { Workspace } from './workspace.ts'

export function decideBatchPriority(
  batch: Batch,
  caller: Workspace,
  group: unknown,
  priority: unknown,
): Result<BatchOutcome> {
  const members = membersOf(batch, caller, 'batch_priority', group)
  if (!members.ok) return members
  const wanted = priorityOf(priority)
  if (!wanted.ok) return wanted
  const before: Record<string, WorkspacePriority> = {}
  const affected: WorkspaceId[] = []
  const skipped: WorkspaceId[] = []
  for (const member of members.value) {
    if (changesPriority(member) && writePriority(batch, caller, member, wanted.value)) {
      affected.push(member.id)
      before[member.id] = member.priority
    } else skipped.push(member.id)
  }
  batch.add('batch_priority_changed', rootOf(batch.run), actorOf(caller), {
    group_id: group as string,
    old_priority: before,
    new_priority: wanted.value,
    affected_workspaces: affected,
    skipped_workspaces: skipped,
  })
  return ok({ affected, skipped })
}

export function decideBatchAbort(batch: Batch, caller: Workspace, id: unknown): Result<BatchAbort> {
  const members = membersOf(batch, caller, 'batch_abort', id)
  if (!members.ok) return members
  const group = id as string
  if (batch.run.batchAborts.has(group))
    return invalidState(`A batch abort of the group '${group}' waits for its gates already.`)
  const affected: WorkspaceId[] = []
  const skipped: WorkspaceId[] = []
  const waiting: WorkspaceId[] = []
  for (const member of members.value) {
    // Those before it may have taken it along.
    if (batch.isEnded(member)) {
      skipped.push(member.id)
      continue
    }
    const verdict = gate(batch, {
      type: 'workspace_abort',
      caller: caller.id,
      workspace: member.id,
      reason: 'batch_abort',
      group,
    })
    if (verdict === 'rejected') skipped.push(member.id)
    else if (verdict === 'proceed') {
      writeFailure(batch, member, byOperation('batch_abort', caller))
      affected.push(member.id)
    } else waiting.push(member.id)
  }
  const outcome = { group, affected, skipped, waiting }
  writeBatchAbort(batch, outcome)
  return ok(outcome)
}

function membersOf(
  batch: Batch,
  caller: Workspace,
  operation: 'batch_abort' | 'batch_priority',
  group: unknown,
): Result<readonly Workspace[]> {
  const refused = authorize(batch, caller, operation)
  if (refused) return refused
  const members = typeof group === 'string' ? batch.run.groups.get(group) : undefined
  return members ? ok(members) : notFound('group', group)
}
