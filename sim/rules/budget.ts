// Time and budgets: nothing runs out before its time, warnings come once, a limit that is reached ends the work.

import { consumed, limitOf, timeoutAt, wallTime, works } from '../checks/overdue.ts'
import type { RunModel } from '../model/model.ts'
import { ticksOf } from '../model/records.ts'
import { has, type Invariant } from './rule.ts'

export const budgetRules: readonly Invariant[] = [
  {
    name: 'W-BUDGET-01 W-INT-14 no workspace runs out of time before its time',
    on: {
      workspace_state_changed: (run, body, entry) => {
        if (body.trigger !== 'timeout' && body.trigger !== 'conflict_timeout') return undefined
        const at = timeoutAt(run.workspace(body.workspace_id))
        return at !== undefined && ticksOf(entry) >= at ? undefined : `${body.workspace_id} ${body.trigger}`
      },
    },
  },
  {
    name: 'W-BUDGET-04 one warning for each limit, at its mark',
    on: {
      budget_warning: (run, body) => {
        const workspace = run.workspace(body.workspace_id)
        const { budget_dimension: dimension, limit } = body
        if (!works(workspace)) return `${workspace.id} is ${workspace.status}`
        if (limitOf(workspace, dimension) !== limit) return `the ${dimension} is not ${limit}`
        if (workspace.warned.has(`${dimension} ${limit}`)) return `a second one for ${dimension} ${limit}`
        return body.consumed * 100 >= run.budgetWarning * limit && body.threshold_percent === run.budgetWarning
          ? undefined
          : `${body.consumed} of ${limit}`
      },
    },
  },
  {
    name: 'W-BUDGET-05 W-SIG-13 a limit that is reached ends the work, in one batch and after its warning',
    on: {
      budget_exceeded: (run, body, _entry, batch) => {
        const workspace = run.workspace(body.workspace_id)
        const { budget_dimension: dimension, limit } = body
        if (!works(workspace)) return `${workspace.id} is ${workspace.status}`
        if (body.consumed < limit || limitOf(workspace, dimension) !== limit) return `${body.consumed} of ${limit}`
        if (!workspace.warned.has(`${dimension} ${limit}`)) return `nobody was warned of ${dimension}`
        const failed = has(
          batch,
          'workspace_state_changed',
          each =>
            each.workspace_id === workspace.id &&
            each.trigger === 'budget_exceeded' &&
            each.budget_dimension === dimension,
        )
        return failed ? undefined : `${workspace.id} goes on`
      },
      workspace_state_changed: (_run, body, _entry, batch) => {
        if (body.trigger !== 'budget_exceeded') return undefined
        const told = has(batch, 'budget_exceeded', each => each.workspace_id === body.workspace_id)
        return told ? undefined : `${body.workspace_id} fails without a record of the limit`
      },
    },
  },
  {
    name: 'W-BUDGET-03 W-BUDGET-07 what a mark says was used is what was reported, below it too',
    on: {
      budget_warning: (run, body) => misreported(run, body),
      budget_exceeded: (run, body) => misreported(run, body),
    },
  },
  {
    name: 'W-BUDGET-02 wall time runs in active and blocked, and in no other state',
    on: {
      budget_warning: (run, body, entry) => wrongTime(run, body, ticksOf(entry)),
      budget_exceeded: (run, body, entry) => wrongTime(run, body, ticksOf(entry)),
    },
  },
  {
    name: 'W-BUDGET-06 a limit is only raised, and only while there is work',
    on: {
      budget_modified: (run, body) => {
        const workspace = run.workspace(body.workspace_id)
        if (!['idle', 'active', 'blocked'].includes(workspace.status)) return `${workspace.id} is ${workspace.status}`
        const old = limitOf(workspace, body.budget_dimension)
        return old === body.old_limit && body.new_limit > old
          ? undefined
          : `${body.old_limit} to ${body.new_limit}, it was ${old}`
      },
    },
  },
  {
    name: 'W-BUDGET-08 a warning of silence comes after a whole interval without an entry',
    on: {
      liveness_warning: (run, body, entry) => {
        const workspace = run.workspace(body.workspace_id)
        const { livenessInterval: interval, lastEntry } = workspace
        if (interval === null || body.interval !== interval) return `an interval of ${body.interval}`
        if (!works(workspace)) return `${workspace.id} is ${workspace.status}`
        if (body.last_activity_timestamp !== workspace.lastActivity)
          return `${workspace.id} was last active at ${workspace.lastActivity}`
        return ticksOf(entry) >= lastEntry + interval * 1000 ? undefined : `${workspace.id} was not silent`
      },
    },
  },
]

type Mark = {
  readonly workspace_id: string
  readonly budget_dimension: string
  readonly consumed: number
}

/** The entry's own tick comes a little after the decision. */
function wrongTime(run: RunModel, body: Mark, now: number): string | undefined {
  if (body.budget_dimension !== 'wall_time_limit') return undefined
  const used = wallTime(run, run.workspace(body.workspace_id), now) / 1000
  return Math.abs(used - body.consumed) < 2
    ? undefined
    : `${body.workspace_id} was at work or blocked for ${used} ms, the entry says ${body.consumed}`
}

function misreported(run: RunModel, body: Mark): string | undefined {
  const used = consumed(run, run.workspace(body.workspace_id), body.budget_dimension)
  return used === undefined || Math.abs(used - body.consumed) < 1e-6
    ? undefined
    : `${body.workspace_id} used ${used} of ${body.budget_dimension}, the entry says ${body.consumed}`
}
