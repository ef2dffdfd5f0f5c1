// Tokens (CALL-TRANS-08): a key's signature over its id and the time, in 139 characters; and the directory of known
// keys that resolves them. Runs in Node.js: signatures are those of node:crypto.
import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { type Clock, type IdentityProvider, type Principal, SystemClock } from '@parley/core'
import { fingerprint, PUBLIC_KEY_BYTES, publicKeyObject, rawPublicKey, SIGNATURE_BYTES } from '@parley/keys'
import { callDefaults, callLimits } from './limits.ts'

const KEY_ID_BYTES = 32
const SIGNED_BYTES = KEY_ID_BYTES + 8
const TOKEN_BYTES = SIGNED_BYTES + SIGNATURE_BYTES
const MICROSECONDS_PER_SECOND = 1_000_000

/** A new token of a private Ed25519 key, for some minutes from now. */
export function makeToken(privateKey: KeyObject, clock: Clock = new SystemClock()): string {
  const signed = Buffer.alloc(SIGNED_BYTES)
  const publicKey = rawPublicKey(createPublicKey(privateKey))
  if (!publicKey) throw new TypeError('tokens are made with Ed25519 keys')
  keyHash(publicKey).copy(signed)
  signed.writeBigUInt64BE(BigInt(seconds(clock)), KEY_ID_BYTES)
  return Buffer.concat([signed, sign(null, signed, privateKey)]).toString('base64url')
}

/** The id of the key that made a token; undefined, without a reason, if form, key, time or signature is wrong. */
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

/** In a token: SHA-256 of the key's 32 bytes, in hexadecimal. Another value than its fingerprint. */
export function keyIdOf(publicKey: Uint8Array): string {
  return keyHash(publicKey).toString('hex')
}

function keyHash(publicKey: Uint8Array): Buffer {
  return hash('sha256', publicKey, 'buffer')
}

/** Known keys and whose they are. A key is one principal, whether it comes by token or as the key of a link. */
export class KeyDirectory implements IdentityProvider {
  readonly #clock: Clock
  readonly #byKeyId = new Map<string, { readonly key: KeyObject; readonly principal: Principal }>()
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
    this.#byKeyId.set(keyId, { key: publicKeyObject(publicKey), principal })
    this.#byFingerprint.set(fingerprint(publicKey), principal)
  }

  remove(publicKey: Uint8Array): void {
    this.#byKeyId.delete(keyIdOf(publicKey))
    this.#byFingerprint.delete(fingerprint(publicKey))
  }

  async byFingerprint(fingerprint: string): Promise<Principal | undefined> {
    return this.#byFingerprint.get(fingerprint)
  }

  async byToken(token: string): Promise<Principal | undefined> {
    const keyId = verifyToken(token, id => this.#byKeyId.get(id)?.key, this.#clock)
    return keyId === undefined ? undefined : this.#byKeyId.get(keyId)?.principal
  }
}
