// Checks of the profile's key and of its daily ledger. An unreadable ledger stops every turn of a profile with a budget.
import type { ParleyError } from '@parley/core'
import { ledgerProblem } from '@parley/node'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, problem } from './check.ts'

const CHECK = 'key'

export function key(wrong: ParleyError | undefined): Finding {
  if (!wrong) return ok(CHECK, 'matches the profile, or there is none yet')
  const [what, ...next] = oneLine(wrong.message).split(/(?<=\.) (?=Restore )/)
  return problem(
    CHECK,
    `${what} (${wrong.code})`,
    next.join(' ') || 'Look at the files in alp/secrets and at trail/keys.json. Until then no node starts.',
  )
}

export function ledger(profile: string): readonly Finding[] {
  const damage = ledgerProblem(profile)
  return damage ? [problem('ledger', oneLine(damage.problem), damage.remedy)] : []
}
