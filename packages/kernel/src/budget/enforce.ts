// The warning (W-BUDGET-04) and the failure at a limit (W-BUDGET-05), with its reason (W-SIG-13).
import type { Ticks } from '@parley/core'
import type { Batch } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import type { Run } from '../run/run.ts'
import { byProtocol, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type BudgetMark, crossedMark, markAt } from './charge.ts'
import { clockAt } from './clock.ts'
import { CLOCK_OF, charged, limitOf, type TimeDimension } from './meter.ts'

function acts(workspace: Workspace): boolean {
  return STATE_RULES[workspace.status].clocks.wallTime
}

export function firstMarked(run: Run): Workspace | undefined {
  for (const workspace of run.marked) if (acts(workspace)) return workspace
  return undefined
}

export function timeMarkAt(run: Run, workspace: Workspace, dimension: TimeDimension): Ticks | undefined {
  const limit = limitOf(workspace.budget, dimension)
  if (limit === undefined || !acts(workspace)) return undefined
  const warned = workspace.meter?.warned.get(dimension) === limit
  const mark = warned ? limit : Math.ceil((run.budgetWarning * limit) / 100)
  return clockAt(CLOCK_OF[dimension], workspace, mark)
}

export function writeMark(batch: Batch, workspace: Workspace): void {
  const mark = crossedMark(batch.run, workspace)
  if (mark) write(batch, workspace, mark)
}

export function writeTimeMark(batch: Batch, workspace: Workspace, dimension: TimeDimension): void {
  const limit = limitOf(workspace.budget, dimension)!
  const consumed = charged(workspace, dimension, batch.context.now)
  const mark = markAt(batch.run, workspace, dimension, limit, consumed)
  if (mark) write(batch, workspace, mark)
}

function write(batch: Batch, workspace: Workspace, { type, dimension, consumed, limit }: BudgetMark): void {
  const body = { workspace_id: workspace.id, budget_dimension: dimension, consumed, limit }
  if (type === 'warning') {
    batch.add('budget_warning', workspace, 'protocol', { ...body, threshold_percent: batch.run.budgetWarning })
    return
  }
  batch.add('budget_exceeded', workspace, 'protocol', body)
  writeFailure(batch, workspace, {
    ...byProtocol('budget_exceeded'),
    signalReason: `budget_exceeded: ${JSON.stringify({ dimension, consumed, limit })}`,
    dimension,
  })
}
