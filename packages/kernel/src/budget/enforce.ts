// What happens at the marks of a budget: the warning (W-BUDGET-04), and the failure at the limit (W-BUDGET-05, W-SIG-13).
import type { Ticks } from '@parley/core'
import type { Batch } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import type { Run } from '../run/run.ts'
import { byProtocol, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type BudgetMark, crossedMark, markAt } from './charge.ts'
import { computeAt } from './clock.ts'
import { charged, limitOf } from './meter.ts'
import { resourceReason } from './reason.ts'

/** Budgets act in `active` and `blocked` only; elsewhere a crossed mark waits. */
function acts(workspace: Workspace): boolean {
  return STATE_RULES[workspace.status].clocks.wallTime
}

/** The first workspace that crossed a mark and can be dealt with now. */
export function firstMarked(run: Run): Workspace | undefined {
  for (const workspace of run.marked) if (acts(workspace)) return workspace
  return undefined
}

/** When its compute time, or that of everything below it, reaches its next mark. */
export function computeMarkAt(run: Run, workspace: Workspace): Ticks | undefined {
  const limit = limitOf(workspace.budget, 'compute_timeout')
  if (limit === undefined || !acts(workspace)) return undefined
  const warned = workspace.meter?.warned.get('compute_timeout') === limit
  return computeAt(workspace, warned ? limit : Math.ceil((run.budgetWarning * limit) / 100))
}

export function writeMark(batch: Batch, workspace: Workspace): void {
  const mark = crossedMark(batch.run, workspace)
  if (mark) write(batch, workspace, mark)
}

export function writeComputeMark(batch: Batch, workspace: Workspace): void {
  const dimension = 'compute_timeout'
  const limit = limitOf(workspace.budget, dimension)!
  const consumed = charged(workspace, dimension, batch.context.now)
  const mark = markAt(batch.run, workspace, dimension, limit, consumed)
  if (mark) write(batch, workspace, mark)
}

function write(batch: Batch, workspace: Workspace, { type, dimension, consumed, limit }: BudgetMark): void {
  const body = { workspace_id: workspace.id, budget_dimension: dimension, consumed, limit }
  if (type === 'warning') {
    batch.add('budget_warning', workspace, 'protocol', {
      ...body,
      threshold_percent: batch.run.budgetWarning,
    })
    return
  }
  batch.add('budget_exceeded', workspace, 'protocol', body)
  writeFailure(batch, workspace, {
    ...byProtocol('budget_exceeded'),
    signalReason: resourceReason({ kind: 'budget_exceeded', dimension, consumed, limit }),
    dimension,
  })
}
