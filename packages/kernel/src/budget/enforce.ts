// The warning (W-BUDGET-04) and the failure at a limit (W-BUDGET-05), with its reason (W-SIG-13).
import { compile, type Static, type Ticks, Type } from '@parley/core'
import { BUDGET_DIMENSIONS } from '@parley/trail/events'
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

const Usage = Type.Object(
  {
    dimension: Type.Enum([...BUDGET_DIMENSIONS]),
    consumed: Type.Number({ minimum: 0 }),
    limit: Type.Number({ minimum: 0 }),
  },
  { additionalProperties: false },
)
const usages = compile(Usage, { name: 'resource reason' })
const KINDS = ['budget_warning', 'budget_exceeded'] as const

/** W-SIG-13: what was used of which limit, of an agent near a limit or of the runtime at one. */
export type ResourceReason = Readonly<Static<typeof Usage>> & { readonly kind: (typeof KINDS)[number] }

export function resourceReason({ kind, dimension, consumed, limit }: ResourceReason): string {
  return `${kind}: ${JSON.stringify({ dimension, consumed, limit })}`
}

export function parseResourceReason(reason: string): ResourceReason | undefined {
  const kind = KINDS.find(each => reason.startsWith(`${each}: `))
  if (!kind) return undefined
  try {
    const usage: unknown = JSON.parse(reason.slice(kind.length + 2))
    return usages.is(usage) ? { kind, ...usage } : undefined
  } catch {
    return undefined
  }
}
