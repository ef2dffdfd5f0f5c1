// The meter and the limits as readers see them (W-WS-02 component 6).
import type { Ticks } from '@parley/core'
import type { BudgetDimension } from '@parley/trail/events'
import type { Workspace } from '../workspace/workspace.ts'
import { clockTicks, wholeMilliseconds } from './clock.ts'
import { charged, limitsOf } from './meter.ts'

/** What it used itself; times in milliseconds. Bytes are counted only where a limit asks for them. */
export type MeterView = ReturnType<typeof viewMeter>

export function viewMeter(workspace: Workspace, now: Ticks) {
  const { meter } = workspace
  return Object.freeze({
    tokens: meter?.tokens ?? 0,
    compute_time: wholeMilliseconds(clockTicks('computeTime', workspace, now)),
    wall_time: wholeMilliseconds(clockTicks('wallTime', workspace, now)),
    context: meter?.context ?? 0,
    checkpoint_bytes: meter?.checkpointBytes ?? 0,
    trail_bytes: meter?.trailBytes ?? 0,
    bandwidth: meter?.bandwidth ?? 0,
    cost: meter?.cost ?? 0,
  })
}

/** A limit, and what counts against it: a delegate pays for everything below it (W-BUDGET-07). */
export interface LimitView {
  readonly limit: number
  readonly consumed: number
}

export type LimitsView = { readonly [D in BudgetDimension]?: LimitView }

export function viewLimits(workspace: Workspace, now: Ticks): LimitsView {
  const limits = limitsOf(workspace.budget).map(([dimension, limit]) => {
    const view: LimitView = Object.freeze({ limit, consumed: charged(workspace, dimension, now) })
    return [dimension, view] as const
  })
  return Object.freeze(Object.fromEntries(limits))
}

export type GroupUsage = ReturnType<typeof usageOf>

export function usageOf(members: readonly Workspace[], now: Ticks) {
  const sum = (amount: (meter: MeterView) => number) =>
    members.reduce((total, member) => total + amount(viewMeter(member, now)), 0)
  return Object.freeze({
    members: members.length,
    tokens: sum(meter => meter.tokens),
    cost: sum(meter => meter.cost),
    compute_time: sum(meter => meter.compute_time),
    wall_time: sum(meter => meter.wall_time),
    warned: members.filter(member => (member.meter?.warned.size ?? 0) > 0).length,
  })
}
