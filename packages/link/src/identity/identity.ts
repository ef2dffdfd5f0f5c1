// Who a profile is (ALP-ID): one Ed25519 key, named by the base64 of its 32 public bytes, and the X25519 pair that
// follows from it. Secret halves live in guarded memory.
import { ParleyError } from '@parley/core'
import { fingerprint, fromBase64, PUBLIC_KEY_BYTES, seedOfPem, spokenFingerprint } from '@parley/keys'
import { sign, signingKeyOf, sodium } from '@parley/keys/sodium'
import { linkLimits } from '../limits.ts'
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

/** Throws if the seed does not have 32 bytes. */
export function identityFromSeed(seed: Uint8Array): LinkIdentity {
  const key = signingKeyOf(seed)
  const { publicKey } = key
  const x25519 = sodium.sodium_malloc(sodium.crypto_scalarmult_SCALARBYTES)
  sodium.crypto_sign_ed25519_sk_to_curve25519(x25519, key.secretKey)
  return {
    id: publicKey.toString('base64'),
    publicKey,
    // A key made from a seed is never the one point without an image.
    noise: { publicKey: x25519Image(publicKey)!, secretKey: x25519 },
    sign: message => sign(key, message),
  }
}

/** ALP-ID-03: only the private PEM counts. Throws `key_unusable`, with the file's `name`, if it is no Ed25519 key. */
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

/** The 32 bytes that an identity string stands for, if it does (ALP-ID-04: trimmed for this alone). */
export function publicKeyOf(identity: string): Buffer | undefined {
  return fromBase64(trim(identity), PUBLIC_KEY_BYTES)
}

/** What people compare before they pin a key (ALP-ID-05), and the same in digits to read aloud. */
export interface Fingerprints {
  readonly fingerprint: string
  readonly spoken: string
}

/** Undefined if the identity is no key. */
export function fingerprintsOf(identity: string): Fingerprints | undefined {
  const key = publicKeyOf(identity)
  return key && { fingerprint: fingerprint(key), spoken: spokenFingerprint(key) }
}

/** The images of identities, each computed once. */
export class ImageCache {
  readonly #images = new Map<string, Buffer | undefined>()
  readonly #keyOf: typeof publicKeyOf

  constructor(keyOf = publicKeyOf) {
    this.#keyOf = keyOf
  }

  /** The image of the key that an identity names; undefined if it names none. */
  of(identity: string): Buffer | undefined {
    const known = this.#images.get(identity)
    if (known || this.#images.has(identity)) return known
    const key = this.#keyOf(identity)
    const image = key && x25519Image(key)
    if (this.#images.size >= linkLimits.images) this.#images.clear()
    this.#images.set(identity, image)
    return image
  }

  /** Which of these identities has this image. */
  holder(image: Buffer, identities: ReadonlySet<string>): string | undefined {
    for (const identity of identities) if (this.of(identity)?.equals(image)) return identity
    return undefined
  }
}
