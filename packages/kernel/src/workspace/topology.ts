// Operations on the tree and its members beyond creation and failure: visibility, priority, groups, owners, orphans.
import type { Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import type { Workspace } from './workspace.ts'

export function decideGrantVisibility(
  _batch: Batch,
  _caller: Workspace,
  _request: { readonly workspace: unknown; readonly target: unknown; readonly reason: unknown },
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}

export function decideChangePriority(
  _batch: Batch,
  _caller: Workspace,
  _workspace: unknown,
  _priority: unknown,
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}

export function decideBatchPriority(
  _batch: Batch,
  _caller: Workspace,
  _group: unknown,
  _priority: unknown,
): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

export function decideBatchAbort(_batch: Batch, _caller: Workspace, _group: unknown): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

/** `caller` may be absent where a user with the capability asked: then `actor` is that user. */
export function decideTransferOwnership(
  _batch: Batch,
  _caller: Workspace | undefined,
  _actor: string,
  _request: { readonly workspace: unknown; readonly owner: unknown; readonly reason?: unknown },
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}

/** An orphan's one new parent (W-WS-13). */
export function decideReparent(
  _batch: Batch,
  _caller: Workspace,
  _workspace: unknown,
  _parent: unknown,
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}
