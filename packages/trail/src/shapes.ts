// Shapes that several files of the trail are made of, and how such a file is read. Needs no cryptography, so that a
// list of keys can be read without any.
import { type Static, type Timestamp, Type } from '@parley/core'

export const closed = <F extends Type.TProperties>(fields: F, options: Type.TObjectOptions = {}) =>
  Type.Object(fields, { ...options, additionalProperties: false })
export const Count = Type.Integer({ minimum: 0 })
export const Seq = Type.Integer({ minimum: 1 })
/** SHA-256 in hexadecimal. */
export const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const Time = Type.Unsafe<Timestamp>(Type.String({ minLength: 27, maxLength: 27 }))
/** Base64 of the 32 raw bytes, as an ALP identity is written. */
export const PublicKey = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })
export const Signature = Type.String({ pattern: '^[0-9a-f]{128}$' })
export const idOf = <Id extends string>() => Type.Unsafe<Id>(Type.String({ minLength: 1, maxLength: 64 }))

export const EndorsementSchema = closed({
  from: PublicKey,
  to: PublicKey,
  at: Time,
  /** The timestamp of the last entry that the old key may have signed. */
  until: Time,
  /** By the old key, and by the new one. */
  signature: Signature,
  countersignature: Signature,
})
export type Endorsement = Static<typeof EndorsementSchema>

export const TrailKeySchema = closed({
  key: PublicKey,
  /** When it came into use; null where nobody noted it. */
  since: Type.Union([Time, Type.Null()]),
  /** The timestamp of the last entry that it may have signed; null as long as it signs. */
  until: Type.Union([Time, Type.Null()]),
  /** How it came after the key before it; absent for the first key, and for one that was put in place by hand. */
  endorsement: Type.Optional(EndorsementSchema),
})
export type TrailKey = Static<typeof TrailKeySchema>

/** Undefined where there are no bytes, or none of this shape. */
export function readJson<T>(shape: { is(value: unknown): value is T }, bytes: Buffer | undefined): T | undefined {
  try {
    const parsed: unknown = bytes && JSON.parse(bytes.toString('utf8'))
    return shape.is(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
