// Reputation, freshness and what they make of a payout (ALX-SETTLE-09). The float helpers are advisory: their last
// bit may differ between machines. What is stored or compared is computed by `computePayoutUnits`, in integers.
import { limits } from '../limits.ts'
import { uint } from './settlement.ts'

export const RS_MIN = 0.01
export const RS_MAX = 3
export const HALF_LIFE_DAYS = 30

const DAY_MS = 86_400_000

/** From what a block's record counts to a score of 0 to 1000. */
export function reputationScore({ queryVolume, endorsements }: { queryVolume: number; endorsements: number }): number {
  return Math.min(limits.score, Math.min(500, 2 * queryVolume) + Math.min(100, 20 * endorsements))
}

export function clampRS(rs: number): number {
  return Math.min(RS_MAX, Math.max(RS_MIN, rs))
}

export function normalizeOnChainScore(score: number): number {
  const clamped = Math.min(limits.score, Math.max(0, score))
  return RS_MIN + (clamped / limits.score) * (RS_MAX - RS_MIN)
}

/** The only function here that reads the clock, and only when `nowMs` is not given. */
export function freshnessMultiplier(isoDate: string, nowMs: number = Date.now()): number {
  const ageDays = (nowMs - Date.parse(isoDate)) / DAY_MS
  if (Number.isNaN(ageDays)) throw new RangeError(`${isoDate} is not a date`)
  return ageDays <= 0 ? 1 : 0.5 ** (ageDays / HALF_LIFE_DAYS)
}

export function computePayout(base: number, rs: number, freshness: number): number {
  return Math.max(0, Math.round(base * clampRS(rs) * freshness * 1e6) / 1e6)
}

/** The reputation that each tier asks for, by the tier's number. */
const TIER_THRESHOLDS: readonly number[] = [0, 0.5, 1, 2]

export function meetsTier(rs: number, tier: number): boolean {
  const threshold = TIER_THRESHOLDS[tier]
  return threshold !== undefined && rs >= threshold
}

/** 10^9 × 2^(−day ÷ 30), truncated, for the days of one half-life. */
const FRESHNESS_E9 = [
  1000000000n,
  977159968n,
  954841603n,
  933032991n,
  911722488n,
  890898718n,
  870550563n,
  850667160n,
  831237896n,
  812252396n,
  793700525n,
  775572380n,
  757858283n,
  740548776n,
  723634618n,
  707106781n,
  690956439n,
  675174973n,
  659753955n,
  644685154n,
  629960524n,
  615572206n,
  601512518n,
  587773953n,
  574349177n,
  561231024n,
  548412489n,
  535886731n,
  523647061n,
  511686945n,
]

export interface PayoutTerms {
  /** A decimal integer. */
  readonly base: string
  /** An integer from 0 to 1000. */
  readonly score: number
  readonly publishedMs: number
  readonly nowMs: number
}

export function computePayoutUnits({ base, score, publishedMs, nowMs }: PayoutTerms): string {
  if (!Number.isInteger(score) || score < 0 || score > limits.score)
    throw new RangeError(`a score is an integer from 0 to ${limits.score}`)
  const days = Math.max(0, Math.floor((nowMs - publishedMs) / DAY_MS))
  const freshE9 = FRESHNESS_E9[days % HALF_LIFE_DAYS]! >> BigInt(Math.floor(days / HALF_LIFE_DAYS))
  const rsMicro = 10_000n + 2_990n * BigInt(score)
  return String((uint(base) * rsMicro * freshE9) / 10n ** 15n)
}
