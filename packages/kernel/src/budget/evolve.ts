// What budget entries do to the state.
import { parseTimestamp, type Ticks, ticksPerMillisecond } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { Folds } from '../fold.ts'
import { knownWorkspace, type Run } from '../run/run.ts'
import { charge, refreshMark } from './charge.ts'
import { excludeOutage } from './clock.ts'
import { AMOUNT_OF, charged, limitsTime, meterOf, withLimit } from './meter.ts'

export const budgetFolds: Folds = {
  budget_warning(run, body) {
    atLeast(run, body)
    const workspace = knownWorkspace(run, body.workspace_id)
    meterOf(workspace).warned.set(body.budget_dimension, body.limit)
    refreshMark(run, workspace)
  },

  budget_exceeded(run, body) {
    atLeast(run, body)
  },

  budget_modified(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    workspace.budget = withLimit(workspace.budget, body.budget_dimension, body.new_limit)
    refreshMark(run, workspace)
  },

  recovery_completed(run, body, entry) {
    if (body.content_proof !== undefined) run.contentProven = true
    const to = parseTimestamp(entry.timestamp)!
    const from = (to - body.downtime * ticksPerMillisecond) as Ticks
    for (const workspace of run.workspaces.values()) excludeOutage(workspace, from, to)
  },
}

/** W-REC-15, -25: what an entry says was consumed is the least that it can have been, whatever else is on record. */
function atLeast(run: Run, body: EventBody<'budget_warning' | 'budget_exceeded'>): void {
  const { budget_dimension: dimension, consumed } = body
  if (limitsTime(dimension)) return
  const workspace = knownWorkspace(run, body.workspace_id)
  const missing = consumed - charged(workspace, dimension, 0 as Ticks)
  if (missing > 0) charge(run, workspace, AMOUNT_OF[dimension], missing)
}
