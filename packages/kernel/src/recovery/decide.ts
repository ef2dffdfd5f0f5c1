// What recovery and the way out of degraded mode write.
import type { Result, Timestamp } from '@parley/core'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { RecoveryStep } from './steps.ts'

export function decideRecover(_batch: Batch, _step: RecoveryStep): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

export function decideDegradedOver(_batch: Batch, _from: Timestamp, _reason: string): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}

/** The coordinator records that something systemic is wrong (W-REC-05). */
export function decideReportDegraded(
  _batch: Batch,
  _caller: Workspace,
  _report: {
    readonly reason: unknown
    readonly scope: unknown
    readonly action: unknown
    readonly workspaces?: unknown
  },
): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}
