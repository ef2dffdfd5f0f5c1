// What a workspace has used (W-BUDGET-02, -03): the clocks by state, what its host measured, bytes that the fold
// counted; and what of it counts against which limit.
import type { Ticks } from '@parley/core'
import { BUDGET_DIMENSIONS, type Budget, type BudgetDimension } from '@parley/trail/events'
import { ended, subtree, type Workspace } from '../workspace/workspace.ts'
import { type BudgetClock, clockTicks, wholeMilliseconds } from './clock.ts'

export interface Spent {
  active: number
  blocked: number
  conflicted: number
  /** As `active`, without outages of the runtime (W-REC-20). */
  compute: number
  /** The newest time in `active` that is over: recovery may find that an outage fell into it. */
  activeFrom: number
  activeTo: number
}

export function newSpent(): Spent {
  return { active: 0, blocked: 0, conflicted: 0, compute: 0, activeFrom: 0, activeTo: 0 }
}

/** Sums, but for `context`, which is the current value. Bytes are counted only where a limit asks for them. */
export interface Amounts {
  tokens: number
  cost: number
  context: number
  checkpointBytes: number
  trailBytes: number
  bandwidth: number
}

export interface Meter extends Amounts {
  /** What its descendants used; a delegate is charged with it (W-BUDGET-07). */
  readonly below: Amounts
  /** Limits whose warning was written, by dimension: the limit that it was written for (W-BUDGET-04). */
  readonly warned: Map<BudgetDimension, number>
}

const nothing = (): Amounts => ({
  tokens: 0,
  cost: 0,
  context: 0,
  checkpointBytes: 0,
  trailBytes: 0,
  bandwidth: 0,
})

export function meterOf(workspace: Workspace): Meter {
  workspace.meter ??= { ...nothing(), below: nothing(), warned: new Map() }
  return workspace.meter
}

export const CLOCK_OF = { compute_timeout: 'computeTime', wall_time_limit: 'wallTime' } as const satisfies {
  readonly [D in BudgetDimension]?: BudgetClock
}
export type TimeDimension = keyof typeof CLOCK_OF

export function limitsTime(dimension: BudgetDimension): dimension is TimeDimension {
  return dimension in CLOCK_OF
}

export const AMOUNT_OF: { readonly [D in Exclude<BudgetDimension, TimeDimension>]: keyof Amounts } = {
  token_limit: 'tokens',
  context_limit: 'context',
  checkpoint_limit: 'checkpointBytes',
  trail_limit: 'trailBytes',
  bandwidth_limit: 'bandwidth',
  cost_limit: 'cost',
}

const PART_OF = {
  token_limit: 'compute_budget',
  compute_timeout: 'compute_budget',
  wall_time_limit: 'compute_budget',
  context_limit: 'memory_budget',
  checkpoint_limit: 'storage_budget',
  trail_limit: 'storage_budget',
  bandwidth_limit: 'network_budget',
} as const satisfies { readonly [D in Exclude<BudgetDimension, 'cost_limit'>]: keyof Budget }

type Limits = { readonly [D in BudgetDimension]?: number } | undefined

export function limitOf(budget: Budget | undefined, dimension: BudgetDimension): number | undefined {
  if (dimension === 'cost_limit') return budget?.cost_limit
  return (budget?.[PART_OF[dimension]] as Limits)?.[dimension]
}

export function withLimit(budget: Budget | undefined, dimension: BudgetDimension, limit: number): Budget {
  if (dimension === 'cost_limit') return { ...budget, cost_limit: limit }
  const part = PART_OF[dimension]
  return { ...budget, [part]: { ...budget?.[part], [dimension]: limit } }
}

export function limitsOf(budget: Budget | undefined): readonly (readonly [BudgetDimension, number])[] {
  if (!budget) return NONE
  return BUDGET_DIMENSIONS.flatMap(dimension => {
    const limit = limitOf(budget, dimension)
    return limit === undefined ? [] : [[dimension, limit] as const]
  })
}

const NONE: readonly (readonly [BudgetDimension, number])[] = []

export function ownConsumed(workspace: Workspace, dimension: BudgetDimension, now: Ticks): number {
  if (limitsTime(dimension)) return wholeMilliseconds(clockTicks(CLOCK_OF[dimension], workspace, now))
  if (dimension === 'context_limit' && ended(workspace)) return 0
  return workspace.meter?.[AMOUNT_OF[dimension]] ?? 0
}

/** What counts against its limit: its own use and that of everything below it (W-BUDGET-07). */
export function charged(workspace: Workspace, dimension: BudgetDimension, now: Ticks): number {
  if (limitsTime(dimension)) return wholeMilliseconds(chargedTicks(CLOCK_OF[dimension], workspace, now))
  return ownConsumed(workspace, dimension, now) + (workspace.meter?.below[AMOUNT_OF[dimension]] ?? 0)
}

function chargedTicks(clock: BudgetClock, workspace: Workspace, now: Ticks): number {
  let ticks = 0
  for (const each of subtree(workspace)) ticks += clockTicks(clock, each, now)
  return ticks
}
