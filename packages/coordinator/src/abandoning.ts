// Runs that are not gone on with after a stop, because nobody waits for them any more: the coordinator itself says that they have failed, and
// why (W-TOPO-TREE-06). Nobody else has ended them.
import { ok, type Result } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import { coordinatorLimits } from './limits.ts'
import type { RunProjection } from './projection.ts'

export async function abandonRun(run: RunHandle, reason: string): Promise<Result<void>> {
  const failed = await run.coordinator.failed(reason.slice(0, coordinatorLimits.reasonLength))
  return failed.ok ? ok(undefined) : failed
}

export function wasAbandoned({ root }: RunProjection): boolean {
  return root?.state === 'failed' && root.trigger === 'agent_failed'
}
