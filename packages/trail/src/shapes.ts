// Shapes that several files of the trail are made of, and how such a file is read.
import { type Timestamp, Type } from '@parley/core'

export const closed = { additionalProperties: false } as const
export const Count = Type.Integer({ minimum: 0 })
export const Seq = Type.Integer({ minimum: 1 })
/** SHA-256 in hexadecimal. */
export const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const Time = Type.Unsafe<Timestamp>(Type.String({ minLength: 27, maxLength: 27 }))
/** Base64 of the 32 raw bytes, as an ALP identity is written. */
export const PublicKey = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })
export const Signature = Type.String({ pattern: '^[0-9a-f]{128}$' })
export const idOf = <Id extends string>() => Type.Unsafe<Id>(Type.String({ minLength: 1, maxLength: 64 }))

/** Undefined where there are no bytes, or none of this shape. */
export function readJson<T>(shape: { is(value: unknown): value is T }, bytes: Buffer | undefined): T | undefined {
  try {
    const parsed: unknown = bytes && JSON.parse(bytes.toString('utf8'))
    return shape.is(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
