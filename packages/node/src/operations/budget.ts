// /budget: what the profile has spent today, by whom, and what it may spend (ALP-BUD-01). Budgets of runs are /budgets.
import { type Static, Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { Count, Nothing, orNull, query } from './spec.ts'

const Usd = Type.Number({ minimum: 0 })

const TodaySchema = object({
  day: Type.String({ description: 'The date in UTC; the next one begins with nothing spent' }),
  cap: orNull(Usd, 'US dollars; null: no cap'),
  used_usd: Usd,
  used_tokens: Count,
  reserved_usd: Type.Number({ minimum: 0, description: 'Set aside for turns that are at work' }),
  by: Type.Array(
    object({
      name: Type.String({ description: 'A peer’s id, or __interactive__ for the profile’s own turns' }),
      usd: Usd,
      tokens: Count,
    }),
    { maxItems: nodeLimits.spenders, description: 'The dearest first' },
  ),
  problem: Type.Optional(Type.String({ description: 'Why the ledger cannot be read; then the amounts say nothing' })),
})

export type SpentToday = Static<typeof TodaySchema>

export function budgetService({ spending }: OperationDeps) {
  return {
    '/budget/today': query({
      description: 'What the profile has spent today, by whom, what is set aside, and what it may spend.',
      input: Nothing,
      output: TodaySchema,
      handle: () => spending.today(),
    }),
  }
}
