// The cipher of Noise (ALP-NOISE-06, ALP-NOISE-07; Noise rev. 34, section 5.1): ChaCha20-Poly1305 under a key that
// counts its messages. A counter is never used twice, and never wraps.
import { ParleyError } from '@parley/core'
import { sodium } from '@parley/keys/sodium'

export const TAG_BYTES = 16
const NONCE_BYTES = 12
/** Reserved by Noise for a rekey, which ALP does not have. */
const LAST = 2n ** 64n - 1n

export class CipherState {
  readonly #key: Buffer
  readonly #nonce = Buffer.alloc(NONCE_BYTES)
  #counter: bigint

  constructor(key: Buffer, counter = 0n) {
    this.#key = key
    this.#counter = counter
  }

  /** Writes ciphertext and tag, which fill `target`. Throws `noise_exhausted` after the last counter. */
  encrypt(target: Buffer, plaintext: Buffer, additional: Buffer | null = null): void {
    this.#count()
    sodium.crypto_aead_chacha20poly1305_ietf_encrypt(target, plaintext, additional, null, this.#nonce, this.#key)
    this.#counter++
  }

  /** The plaintext; undefined if the tag is wrong, which leaves the counter where it was. */
  decrypt(ciphertext: Buffer, additional: Buffer | null = null): Buffer | undefined {
    if (ciphertext.length < TAG_BYTES) return undefined
    return this.#open(Buffer.allocUnsafe(ciphertext.length - TAG_BYTES), ciphertext, additional)
  }

  /** As `decrypt`, in place of the ciphertext: new room for a large frame costs more than its deciphering. */
  decryptInPlace(ciphertext: Buffer): Buffer | undefined {
    if (ciphertext.length < TAG_BYTES) return undefined
    return this.#open(ciphertext.subarray(0, ciphertext.length - TAG_BYTES), ciphertext, null)
  }

  #open(target: Buffer, ciphertext: Buffer, additional: Buffer | null): Buffer | undefined {
    this.#count()
    try {
      sodium.crypto_aead_chacha20poly1305_ietf_decrypt(target, null, ciphertext, additional, this.#nonce, this.#key)
    } catch {
      return undefined
    }
    this.#counter++
    return target
  }

  #count(): void {
    if (this.#counter >= LAST)
      throw new ParleyError('noise_exhausted', 'This connection has used all its counters; connect anew.')
    this.#nonce.writeBigUInt64LE(this.#counter, 4)
  }
}
