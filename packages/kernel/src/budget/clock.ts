// Clocks computed from the timestamps of transitions (W-LIFE-04, W-BUDGET-01, -03, W-REC-20), and when each runs out.
// Internally ticks; durations are whole milliseconds.
import { deadline, durationMs, type Ticks, ticksPerMillisecond } from '@parley/core'
import { STATE_RULES } from '../lifecycle/states.ts'
import { subtree, type Workspace } from '../workspace/workspace.ts'

export function wholeMilliseconds(ticks: number): number {
  return durationMs(0 as Ticks, ticks as Ticks)
}

function timeoutTicks({ status, since, spent }: Workspace, now: Ticks): number {
  const before = spent.active + spent.blocked + spent.conflicted
  return STATE_RULES[status].clocks.timeout ? before + (now - since) : before
}

/** Compute time runs in `active`, wall time in `active` and `blocked` (W-BUDGET-02). */
export type BudgetClock = 'computeTime' | 'wallTime'

function before(clock: BudgetClock, { spent }: Workspace): number {
  return clock === 'computeTime' ? spent.compute : spent.active + spent.blocked
}

export function clockTicks(clock: BudgetClock, workspace: Workspace, now: Ticks): number {
  const { status, since } = workspace
  return before(clock, workspace) + (STATE_RULES[status].clocks[clock] ? now - since : 0)
}

/** When its timeout acts; while it is idle that is the watchdog's time. */
export function timeoutAt(workspace: Workspace): Ticks | undefined {
  const { timeout, status, since, spent } = workspace
  if (timeout === null) return undefined
  if (status === 'idle') return deadline(workspace.created, timeout)
  if (!STATE_RULES[status].clocks.timeout) return undefined
  return (deadline(since, timeout) - spent.active - spent.blocked - spent.conflicted) as Ticks
}

export function timeoutLeft(workspace: Workspace, now: Ticks): number | null {
  const { timeout, status, created } = workspace
  if (timeout === null) return null
  const ticks = status === 'idle' ? now - created : timeoutTicks(workspace, now)
  return Math.max(0, wholeMilliseconds(timeout * ticksPerMillisecond - ticks))
}

/** When its silence is worth a warning; each warning starts the next interval (W-BUDGET-08, A-63). */
export function livenessAt({ livenessInterval, status, lastEntry }: Workspace): Ticks | undefined {
  if (livenessInterval === null || !STATE_RULES[status].clocks.liveness) return undefined
  return deadline(lastEntry, livenessInterval)
}

/** When the clocks of a subtree add up to this; undefined while none runs and the sum is not reached. */
export function clockAt(clock: BudgetClock, workspace: Workspace, milliseconds: number): Ticks | undefined {
  const from = workspace.created
  let left = milliseconds * ticksPerMillisecond
  let running = 0
  for (const each of subtree(workspace)) {
    left -= before(clock, each)
    if (!STATE_RULES[each.status].clocks[clock]) continue
    running++
    // Counted from one moment for all, so that the numbers stay small enough to be exact.
    left += each.since - from
  }
  if (running > 0) return (from + Math.ceil(left / running)) as Ticks
  return left <= 0 ? from : undefined
}

/** A workspace leaves a state; to be called before the state changes. */
export function passTime(workspace: Workspace, now: Ticks): void {
  const { status, since, spent } = workspace
  if (status === 'active') {
    spent.active += now - since
    spent.compute += now - since
    spent.activeFrom = since
    spent.activeTo = now
  } else if (status === 'blocked' || status === 'conflicted') spent[status] += now - since
  workspace.since = now
}

/** W-REC-20: while the runtime was away nobody computed; every other clock ran on. */
export function excludeOutage(workspace: Workspace, from: Ticks, to: Ticks): void {
  const { status, since, spent } = workspace
  if (status === 'active') spent.compute -= to - Math.max(from, since)
  // Recovery itself may have moved it on, with the outage in the time that was closed then.
  if (spent.activeTo > from) spent.compute -= spent.activeTo - Math.max(from, spent.activeFrom)
}
