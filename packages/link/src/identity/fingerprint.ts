// What people compare before they pin a key (ALP-ID-05): the fingerprint that programs know a principal by, and one for reading aloud.
import { createHash } from 'node:crypto'
import { sshFingerprintOf } from '@parley/call'
import { publicKeyOf } from './identity.ts'

/** The one that `Principal` and `IdentityProvider` use: `SHA256:` and unpadded base64. Undefined where the identity names no key. */
export function fingerprintOf(identity: string): string | undefined {
  const key = publicKeyOf(identity)
  return key && sshFingerprintOf(key)
}

const GROUPS = 8
const BYTES_PER_GROUP = 5
const DIGITS = 5

/**
 * Eight groups of five digits, about 132 bits: as sure as the key itself against somebody who looks for a second key that sounds alike, and
 * the same in every language.
 */
export function spokenFingerprint(identity: string): string | undefined {
  const key = publicKeyOf(identity)
  if (!key) return undefined
  const hash = createHash('sha512').update('parley-fingerprint/1').update(key).digest()
  return Array.from({ length: GROUPS }, (_, group) =>
    String(hash.readUIntBE(group * BYTES_PER_GROUP, BYTES_PER_GROUP) % 10 ** DIGITS).padStart(DIGITS, '0'),
  ).join(' ')
}
