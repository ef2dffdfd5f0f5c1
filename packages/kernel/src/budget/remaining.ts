// What a delegate may still hand on (W-BUDGET-07, W-WS-11, W-TOPO-TREE-04), and what a workspace may still use.
import type { Ticks } from '@parley/core'
import type { Budget, BudgetDimension } from '@parley/trail/events'
import { childrenOf, ended, isRoot, type Workspace } from '../workspace/workspace.ts'
import { clockTicks, timeoutLeft, wholeMilliseconds } from './clock.ts'
import { charged, limitOf, limitsOf, limitsTime, ownConsumed, withLimit } from './meter.ts'

/** What a delegate may still give to children; ended children have returned what they did not spend. */
export function remaining(delegate: Workspace, dimension: BudgetDimension, limit: number, now: Ticks): number {
  let left = limit - ownConsumed(delegate, dimension, now)
  for (const child of childrenOf(delegate)) {
    const given = ended(child) ? undefined : limitOf(child.budget, dimension)
    left -= given ?? charged(child, dimension, now)
  }
  return left
}

/** The budget asked for, and all that remains wherever only the parent has a limit; a text says why it does not fit. */
export function childBudget(
  parent: Workspace,
  asked: Budget | undefined,
  now: Ticks,
): { readonly budget: Budget | undefined } | string {
  let budget = asked
  for (const [dimension, limit] of limitsOf(parent.budget)) {
    const left = remaining(parent, dimension, limit, now)
    const wanted = limitOf(asked, dimension)
    if (wanted !== undefined) {
      if (wanted > left) return tooMuch(parent, dimension, wanted, left)
      continue
    }
    const given = limitsTime(dimension) ? Math.floor(left) : left
    if (given <= 0) return tooMuch(parent, dimension, 'anything', left)
    budget = withLimit(budget, dimension, given)
  }
  return { budget }
}

/** Why a workspace with the limits that it has does not fit below another parent (W-WS-13); undefined if it does. */
export function misfit(workspace: Workspace, parent: Workspace, now: Ticks): string | undefined {
  for (const [dimension, limit] of limitsOf(parent.budget)) {
    const wanted = limitOf(workspace.budget, dimension)
    if (wanted === undefined) return `${workspace.id} has no ${dimension}, but ${parent.id} has one.`
    const left = remaining(parent, dimension, limit, now)
    if (wanted > left) return tooMuch(parent, dimension, wanted, left)
  }
  return undefined
}

export function tooHigh(
  workspace: Workspace,
  dimension: BudgetDimension,
  increase: number,
  now: Ticks,
): string | undefined {
  const { parent } = workspace
  const limit = parent ? limitOf(parent.budget, dimension) : undefined
  if (!parent || limit === undefined) return undefined
  const left = remaining(parent, dimension, limit, now)
  return increase > left ? tooMuch(parent, dimension, increase, left) : undefined
}

function tooMuch(parent: Workspace, dimension: BudgetDimension, wanted: number | string, left: number): string {
  return `${parent.id} has ${Math.max(0, left)} left of its ${dimension}, too little for ${wanted}.`
}

/** What is left in each dimension that the workspace or a delegate above limits, and until the nearest timeout. */
export type BudgetLeft = { readonly timeout: number | null } & {
  readonly [D in BudgetDimension]?: number
}

export function budgetLeft(workspace: Workspace, now: Ticks): BudgetLeft {
  let timeout: number | null = null
  const left: { [D in BudgetDimension]?: number } = {}
  for (let each: Workspace | null = workspace; each !== null && !isRoot(each); each = each.parent) {
    const time = timeoutLeft(each, now)
    if (time !== null) timeout = Math.min(timeout ?? time, time)
    for (const [dimension, limit] of limitsOf(each.budget)) {
      const rest = Math.max(0, limit - charged(each, dimension, now))
      left[dimension] = Math.min(left[dimension] ?? rest, rest)
    }
  }
  return { timeout, ...left }
}

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

type LimitsView = { readonly [D in BudgetDimension]?: LimitView }

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
