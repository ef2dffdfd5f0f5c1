// Who a profile is (ALP-ID): one Ed25519 key, named by the base64 of its 32 public bytes, and the X25519 pair that
// follows from it. Secret halves live in guarded memory.
import { ParleyError } from '@parley/core'
import { fromBase64, PUBLIC_KEY_BYTES, seedOfPem } from '@parley/keys'
import { sign, signingKeyOf, sodium } from '@parley/keys/sodium'
import { trim } from '../text.ts'
import { x25519Image } from './curve.ts'

export interface KeyPair {
  readonly publicKey: Buffer
  readonly secretKey: Buffer
}

export interface LinkIdentity {
  /** The identity string (ALP-ID-04). Two are equal if and only if their strings are. */
  readonly id: string
  readonly publicKey: Buffer
  /** The static key of Noise (ALP-ID-07, ALP-ID-08). */
  readonly noise: KeyPair
  /** The 64 bytes of the Ed25519 signature. */
  sign(message: Buffer): Buffer
}

/** Throws where the seed has not 32 bytes. */
export function identityFromSeed(seed: Uint8Array): LinkIdentity {
  const key = signingKeyOf(seed)
  const { publicKey } = key
  const x25519 = sodium.sodium_malloc(sodium.crypto_scalarmult_SCALARBYTES)
  sodium.crypto_sign_ed25519_sk_to_curve25519(x25519, key.secretKey)
  return {
    id: publicKey.toString('base64'),
    publicKey,
    // A key that came of a seed is never the one point without an image.
    noise: { publicKey: x25519Image(publicKey)!, secretKey: x25519 },
    sign: message => sign(key, message),
  }
}

/**
 * ALP-ID-03: only the private PEM counts. Throws `key_unusable` where it is no Ed25519 key; `name` is for the message.
 */
export function identityFromPem(pem: string, name: string): LinkIdentity {
  const seed = seedOfPem(pem)
  if (!seed.ok) {
    const message = `The profile's key ${name} ${seed.error.what}; restore it from a backup.`
    throw new ParleyError('key_unusable', message, { cause: seed.error.cause })
  }
  const identity = identityFromSeed(seed.value)
  sodium.sodium_memzero(seed.value)
  return identity
}

/**
 * The 32 bytes that an identity string stands for (ALP-ID-04: trimmed for this alone); undefined where it stands for
 * none.
 */
export function publicKeyOf(identity: string): Buffer | undefined {
  return fromBase64(trim(identity), PUBLIC_KEY_BYTES)
}
