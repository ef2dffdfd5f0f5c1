// The lifetime budget of a workgroup (ALP-BUD-04 to -06), as far as it is arithmetic: what a cap is, what an author's
// declaration counts, and whether a post is admitted.
import { ok, type Result, refuse, type Spent } from '@parley/core'
import type { WireError } from '../envelope/envelope.ts'
import { wireError } from '../errors.ts'
import { amountOf, float, integerOf, isWireObject, type WireValue } from '../json/value.ts'

/** ALP-BUD-04: the `budget` of a new workgroup: left out, or a mapping with a `max_usd` above zero. */
export function workgroupCap(budget: unknown): Result<number | undefined> {
  if (budget === undefined || budget === null) return ok(undefined)
  const cap = typeof budget === 'object' && 'max_usd' in budget ? budget.max_usd : undefined
  if (typeof cap !== 'number' || !Number.isFinite(cap) || cap <= 0)
    return refuse('invalid_budget', "A workgroup's budget needs max_usd, a number of US dollars above zero.")
  return ok(cap)
}

/** ALP-BUD-06: taken at face value, since the envelope is signed; what is not an amount counts nothing. */
export function declaredCost(cost: WireValue | undefined): Spent {
  const said = isWireObject(cost) ? cost : {}
  const tokens = amountOf(integerOf(said.tokens))
  return { usd: amountOf(said.usd), tokens: Math.min(tokens, Number.MAX_SAFE_INTEGER) }
}

/** ALP-BUD-05: the refusal of a post; undefined where it is admitted. Reaching the cap exactly is admitted, once. */
export function overWorkgroupCap(cap: number | undefined, used: number, declared: number): WireError | undefined {
  if (cap === undefined || (used < cap && used + declared <= cap)) return undefined
  const data = { cap_kind: 'workgroup_usd', cap: float(cap), used: float(used), declared: float(declared) }
  return wireError('budget-exceeded', data)
}
