// How a fee is split (ALX-SETTLE-01, -04 to -07, -11). Amounts are integers of any size, and every division truncates.
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { type Result, refuse } from '../errors.ts'
import { DOMAIN_TAGS, domainHashFromObject, hex } from '../hash.ts'
import { limits } from '../limits.ts'
import type { SettlementResult } from '../wire/settlement.ts'

export interface SettlementTerms {
  /** A decimal integer. */
  readonly amount: string
  readonly protocolFeeBps?: number
  readonly kbHash: string
  /** Who gets what no royalty takes, dust included. */
  readonly curator: string
  readonly links: readonly SettlementLink[]
}

export interface SettlementLink {
  readonly parentHash: string
  readonly parentCurator: string
  readonly royaltyShareBps: number
  /** False when the parent is slashed: its share stays with the curator. */
  readonly eligible: boolean
}

/**
 * Throws a RangeError for terms that no registration lets through: amounts that are none, shares that are none or
 * exceed the whole, a parent with two links.
 */
export function computeSettlement(terms: SettlementTerms): SettlementResult {
  const { protocolFeeBps = limits.defaultFeeBps, kbHash, curator } = terms
  const links = terms.links.toSorted((a, b) => (a.parentHash < b.parentHash ? -1 : 1))
  assertTerms(protocolFeeBps, links)
  const amount = uint(terms.amount)
  const protocolFee = share(amount, protocolFeeBps)
  const distributable = amount - protocolFee
  // Each from the whole, never from what is left: so the order of links cannot matter.
  const royalties = links.map(({ parentHash, parentCurator, royaltyShareBps, eligible }) => ({
    parentHash,
    recipient: parentCurator,
    amount: eligible ? share(distributable, royaltyShareBps) : 0n,
  }))
  const curatorAmount = royalties.reduce((left, royalty) => left - royalty.amount, distributable)
  const split = {
    protocolFee: String(protocolFee),
    distributable: String(distributable),
    royalties: royalties.map(royalty => ({ ...royalty, amount: String(royalty.amount) })),
    curatorAmount: String(curatorAmount),
  }
  const hashed = {
    amount: terms.amount,
    protocolFeeBps,
    kbHash,
    curator,
    links: links.map(({ parentHash, parentCurator, royaltyShareBps, eligible }) => ({
      parentHash,
      parentCurator,
      royaltyShareBps,
      eligible,
    })),
    ...split,
  }
  return {
    ...split,
    payouts: payouts([...royalties, { recipient: curator, amount: curatorAmount }]),
    settlementHash: domainHashFromObject(DOMAIN_TAGS.SETTLEMENT, hashed),
  }
}

function share(amount: bigint, bps: number): bigint {
  return (amount * BigInt(bps)) / BigInt(limits.bps)
}

function payouts(parts: readonly { readonly recipient: string; readonly amount: bigint }[]) {
  const sums = new Map<string, bigint>()
  for (const { recipient, amount } of parts) sums.set(recipient, (sums.get(recipient) ?? 0n) + amount)
  return [...sums]
    .filter(([, sum]) => sum > 0n)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([recipient, sum]) => ({ recipient, amount: String(sum) }))
}

function assertTerms(feeBps: number, links: readonly SettlementLink[]): void {
  const shares = links.map(({ royaltyShareBps }) => royaltyShareBps)
  const isBps = (value: number) => Number.isInteger(value) && value >= 0 && value <= limits.bps
  if (![feeBps, ...shares].every(isBps)) throw new RangeError(`a share is an integer from 0 to ${limits.bps}`)
  if (shares.reduce((sum, bps) => sum + bps, 0) > limits.bps) throw new RangeError('the shares exceed the whole')
  const twice = links.find(({ parentHash }, at) => links[at + 1]?.parentHash === parentHash)
  if (twice) throw new RangeError(`${twice.parentHash} has two links`)
}

/** Throws a RangeError for what is no `uintString`. */
export function uint(text: string): bigint {
  if (!/^(0|[1-9][0-9]{0,77})$/.test(text))
    throw new RangeError(`${text} is not a decimal integer of at most 78 digits`)
  return BigInt(text)
}

/** One fee for several blocks: even parts, the first ones a unit more (ALX-SETTLE-11). */
export function allocateQueryFee(
  amount: string,
  kbHashes: readonly string[],
): Result<readonly { readonly kbHash: string; readonly amount: string }[]> {
  const blocks = [...new Set(kbHashes)].sort()
  if (blocks.length === 0) return refuse('INVALID_REQUEST', 'a fee needs at least one Knowledge Block to go to')
  const [whole, count] = [uint(amount), BigInt(blocks.length)]
  const parts = blocks.map((kbHash, at) => ({
    kbHash,
    amount: String(whole / count + (BigInt(at) < whole % count ? 1n : 0n)),
  }))
  return { ok: true, value: parts }
}

/** The leaf of a payout in the ledger (ALX-SETTLE-07). */
export function ledgerLeafHash(kbHash: string, amount: string): string {
  return hex(sha256(utf8ToBytes(`${kbHash}:${amount}`)))
}
