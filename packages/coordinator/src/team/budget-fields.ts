// The budget of a task or of a whole run in a team file, and the limits of the protocol that it stands for
// (W-BUDGET-02).
import { durationPattern, parseBytes, parseDuration, sizePattern } from '@parley/agents'
import { type Static, Type } from '@parley/core'
import type { Budget, BudgetDimension } from '@parley/trail/events'

const most = Number.MAX_SAFE_INTEGER

export const BudgetSchema = Type.Object(
  {
    tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: most,
        title: 'Tokens',
        description: 'Tokens that agents read and write.',
      }),
    ),
    cost: Type.Optional(
      Type.Number({
        minimum: 0.000_001,
        maximum: 1_000_000_000,
        title: 'Cost',
        description: 'US dollars, as far as agents tell what they cost.',
      }),
    ),
    working_time: Type.Optional(
      Type.String({
        pattern: durationPattern,
        title: 'Working time',
        description: 'Time in which agents are at work.',
        examples: ['30m'],
      }),
    ),
    context: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: most,
        title: 'Context',
        description: 'Tokens that an agent has in view at once.',
      }),
    ),
    checkpoints: Type.Optional(
      Type.String({
        pattern: sizePattern,
        title: 'Checkpoints',
        description: 'Size of what is kept of the work.',
      }),
    ),
    trail: Type.Optional(
      Type.String({
        pattern: sizePattern,
        title: 'Trail',
        description: 'Size of what is on record about it.',
      }),
    ),
    mail: Type.Optional(
      Type.String({
        pattern: sizePattern,
        title: 'Mail',
        description: 'Size of the messages that it sends.',
      }),
    ),
  },
  {
    additionalProperties: false,
    title: 'Budget',
    description: 'What may be used. What is not named has no limit.',
  },
)
export type BudgetFile = Static<typeof BudgetSchema>

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
  const { tokens, cost, working_time, context, checkpoints, trail, mail } = budget
  const limits: [BudgetDimension, number | undefined][] = [
    ['token_limit', tokens],
    ['cost_limit', cost],
    ['compute_timeout', working_time === undefined ? undefined : parseDuration(working_time)],
    ['context_limit', context],
    ['checkpoint_limit', checkpoints === undefined ? undefined : parseBytes(checkpoints)],
    ['trail_limit', trail === undefined ? undefined : parseBytes(trail)],
    ['bandwidth_limit', mail === undefined ? undefined : parseBytes(mail)],
  ]
  return Object.fromEntries(limits.filter(([, limit]) => limit !== undefined))
}

/** The same as a workspace's budget; undefined where nothing is limited. */
export function workspaceBudget(limits: Limits): Budget | undefined {
  const { token_limit, compute_timeout, context_limit, checkpoint_limit, trail_limit, bandwidth_limit, cost_limit } =
    limits
  const compute = { ...given({ token_limit }), ...given({ compute_timeout }) }
  const storage = { ...given({ checkpoint_limit }), ...given({ trail_limit }) }
  const budget = {
    ...(Object.keys(compute).length > 0 && { compute_budget: compute }),
    ...(context_limit !== undefined && { memory_budget: { context_limit } }),
    ...(Object.keys(storage).length > 0 && { storage_budget: storage }),
    ...(bandwidth_limit !== undefined && { network_budget: { bandwidth_limit } }),
    ...given({ cost_limit }),
  }
  return Object.keys(budget).length > 0 ? budget : undefined
}

function given<T extends Readonly<Record<string, number | undefined>>>(one: T): { [Key in keyof T]?: number } {
  return Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: number
  }
}
