// Keys that are derived from the profile's secret: HKDF (RFC 5869) without salt. One block of it is enough for a key,
// so that deriving is as cheap as proving. The purpose keeps the keys of one use apart from those of all others.
import { createHmac } from 'node:crypto'
import { ParleyError } from '@parley/core'
import { HmacKey } from '@parley/trail'

export const KEY_BYTES = 32

export type Derive = (purpose: string) => Buffer

export function derivation(secret: Uint8Array): Derive {
  if (secret.length < KEY_BYTES) {
    throw new ParleyError(
      'invalid_argument',
      `The secret for proofs has ${secret.length} bytes; it needs at least ${KEY_BYTES}.`,
    )
  }
  const extracted = new HmacKey(createHmac('sha256', Buffer.alloc(KEY_BYTES)).update(secret).digest())
  return purpose => Buffer.from(extracted.sign(`${purpose}\x01`), 'hex')
}
