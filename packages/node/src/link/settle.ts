// What asks had set aside when a node died (ALP-BUD-01): settled from what their runs have on record, before anybody is
// answered again.
import type { Coordination } from '@parley/coordinator'
import { type Clock, type Grant, INTERACTIVE, type RunId, type Ticks, ticksPerSecond, type Usage } from '@parley/core'
import { ALP_ORIGIN } from '@parley/link'
import type { NodeLog } from '../log/log.ts'

/** The ledger forgets what is older by itself. */
const DAY_TICKS = 24 * 60 * 60 * ticksPerSecond

/**
 * Throws what keeps the runs from being read; then what was set aside counts for a day. Runs are only looked through
 * where something is open: there may be thousands.
 */
export async function settleAsks(
  orphans: readonly Grant[],
  records: Pick<Coordination['records'], 'find' | 'account'>,
  clock: Clock,
  log: Pick<NodeLog, 'info'>,
): Promise<void> {
  const open = new Map(orphans.filter(({ name }) => name !== INTERACTIVE).map(grant => [grant.id, grant]))
  if (open.size === 0) return
  const book = (grant: Grant, usage: Usage | undefined, run?: string) => {
    const { usd } = grant.settle(usage)
    open.delete(grant.id)
    log.info('settled what an ask had set aside when the node died', {
      peer: grant.name,
      usd,
      ...(run !== undefined && { run }),
    })
  }
  const since = Math.max(0, clock.now() - DAY_TICKS) as Ticks
  let after: RunId | undefined
  do {
    const page = await records.find({ origin: ALP_ORIGIN, since, ...(after && { after }) }, () => true)
    for (const { run, context } of page.runs) {
      const grant = open.get(String(context.reservation))
      if (!grant) continue
      const account = await records.account(run)
      // Of a turn whose cost nobody knows all that was set aside is taken for spent.
      book(grant, account.ok && !account.value.unknownCost ? account.value.usage : undefined, run)
    }
    if (open.size === 0) return
    after = page.cursor
  } while (after)
  // No run of it came to be, so that nothing was spent.
  for (const grant of [...open.values()]) book(grant, {})
}
