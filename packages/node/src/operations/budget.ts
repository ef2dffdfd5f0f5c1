// /budget: what the profile has spent today, by whom, and what it may spend (ALP-BUD-01). Budgets of runs are /budgets.
import { AgentUsageSchema, RunningTurnSchema } from '@parley/coordinator'
import { parseTimestamp, type Static, Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { Count, Nothing, orNull, query, told } from './spec.ts'

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

const most = { maxItems: nodeLimits.spenders }

export function budgetService({ spending, coordinator }: OperationDeps) {
  return {
    '/budget/today': query({
      description:
        'What the profile has spent today, by whom, what is set aside, and what it may spend; what each agent told that it used in turns that ended today, and the turns at work.',
      input: Nothing,
      output: object({
        ...TodaySchema.properties,
        agents: Type.Array(AgentUsageSchema, { ...most, description: 'The dearest first' }),
        turns: Type.Array(RunningTurnSchema, { ...most, description: 'At work now, with what they used so far' }),
      }),
      refuses: ['trail_unavailable', 'trail_damaged'],
      handle: async () => {
        const today = spending.today()
        const midnight = parseTimestamp(`${today.day}T00:00:00.000000Z`)!
        const { agents, turns } = await told(coordinator.usage.since(midnight))
        const { spenders } = nodeLimits
        return { ...today, agents: agents.slice(0, spenders), turns: turns.slice(0, spenders) }
      },
    }),
  }
}
