// How well a block fits an intent, from 0 to 1, as a sum of named parts that the answer shows. Free of what other
// servers do: no part of the protocol depends on the numbers (ALX-ENV-10).
import { freshnessMultiplier } from '@alx/protocol/economics'
import type { Votes } from '../settle/ratings.ts'

export interface Fit {
  /** The block answers this very intent. */
  readonly isExact: boolean
  /** The part of the intent's words that the block has. */
  readonly coverage: number
  readonly domain: 0 | 0.5 | 1
  readonly votes: Votes
  /** 0 to 1000. */
  readonly reputation: number
  readonly createdAt: string
  readonly nowMs: number
}

const WEIGHTS = { exact: 0.8, text: 0.55, domain: 0.1, feedback: 0.25, freshness: 0.05, reputation: 0.05 }

/**
 * Every word in the same domain passes the usual gate of .35, half of them does not. What people said of the block
 * moves it up or down by up to a quarter; their first word counts a third of that.
 */
export function confidenceOf({ isExact, coverage, domain, votes, reputation, createdAt, nowMs }: Fit): {
  readonly confidence: number
  readonly parts: Readonly<Record<string, number>>
} {
  const { up, down } = votes
  const parts = {
    exact: isExact ? WEIGHTS.exact : 0,
    text: isExact ? 0 : rounded(WEIGHTS.text * coverage ** 2),
    domain: WEIGHTS.domain * domain,
    feedback: rounded((WEIGHTS.feedback * (up - down)) / (up + down + 2)),
    freshness: rounded(WEIGHTS.freshness * freshnessMultiplier(createdAt, nowMs)),
    reputation: rounded((WEIGHTS.reputation * reputation) / 1000),
  }
  const sum = Object.values(parts).reduce((all, part) => all + part, 0)
  return { confidence: rounded(Math.min(1, Math.max(0, sum))), parts }
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
