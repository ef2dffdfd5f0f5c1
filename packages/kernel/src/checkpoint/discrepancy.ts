// What an agent reports it used since its last checkpoint, against the meter (W-CP-10). A difference is on record;
// limits are enforced on the meter alone.
import type { CheckpointId, Ticks } from '@parley/core'
import { type EventBody, ResourceUsage } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { clockTicks, wholeMilliseconds } from '../budget/clock.ts'
import { kernelDefaults } from '../limits.ts'
import type { Run } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'

export interface Reported {
  readonly tokens: number
  readonly cost: number
  readonly wallTicks: number
}

export function markReported(workspace: Workspace, now: Ticks): void {
  const { tokens = 0, cost = 0 } = workspace.meter ?? {}
  workspace.reported = { tokens, cost, wallTicks: clockTicks('wallTime', workspace, now) }
}

export function unreported(workspace: Workspace, now: Ticks): ResourceUsage {
  const { meter, reported } = workspace
  return {
    tokens_consumed: (meter?.tokens ?? 0) - (reported?.tokens ?? 0),
    wall_time: wholeMilliseconds(clockTicks('wallTime', workspace, now) - (reported?.wallTicks ?? 0)),
    cost: exact((meter?.cost ?? 0) - (reported?.cost ?? 0)),
  }
}

/** Sums of decimal fractions are off in their last digits, and so are their differences. */
function exact(amount: number): number {
  return Math.max(0, Number(amount.toFixed(9)))
}

const FIELDS = Object.keys(ResourceUsage.properties) as (keyof ResourceUsage)[]

export function writeDiscrepancies(
  batch: Batch,
  workspace: Workspace,
  checkpoint: CheckpointId,
  usage: ResourceUsage,
): void {
  if ((batch.context.level ?? 3) < 3) return
  const measured = unreported(workspace, batch.context.now)
  for (const field of FIELDS) {
    if (!isMeasured(batch.run, field)) continue
    const [agent, runtime] = [usage[field], measured[field]]
    if (exact(Math.abs(agent - runtime)) <= allowance(batch, field, runtime)) continue
    batch.add('resource_discrepancy', workspace, 'protocol', {
      checkpoint_id: checkpoint,
      workspace: workspace.id,
      field,
      agent_value: agent,
      runtime_value: runtime,
      timestamp: batch.at,
    })
  }
}

/** A host that never reports an amount does not measure it. Time is the runtime's own. */
function isMeasured({ measures }: Run, field: EventBody<'resource_discrepancy'>['field']): boolean {
  return field === 'wall_time' || (field === 'cost' ? measures.cost : measures.tokens)
}

function allowance(batch: Batch, field: EventBody<'resource_discrepancy'>['field'], runtime: number): number {
  const percent = batch.context.resourceTolerance ?? kernelDefaults.resourceTolerance
  const relative = (percent / 100) * runtime
  return field === 'wall_time' ? Math.max(relative, kernelDefaults.wallTimeSlack) : relative
}
