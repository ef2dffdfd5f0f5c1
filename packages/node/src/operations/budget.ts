// /budget: what the profile has spent today, by whom, and what it may spend (ALP-BUD-01). Budgets of runs are /budgets.
import { operation } from '@parley/call'
import { Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import type { Spending } from '../spending/spending.ts'
import { Count, closed, forOwner, Nothing } from './spec.ts'

export interface BudgetDeps {
  readonly spending: Pick<Spending, 'today'>
}

const Usd = Type.Number({ minimum: 0 })

const TodaySchema = Type.Object(
  {
    day: Type.String({ description: 'The date in UTC; the next one begins with nothing spent' }),
    cap: Type.Union([Usd, Type.Null()], { description: 'US dollars; null: no cap' }),
    used_usd: Usd,
    used_tokens: Count,
    reserved_usd: Type.Number({ minimum: 0, description: 'Set aside for turns that are at work' }),
    by: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'A peer’s id, or __interactive__ for the profile’s own turns' }),
          usd: Usd,
          tokens: Count,
        },
        closed,
      ),
      { maxItems: nodeLimits.spenders, description: 'The dearest first' },
    ),
    problem: Type.Optional(Type.String({ description: 'Why the ledger cannot be read; then the amounts say nothing' })),
  },
  closed,
)

export function budgetService({ spending }: BudgetDeps) {
  return {
    '/budget/today': operation(
      {
        name: '/budget/today',
        opType: 'query',
        description: 'What the profile has spent today, by whom, what is set aside, and what it may spend.',
        inputSchema: Nothing,
        outputSchema: TodaySchema,
        accessControl: forOwner,
      },
      () => {
        const today = spending.today()
        return { ...today, by: [...today.by] }
      },
    ),
  }
}
