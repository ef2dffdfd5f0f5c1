// The shape of a key on a list of keys. Apart from trail-key.ts: reading a list needs no cryptography.
import { type Static, Type } from '@parley/core'
import { closed, PublicKey, Signature, Time } from '../shapes.ts'

export const EndorsementSchema = Type.Object(
  {
    from: PublicKey,
    to: PublicKey,
    at: Time,
    /** The timestamp of the last entry that the old key may have signed. */
    until: Time,
    /** By the old key, and by the new one. */
    signature: Signature,
    countersignature: Signature,
  },
  closed,
)
export type Endorsement = Static<typeof EndorsementSchema>

export const TrailKeySchema = Type.Object(
  {
    key: PublicKey,
    /** When it came into use; null where nobody noted it. */
    since: Type.Union([Time, Type.Null()]),
    /** The timestamp of the last entry that it may have signed; null as long as it signs. */
    until: Type.Union([Time, Type.Null()]),
    /** How it came after the key before it; absent for the first key, and for one that was put in place by hand. */
    endorsement: Type.Optional(EndorsementSchema),
  },
  closed,
)
export type TrailKey = Static<typeof TrailKeySchema>
