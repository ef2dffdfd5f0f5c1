// The X25519 image of an Ed25519 public key (ALP-ID-08). libsodium has this map too, but refuses keys that are not on
// the curve, and ALP makes no such check. Nothing here is secret.
import { linkLimits } from '../limits.ts'

const P = 2n ** 255n - 19n
const WITHOUT_SIGN = 2n ** 255n - 1n
const KEY_BYTES = 32

/** Undefined for y = 1, which has no image, and for what is no key. */
export function x25519Image(publicKey: Uint8Array): Buffer | undefined {
  if (publicKey.length !== KEY_BYTES) return undefined
  const y = littleEndian(publicKey) & WITHOUT_SIGN
  const below = modulo(1n - y)
  if (below === 0n) return undefined
  const u = modulo((1n + y) * inverse(below))
  return Buffer.from(u.toString(16).padStart(2 * KEY_BYTES, '0'), 'hex').reverse()
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function modulo(value: bigint): bigint {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}

/** Euclid's way, which is four times as fast as raising to the power of p - 2, with the same result. */
function inverse(value: bigint): bigint {
  let [rest, next] = [P, value]
  let [factor, nextFactor] = [0n, 1n]
  while (next !== 0n) {
    const quotient = rest / next
    ;[rest, next] = [next, rest - quotient * next]
    ;[factor, nextFactor] = [nextFactor, factor - quotient * nextFactor]
  }
  return modulo(factor)
}

/** Images of identities that come again and again. */
export class ImageCache {
  readonly #images = new Map<string, Buffer | undefined>()
  readonly #keyOf: (identity: string) => Buffer | undefined

  constructor(keyOf: (identity: string) => Buffer | undefined) {
    this.#keyOf = keyOf
  }

  /** The image of the key that an identity names; undefined where it names none. */
  of(identity: string): Buffer | undefined {
    const known = this.#images.get(identity)
    if (known || this.#images.has(identity)) return known
    const key = this.#keyOf(identity)
    const image = key && x25519Image(key)
    if (this.#images.size >= linkLimits.images) this.#images.clear()
    this.#images.set(identity, image)
    return image
  }

  /** Which of these identities an image is of, if any. */
  holder(image: Buffer, identities: ReadonlySet<string>): string | undefined {
    for (const identity of identities) if (this.of(identity)?.equals(image)) return identity
    return undefined
  }
}
