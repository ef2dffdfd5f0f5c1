// What must have happened by now (W-CLOCK-05, W-BUDGET-01, -05, -08, W-HWY-09, -22): once everything has come to rest,
// nothing whose time is over may still wait. The times are computed a second time, from entries alone.
import type { WorkspaceState } from '@parley/trail/events'
import type { Command } from '../../packages/kernel/src/command.ts'
import type { RunModel } from '../model/model.ts'
import type { GateModel, Measured, WorkspaceModel } from '../model/records.ts'
import { salvageTarget } from '../model/salvage.ts'
import { graceEnd } from '../model/succession.ts'
import type { Problem } from '../rules/rule.ts'

const TICKS = 1000

export function countsTowardsTimeout(status: WorkspaceState): boolean {
  return status === 'active' || status === 'blocked' || status === 'conflicted'
}

export function works({ status }: WorkspaceModel): boolean {
  return status === 'active' || status === 'blocked'
}

/** When the time of a gate is over, or the coordinator's. */
export function gateDeadline({ timeout, opened, handedOver }: GateModel): number | undefined {
  return timeout === null ? undefined : (handedOver ?? opened) + timeout * TICKS
}

/** When a workspace runs out of time; in `idle` that is the watchdog's. */
export function timeoutAt({ timeout, status, created, since, spent }: WorkspaceModel): number | undefined {
  if (timeout === null) return undefined
  if (status === 'idle') return created + timeout * TICKS
  return countsTowardsTimeout(status) ? since + timeout * TICKS - spent : undefined
}

export function overdue(run: RunModel, now: number): Problem {
  for (const gate of run.gates.values())
    if ((gateDeadline(gate) ?? Infinity) <= now) return `the gate ${gate.id} waits after its time`
  const timeout = run.highway?.escalation.timeout ?? null
  for (const { signal, received, answer } of run.escalations.values())
    if (timeout !== null && answer === null && received + timeout * TICKS <= now)
      return `the escalation ${signal} waits after its time`
  for (const workspace of run.workspaces.values()) {
    if ((timeoutAt(workspace) ?? Infinity) <= now) return `${workspace.id} is ${workspace.status} after its timeout`
    if ((graceEnd(workspace) ?? Infinity) <= now) return `${workspace.id} is ${workspace.status} after its grace`
    const { livenessInterval, lastEntry } = workspace
    if (livenessInterval !== null && works(workspace) && lastEntry + livenessInterval * TICKS <= now)
      return `nobody was warned of the silence of ${workspace.id}`
    const spent = works(workspace) ? overspent(run, workspace, now) : undefined
    if (spent !== undefined) return spent
  }
  return undefined
}

const MEASURED: readonly (readonly [Measured, 'tokens' | 'cost' | 'context'])[] = [
  ['token_limit', 'tokens'],
  ['cost_limit', 'cost'],
  ['context_limit', 'context'],
]

export function limitOf({ budget }: Pick<WorkspaceModel, 'budget'>, dimension: string): number | undefined {
  switch (dimension) {
    case 'token_limit':
    case 'compute_timeout':
    case 'wall_time_limit':
      return budget?.compute_budget?.[dimension]
    case 'context_limit':
      return budget?.memory_budget?.context_limit
    case 'checkpoint_limit':
    case 'trail_limit':
      return budget?.storage_budget?.[dimension]
    case 'bandwidth_limit':
      return budget?.network_budget?.bandwidth_limit
    default:
      return budget?.cost_limit
  }
}

/**
 * What the host reported of a workspace and everything below it (W-BUDGET-07); undefined for what is counted otherwise.
 */
export function consumed(run: RunModel, workspace: WorkspaceModel, dimension: string): number | undefined {
  const what = MEASURED.find(([name]) => name === dimension)?.[1]
  if (!what) return undefined
  let sum = 0
  for (const each of run.subtree(workspace)) {
    const gone = what === 'context' && (each.status === 'closed' || each.status === 'failed')
    sum += gone ? 0 : each.usage[what]
  }
  return sum
}

/** Ticks in `active` and `blocked`, of a workspace and everything below it (W-BUDGET-02, -07). */
export function wallTime(run: RunModel, workspace: WorkspaceModel, now: number): number {
  let sum = 0
  for (const each of run.subtree(workspace)) sum += each.wall + (works(each) ? now - each.since : 0)
  return sum
}

function overspent(run: RunModel, workspace: WorkspaceModel, now: number): Problem {
  if (!workspace.budget) return undefined
  const wallLimit = limitOf(workspace, 'wall_time_limit') ?? Infinity
  if (wallTime(run, workspace, now) >= wallLimit * TICKS)
    return `${workspace.id} works on after its wall time of ${wallLimit}`
  for (const [dimension] of MEASURED) {
    const limit = limitOf(workspace, dimension)
    const used = consumed(run, workspace, dimension) ?? 0
    if (limit === undefined) continue
    if (used >= limit + SLACK) return `${workspace.id} works on with ${used} of its ${dimension} ${limit}`
    if (used * 100 >= run.budgetWarning * limit + SLACK && !workspace.warned.has(`${dimension} ${limit}`))
      return `nobody was warned that ${workspace.id} used ${used} of its ${dimension} ${limit}`
  }
  return undefined
}

/** Sums of fractions may differ by their order. */
const SLACK = 1e-6

/** W-INT-08: only an integration waits, and only while another one holds its target. */
export function needlessWait(run: RunModel, command: Command): Problem {
  const named = 'source' in command ? command.source : command.type === 'emit' ? command.draft.ref : undefined
  const source = String(named)
  const target = run.workspaces.get(salvageTarget(run, source) ?? '')
  const held = target?.merging && target.merging !== source
  return held ? undefined : `${command.type} of ${source} waits`
}
