// Escalations (W-HWY-20 to -22, W-SIG-12): an agent asks the owner of its workspace.
import type { Result, SignalId, Ticks, WorkspaceId } from '@parley/core'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'

export interface Escalation {
  readonly signal: SignalId
  readonly workspace: WorkspaceId
  readonly reason: string
  readonly received: Ticks
  /** Its addressee could not take it when it came; who that is, is the workspace's owner at each moment. */
  readonly queued: boolean
}

/** After the signal of a workspace was recorded and delivered: the highway's part. */
export function writeEscalated(_batch: Batch, _from: Workspace, _signal: SignalId, _reason: string): void {}

export function decideResolveEscalation(
  _batch: Batch,
  _user: string,
  _signal: unknown,
  _answer: unknown,
): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

export function writeEscalationDue(_batch: Batch, _escalation: Escalation): void {}
