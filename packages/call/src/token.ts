// Tokens (CALL-TRANS-08): a key's signature over its id and the time, in 139 characters; and the directory of known keys that resolves
// them. Runs in Node.js: signatures are those of node:crypto.
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { type Clock, type IdentityProvider, type Principal, SystemClock } from '@parley/core'
import { callDefaults, callLimits } from './limits.ts'

const KEY_ID_BYTES = 32
const SIGNED_BYTES = KEY_ID_BYTES + 8
const TOKEN_BYTES = SIGNED_BYTES + 64
const PUBLIC_KEY_BYTES = 32
const MICROSECONDS_PER_SECOND = 1_000_000

/** A new token of a private Ed25519 key, for some minutes from now. */
export function makeToken(privateKey: KeyObject, clock: Clock = new SystemClock()): string {
  const signed = Buffer.alloc(SIGNED_BYTES)
  keyHash(rawPublicKey(createPublicKey(privateKey))).copy(signed)
  signed.writeBigUInt64BE(BigInt(seconds(clock)), KEY_ID_BYTES)
  return Buffer.concat([signed, sign(null, signed, privateKey)]).toString('base64url')
}

/**
 * The hexadecimal id of the key that made the token; undefined for anything wrong with it, and nobody learns what. The
 * checks in their order: form, key known, time, signature.
 */
export function verifyToken(
  token: string,
  publicKeyOf: (keyId: string) => KeyObject | undefined,
  clock: Clock = new SystemClock(),
): string | undefined {
  const bytes = Buffer.from(token, 'base64url')
  // The decoder skips what it does not know; only one spelling of a token is one.
  if (bytes.length !== TOKEN_BYTES || bytes.toString('base64url') !== token) return undefined
  const keyId = bytes.toString('hex', 0, KEY_ID_BYTES)
  const publicKey = publicKeyOf(keyId)
  if (!publicKey) return undefined
  const age = seconds(clock) - Number(bytes.readBigUInt64BE(KEY_ID_BYTES))
  if (Math.abs(age) > callDefaults.tokenWindowSeconds) return undefined
  const genuine = verify(null, bytes.subarray(0, SIGNED_BYTES), publicKey, bytes.subarray(SIGNED_BYTES))
  return genuine ? keyId : undefined
}

function seconds(clock: Clock): number {
  return Math.floor(clock.now() / MICROSECONDS_PER_SECOND)
}

/** In a token: SHA-256 of the key's 32 bytes, in hexadecimal. */
export function keyIdOf(publicKey: Uint8Array): string {
  return keyHash(publicKey).toString('hex')
}

/** In SSH: SHA-256 of the key as SSH encodes it. Another value than the key id, for the same key. */
export function sshFingerprintOf(publicKey: Uint8Array): string {
  const field = (bytes: Uint8Array) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return Buffer.concat([length, bytes])
  }
  const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(publicKey)])
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

function keyHash(publicKey: Uint8Array): Buffer {
  return createHash('sha256').update(publicKey).digest()
}

function rawPublicKey(key: KeyObject): Buffer {
  const { x, crv } = key.export({ format: 'jwk' })
  if (crv !== 'Ed25519' || x === undefined) throw new TypeError('tokens are made with Ed25519 keys')
  return Buffer.from(x, 'base64url')
}

interface KnownKey {
  readonly key: KeyObject
  readonly principal: Principal
}

/** Known keys and whose they are. A key is one principal, whether it comes by token or as the key of a link. */
export class KeyDirectory implements IdentityProvider {
  readonly #clock: Clock
  readonly #byKeyId = new Map<string, KnownKey>()
  readonly #byFingerprint = new Map<string, Principal>()

  constructor(clock: Clock = new SystemClock()) {
    this.#clock = clock
  }

  /** `publicKey`: the 32 bytes of an Ed25519 key. A key again replaces whose it is. */
  add(publicKey: Uint8Array, principal: Principal): void {
    if (publicKey.length !== PUBLIC_KEY_BYTES)
      throw new TypeError(`an Ed25519 key has ${PUBLIC_KEY_BYTES} bytes, not ${publicKey.length}`)
    const keyId = keyIdOf(publicKey)
    if (this.#byKeyId.size >= callLimits.knownKeys && !this.#byKeyId.has(keyId))
      throw new RangeError(`a directory holds at most ${callLimits.knownKeys} keys`)
    const x = Buffer.from(publicKey).toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    this.#byKeyId.set(keyId, { key, principal })
    this.#byFingerprint.set(sshFingerprintOf(publicKey), principal)
  }

  remove(publicKey: Uint8Array): void {
    this.#byKeyId.delete(keyIdOf(publicKey))
    this.#byFingerprint.delete(sshFingerprintOf(publicKey))
  }

  async byFingerprint(fingerprint: string): Promise<Principal | undefined> {
    return this.#byFingerprint.get(fingerprint)
  }

  async byToken(token: string): Promise<Principal | undefined> {
    const keyId = verifyToken(token, id => this.#byKeyId.get(id)?.key, this.#clock)
    return keyId === undefined ? undefined : this.#byKeyId.get(keyId)?.principal
  }
}
