// Who a profile is (ALP-ID): one Ed25519 key, named by the base64 of its 32 public bytes, and the X25519 pair that follows from it. Secret
// halves live in guarded memory.
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { ParleyError } from '@parley/core'
import sodium from 'sodium-native'
import { trim } from '../text.ts'
import { x25519Image } from './curve.ts'

const SEED_BYTES = 32

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
  if (seed.length !== SEED_BYTES)
    throw new TypeError(`an Ed25519 seed has ${SEED_BYTES} bytes, not ${seed.length}`)
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = sodium.sodium_malloc(sodium.crypto_sign_SECRETKEYBYTES)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, Buffer.from(seed))
  const x25519 = sodium.sodium_malloc(sodium.crypto_scalarmult_SCALARBYTES)
  sodium.crypto_sign_ed25519_sk_to_curve25519(x25519, secretKey)
  return {
    id: publicKey.toString('base64'),
    publicKey,
    // A key that came of a seed is never the one point without an image.
    noise: { publicKey: x25519Image(publicKey)!, secretKey: x25519 },
    sign(message) {
      const signature = Buffer.allocUnsafe(sodium.crypto_sign_BYTES)
      sodium.crypto_sign_detached(signature, message, secretKey)
      return signature
    },
  }
}

/** ALP-ID-03: only the private PEM counts. Throws `key_unusable` where it is no Ed25519 key; `name` is for the message. */
export function identityFromPem(pem: string, name: string): LinkIdentity {
  let jwk: { crv?: string | undefined; d?: string | undefined }
  try {
    jwk = createPrivateKey(pem).export({ format: 'jwk' })
  } catch (cause) {
    throw unusable(name, 'cannot be read as a private key', cause)
  }
  const seed = Buffer.from(jwk.d ?? '', 'base64url')
  if (jwk.crv !== 'Ed25519' || seed.length !== SEED_BYTES) throw unusable(name, 'is not an Ed25519 key')
  const identity = identityFromSeed(seed)
  sodium.sodium_memzero(seed)
  return identity
}

function unusable(name: string, what: string, cause?: unknown): ParleyError {
  const message = `The profile's key ${name} ${what}; restore it from a backup.`
  return new ParleyError('key_unusable', message, { cause })
}

/** The public half as the `.pub` file has it (ALP-ID-02): SubjectPublicKeyInfo, PEM. */
export function publicPem(publicKey: Uint8Array): string {
  const x = Buffer.from(publicKey).toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

/** The identity that a `.pub` file names; undefined where it names none. */
export function identityOfPublicPem(pem: string): string | undefined {
  try {
    const { crv, x } = createPublicKey(pem).export({ format: 'jwk' })
    return crv === 'Ed25519' && x !== undefined ? Buffer.from(x, 'base64url').toString('base64') : undefined
  } catch {
    return undefined
  }
}

/** The 32 bytes that an identity string stands for (ALP-ID-04: trimmed for this alone); undefined where it stands for none. */
export function publicKeyOf(identity: string): Buffer | undefined {
  return fromBase64(trim(identity), sodium.crypto_sign_PUBLICKEYBYTES)
}

/** ALP-ENV-10: strict, so that bytes have one spelling. */
export function fromBase64(text: string, length: number): Buffer | undefined {
  // Looked at before it is decoded: a hostile text can be long.
  if (text.length !== 4 * Math.ceil(length / 3)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === length && bytes.toString('base64') === text ? bytes : undefined
}

/** ALP-ENV-03: pure Ed25519, no stranger encodings than libsodium takes. */
export function signatureValid(publicKey: Buffer, message: Buffer, signature: Buffer): boolean {
  return sodium.crypto_sign_verify_detached(signature, message, publicKey)
}
