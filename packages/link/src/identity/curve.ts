// The X25519 image of an Ed25519 public key (ALP-ID-08). libsodium has this map too, but refuses keys that are not on
// the curve, and ALP makes no such check. Nothing here is secret.

const P = 2n ** 255n - 19n
const WITHOUT_SIGN = 2n ** 255n - 1n
const KEY_BYTES = 32

/** Undefined for y = 1, which has no image, and for bytes that are no key. */
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

/** By Euclid's algorithm: four times as fast as raising to the power of p - 2. */
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
