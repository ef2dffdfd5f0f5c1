// The reputation of a block, from what was paid for it and what was said of it (ALX-SETTLE-09).
import { reputationScore } from '@alx/protocol/economics'
import type { Ledger } from './ledger.ts'
import type { Ratings } from './ratings.ts'

export interface Reputation {
  /** 0 to 1000. */
  readonly score: number
  readonly queryVolume: number
  readonly endorsements: number
}

export function reputationOf(
  kbHash: string,
  { ledger, ratings }: { readonly ledger: Ledger; readonly ratings: Ratings },
): Reputation {
  const queryVolume = ledger.paidQueriesOf(kbHash)
  const { endorsements } = ratings.votesFor(kbHash)
  return { score: reputationScore({ queryVolume, endorsements }), queryVolume, endorsements }
}
