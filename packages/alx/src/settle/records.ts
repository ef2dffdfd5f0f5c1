// What the library keeps of settlements and feedback: bodies of `settlement` and `feedback.rating`.
import type { SettlementRecord } from '@alx/protocol'
import { compile, type LibraryRecord, type Static, Type } from '@parley/core'
import type { Body } from '../ports.ts'

const uint = Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$' })
const hash = Type.String({ pattern: '^0x[0-9a-f]{64}$' })
const recipient = Type.String()

/** The whole result: what it was computed from, such as who is slashed, may be different later. */
const settlementShape = Type.Object({
  queryId: Type.String(),
  kbHash: hash,
  amount: uint,
  protocolFeeBps: Type.Integer({ minimum: 0, maximum: 10_000 }),
  protocolFee: uint,
  distributable: uint,
  royalties: Type.Array(Type.Object({ parentHash: hash, recipient, amount: uint })),
  curatorAmount: uint,
  payouts: Type.Array(Type.Object({ recipient, amount: uint })),
  settlementHash: hash,
  ledger: Type.Array(Type.Object({ recipient, amount: uint, leafHash: hash })),
  /** The address that signed the request, if one did. */
  signer: Type.Optional(Type.String()),
})
/** As it is on the wire, but for its time, which is that of the record. */
export type SettlementBody = Omit<Body<SettlementRecord>, 'settledAt'> & { readonly signer?: string }

const ratingShape = Type.Object({
  executionId: Type.String(),
  /** The same for all feedback of one user on one execution. */
  feedbackId: Type.String(),
  rating: Type.Unsafe<-1 | 0 | 1>({ type: 'integer', enum: [-1, 0, 1] }),
  comment: Type.Optional(Type.String()),
  /** The block that was executed or that was the answer, if there was one. */
  kbHash: Type.Optional(hash),
})
export type RatingBody = Readonly<Static<typeof ratingShape>>

const settlementBody = compile(settlementShape)
const ratingBody = compile(ratingShape)

export function settlementBodyOf({ type, body }: LibraryRecord): SettlementBody | undefined {
  return type === 'settlement' && settlementBody.is(body) ? body : undefined
}

export function ratingBodyOf({ type, body }: LibraryRecord): RatingBody | undefined {
  return type === 'feedback.rating' && ratingBody.is(body) ? body : undefined
}
