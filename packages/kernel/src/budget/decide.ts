// Commands on budgets: what was used, and higher limits (W-BUDGET-06).
import type { Result, WorkspaceId } from '@parley/core'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'

export interface Usage {
  readonly workspace: WorkspaceId
  readonly tokens?: number
  readonly cost?: number
  readonly context?: number
}

export function decideMeter(_batch: Batch, _usage: Usage): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}

/** `caller` may be absent where a user with the capability asked: then `actor` is that user. */
export function decideRaiseBudget(
  _batch: Batch,
  _caller: Workspace | undefined,
  _actor: string,
  _workspace: unknown,
  _limits: unknown,
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}
