// The checks of the profile's key, which a node refuses to start with where it is lost, damaged or exchanged, and of
// the daily ledger: one that cannot be read stops every turn of a profile that has a daily budget.
import type { ParleyError } from '@parley/core'
import { ledgerProblem } from '@parley/node'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, problem } from './check.ts'

const CHECK = 'key'

export function key(wrong: ParleyError | undefined): Finding {
  if (!wrong) return ok(CHECK, 'matches the profile, or there is none yet')
  // The message says what is wrong, and from there on what to do about it.
  const [what, ...next] = oneLine(wrong.message).split(/(?<=\.) (?=Restore )/)
  return problem(
    CHECK,
    `${what} (${wrong.code})`,
    next.join(' ') || 'Look at the files in alp/secrets and at trail/keys.json. Until then no node starts.',
  )
}

/** Nothing where it can be read, or there is none. */
export function ledger(profile: string): readonly Finding[] {
  const damage = ledgerProblem(profile)
  return damage ? [problem('ledger', oneLine(damage.problem), damage.remedy)] : []
}
