// How a key is printed for people and programs to compare: one fingerprint everywhere, and one for reading aloud.
import { createHash, hash } from 'node:crypto'

const SSH_TYPE = Buffer.from('ssh-ed25519')

/**
 * `SHA256:` and unpadded base64, of the key as SSH encodes it: what `ssh-keygen -l` prints, and what the call protocol
 * knows a principal by. A text is taken for the base64 of a key.
 */
export function fingerprint(publicKey: Uint8Array | string): string {
  const key = typeof publicKey === 'string' ? Buffer.from(publicKey, 'base64') : publicKey
  const blob = Buffer.concat([length(SSH_TYPE), SSH_TYPE, length(key), key])
  return `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`
}

function length({ length }: Uint8Array): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  return bytes
}

const GROUPS = 8
const BYTES_PER_GROUP = 5
const DIGITS = 5

/**
 * Eight groups of five digits, about 132 bits: as sure as the key itself against an attacker who looks for a second key
 * that sounds alike, and the same in every language.
 */
export function spokenFingerprint(publicKey: Uint8Array): string {
  const digest = createHash('sha512').update('parley-fingerprint/1').update(publicKey).digest()
  return Array.from({ length: GROUPS }, (_, group) =>
    String(digest.readUIntBE(group * BYTES_PER_GROUP, BYTES_PER_GROUP) % 10 ** DIGITS).padStart(DIGITS, '0'),
  ).join(' ')
}
