// How gates end (W-HWY-07 to -12): by a human, by the coordinator, by their fallback, or because their subject is gone.
import type { Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { Gate } from './gate.ts'

export function decideResolveGate(
  _batch: Batch,
  _user: string,
  _request: {
    readonly gate: unknown
    readonly action: unknown
    readonly modifications?: unknown
    readonly reason?: unknown
  },
): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

/** The coordinator's answer to a gate that its fallback handed over (W-HWY-10). */
export function decideAnswerGate(
  _batch: Batch,
  _caller: Workspace,
  _gate: unknown,
  _action: unknown,
): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

/** Its time is over: the fallback acts (W-HWY-09), or the coordinator's silence counts as a rejection (W-HWY-10). */
export function writeGateDue(_batch: Batch, _gate: Gate): void {}

/** To be called after the entries of every command: gates whose subject can no longer proceed end here (W-HWY-12). */
export function writeInvalidated(_batch: Batch): void {}
