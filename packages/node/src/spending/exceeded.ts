// The refusals when no more may be spent today (ALP-BUD-03).
import { type Exhausted, formatTimestamp, ParleyError, type Ticks, ticksPerMillisecond } from '@parley/core'

const DAY = 86_400_000 * ticksPerMillisecond

/** The cap is reached. Its code tells the coordinator that no other attempt helps. */
export function budgetExceeded({ cap, used }: Exhausted, now: Ticks): ParleyError {
  const { resets, when } = resetOf(now)
  return new ParleyError(
    'budget_exceeded',
    `Daily budget: ${dollars(used)} of ${dollars(cap)} are used up. It begins anew at ${when}. If more may be spent today, raise budget.daily_usd (a change of config.yaml applies at once; \`parley config\` says where it is set) and start the run again. \`parley budget\` shows who spent it.`,
    { details: { cap_kind: 'usd', cap, used, resets } },
  )
}

/** The cap is not reached, but what is left was set aside for turns that are still at work: later there may be some. */
export function budgetSetAside({ cap, used }: Exhausted, now: Ticks): ParleyError {
  const { resets, when } = resetOf(now)
  return new ParleyError(
    'budget_exceeded',
    `Daily budget: what is left of ${dollars(cap)} is set aside for turns that are still at work. Start the run again when they are done, raise budget.daily_usd, or wait until ${when}.`,
    { retryable: true, details: { cap_kind: 'usd', cap, used, resets } },
  )
}

/** The ledger cannot be written: nobody would know what was spent. */
export function ledgerUnavailable(cause: unknown): ParleyError {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new ParleyError(
    'ledger_unavailable',
    `The daily ledger (logs/ledger.json of the profile) cannot be written, so no turn is taken: ${message}. Fix that, and start the run again.`,
    { cause },
  )
}

/** ALP-BUD-03: midnight, UTC. */
function resetOf(now: Ticks): { readonly resets: string; readonly when: string } {
  const midnight = (Math.floor(now / DAY) + 1) * DAY
  const minutes = Math.ceil((midnight - now) / (60_000 * ticksPerMillisecond))
  const left = `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`
  return { resets: formatTimestamp(midnight as Ticks), when: `00:00 UTC, in ${left}` }
}

/** Whole cents; more digits where a cent is too coarse to tell used from cap. */
function dollars(usd: number): string {
  return `$${usd >= 1 || usd === 0 ? usd.toFixed(2) : usd.toPrecision(2)}`
}
