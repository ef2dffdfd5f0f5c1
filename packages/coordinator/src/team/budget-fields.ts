// The budget of a task or a run in a team file, and the protocol's limits that it stands for (W-BUDGET-02).
import { durationPattern, parseBytes, parseDuration, type Static, sizePattern, Type } from '@parley/core'
import type { Budget, BudgetDimension } from '@parley/trail/events'
import { patterned, record, whole } from './fields.ts'

const most = Number.MAX_SAFE_INTEGER

export const BudgetSchema = record('Budget', 'What may be used. What is not named has no limit.', {
  tokens: whole(most, 'Tokens', 'Tokens that agents read and write.'),
  cost: Type.Optional(
    Type.Number({
      minimum: 0.000_001,
      maximum: 1_000_000_000,
      title: 'Cost',
      description: 'US dollars, as far as agents tell what they cost.',
    }),
  ),
  working_time: patterned(durationPattern, 'Working time', 'Time in which agents are at work.', ['30m']),
  context: whole(most, 'Context', 'Tokens that an agent has in view at once.'),
  checkpoints: patterned(sizePattern, 'Checkpoints', 'Size of what is kept of the work.'),
  trail: patterned(sizePattern, 'Trail', 'Size of what is on record about it.'),
  mail: patterned(sizePattern, 'Mail', 'Size of the messages that it sends.'),
})
type BudgetFile = Static<typeof BudgetSchema>

/** Names of a team file's budget, and the protocol's. */
export const BUDGET_NAMES = {
  tokens: 'token_limit',
  cost: 'cost_limit',
  working_time: 'compute_timeout',
  context: 'context_limit',
  checkpoints: 'checkpoint_limit',
  trail: 'trail_limit',
  mail: 'bandwidth_limit',
} as const satisfies Record<keyof BudgetFile, BudgetDimension>

/** Limits by dimension; times in milliseconds, sizes in bytes. */
export type Limits = { readonly [Name in BudgetDimension]?: number }

export function limitsOf(budget: BudgetFile): Limits {
  const limits = Object.entries(BUDGET_NAMES).map(([name, dimension]) => {
    const said = budget[name as keyof BudgetFile]
    if (typeof said !== 'string') return [dimension, said] as const
    return [dimension, name === 'working_time' ? parseDuration(said) : parseBytes(said)] as const
  })
  return Object.fromEntries(limits.filter(([, limit]) => limit !== undefined))
}

/** Where the dimensions stand in the budget of a workspace; the cost stands there by itself. */
const GROUPS = {
  compute_budget: ['token_limit', 'compute_timeout'],
  memory_budget: ['context_limit'],
  storage_budget: ['checkpoint_limit', 'trail_limit'],
  network_budget: ['bandwidth_limit'],
} as const satisfies { readonly [Group in keyof Budget]?: readonly BudgetDimension[] }

/** The same as a workspace's budget; undefined where nothing is limited. */
export function workspaceBudget(limits: Limits): Budget | undefined {
  const given = (names: readonly BudgetDimension[]) =>
    Object.fromEntries(names.filter(name => limits[name] !== undefined).map(name => [name, limits[name]]))
  const groups = Object.entries(GROUPS).map(([group, names]) => [group, given(names)] as const)
  const limited = groups.filter(([, members]) => Object.keys(members).length > 0)
  const budget = { ...Object.fromEntries(limited), ...given(['cost_limit']) } as Budget
  return Object.keys(budget).length > 0 ? budget : undefined
}
