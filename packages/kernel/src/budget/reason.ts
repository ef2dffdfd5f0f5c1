// The reason of a signal about resources (W-SIG-13): a word, a colon, and what was used of which limit. A cooperative
// agent near a limit says `blocked` with `budget_warning`; the runtime at a limit says `failed` with `budget_exceeded`.
import { compile, Type } from '@parley/core'
import { BUDGET_DIMENSIONS, type BudgetDimension } from '@parley/trail/events'

export const RESOURCE_REASONS = ['budget_warning', 'budget_exceeded'] as const

export interface ResourceReason {
  readonly kind: (typeof RESOURCE_REASONS)[number]
  readonly dimension: BudgetDimension
  readonly consumed: number
  readonly limit: number
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

export function resourceReason({ kind, dimension, consumed, limit }: ResourceReason): string {
  return `${kind}: ${JSON.stringify({ dimension, consumed, limit })}`
}

export function parseResourceReason(reason: string): ResourceReason | undefined {
  const kind = RESOURCE_REASONS.find(each => reason.startsWith(`${each}: `))
  if (!kind) return undefined
  try {
    const usage: unknown = JSON.parse(reason.slice(kind.length + 2))
    return usages.is(usage) ? { kind, ...usage } : undefined
  } catch {
    return undefined
  }
}
