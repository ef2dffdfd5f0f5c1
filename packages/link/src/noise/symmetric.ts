// The running state of a handshake (ALP-NOISE-01, ALP-NOISE-05; Noise rev. 34, section 5.2): a hash over everything
// said so far and a chaining key that every Diffie-Hellman result is mixed into.
import { hash, hkdfSync } from 'node:crypto'
import { invariant } from '@parley/core'
import { CipherState, TAG_BYTES } from './cipher.ts'

/** Exactly as long as a hash, so that it is the first one itself. */
export const PROTOCOL_NAME = 'Noise_XK_25519_ChaChaPoly_SHA256'
const HASH_BYTES = 32
const NOTHING: Buffer = Buffer.alloc(0)

export class SymmetricState {
  #chaining: Buffer = Buffer.from(PROTOCOL_NAME, 'ascii')
  #hash: Buffer = this.#chaining
  #cipher: CipherState | undefined

  get handshakeHash(): Buffer {
    return this.#hash
  }

  mixHash(data: Buffer): void {
    this.#hash = hash('sha256', Buffer.concat([this.#hash, data]), 'buffer')
  }

  mixKey(material: Buffer): void {
    const [chaining, key] = this.#derive(material)
    this.#chaining = chaining
    this.#cipher = new CipherState(key)
  }

  encryptAndHash(plaintext: Buffer): Buffer {
    const ciphertext = Buffer.allocUnsafe(plaintext.length + TAG_BYTES)
    this.#keyed().encrypt(ciphertext, plaintext, this.#hash)
    this.mixHash(ciphertext)
    return ciphertext
  }

  decryptAndHash(ciphertext: Buffer): Buffer | undefined {
    const plaintext = this.#keyed().decrypt(ciphertext, this.#hash)
    if (plaintext) this.mixHash(ciphertext)
    return plaintext
  }

  /** ALP-NOISE-07: the keys of initiator to responder and of responder to initiator. */
  split(): readonly [Buffer, Buffer] {
    return this.#derive(NOTHING)
  }

  /** In XK every payload follows a Diffie-Hellman result. */
  #keyed(): CipherState {
    invariant(this.#cipher, 'nothing is encrypted before the first key')
    return this.#cipher
  }

  /** The HKDF of Noise is that of RFC 5869 with an empty info. */
  #derive(material: Buffer): readonly [Buffer, Buffer] {
    const both = Buffer.from(hkdfSync('sha256', material, this.#chaining, NOTHING, 2 * HASH_BYTES))
    return [both.subarray(0, HASH_BYTES), both.subarray(HASH_BYTES)]
  }
}
