// The public names of @alx/protocol/economics (section 8).
export {
  clampRS,
  computePayout,
  computePayoutUnits,
  freshnessMultiplier,
  HALF_LIFE_DAYS,
  meetsTier,
  normalizeOnChainScore,
  type PayoutTerms,
  RS_MAX,
  RS_MIN,
  reputationScore,
} from './reputation.ts'
export {
  allocateQueryFee,
  computeSettlement,
  ledgerLeafHash,
  type SettlementLink,
  type SettlementTerms,
} from './settlement.ts'
export { type Lineage, traceAttribution } from './trace.ts'
