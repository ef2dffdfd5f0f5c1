// Runs that nobody waits for any more: the coordinator itself ends them as failed, with the reason (W-TOPO-TREE-06).
import { ok, type Result } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import { coordinatorLimits } from '../limits.ts'
import type { RunProjection } from '../projection/run-projection.ts'

export async function abandonRun(run: RunHandle, reason: string): Promise<Result<void>> {
  const failed = await run.coordinator.failed(reason.slice(0, coordinatorLimits.reasonLength))
  if (failed.ok) return ok(undefined)
  // A root that has not begun cannot say so.
  return failed.error.code === 'invalid_state' ? run.stop() : failed
}

export function wasAbandoned(projection: RunProjection): boolean {
  return gaveUp(projection) && projection.facts?.ends === undefined
}

/** Whether the coordinator itself has said that the run has failed. */
export function gaveUp({ root }: RunProjection): boolean {
  return root?.state === 'failed' && root.trigger === 'agent_failed'
}
