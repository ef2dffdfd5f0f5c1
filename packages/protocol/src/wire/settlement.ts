// Settlements on the wire (ALX-SETTLE-06, -07).
import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { hash32, id, integer, iso, uintString, type Wire } from '../schema/scalars.ts'
import { received, sent } from '../schema/shape.ts'
import { offered, succeeded } from './envelope.ts'

const query = { queryId: id, kbHash: hash32, amount: uintString }

/** The body of `POST /v1/settlements`; what is computed from has a type of its own, `SettlementTerms`. */
export const settlementInput = Type.Object({ ...query, ...offered })
export type SettlementInput = Wire<typeof settlementInput>
export const { parse: parseSettlementInput, is: isSettlementInput } = received(settlementInput)

const recipient = Type.String()
const result = {
  protocolFee: uintString,
  distributable: uintString,
  royalties: Type.Array(Type.Object({ parentHash: hash32, recipient, amount: uintString })),
  curatorAmount: uintString,
  payouts: Type.Array(Type.Object({ recipient, amount: uintString })),
  settlementHash: hash32,
}
export const settlementResult = Type.Object(result)
export type SettlementResult = Wire<typeof settlementResult>
export const { parse: parseSettlementResult, is: isSettlementResult } = sent(settlementResult)

export const settlementRecord = Type.Object({
  ...succeeded,
  ...query,
  protocolFeeBps: integer(0, limits.bps),
  ...result,
  ledger: Type.Array(Type.Object({ recipient, amount: uintString, leafHash: hash32 })),
  settledAt: iso,
})
export type SettlementRecord = Wire<typeof settlementRecord>
export const { parse: parseSettlementRecord, is: isSettlementRecord } = sent(settlementRecord)
