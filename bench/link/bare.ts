// What libsodium alone does: the signatures of a message, and the cipher of a frame on both ends. Nothing is parsed,
// written or sent: these are the bounds of whatever is built on it.

import { SystemClock } from '@parley/core'
import { sodium } from '@parley/keys/sodium'
import type { LinkIdentity } from '@parley/link'
import { Scribe } from '../../packages/link/src/envelope/envelope.ts'
import { parseWire } from '../../packages/link/src/json/parse.ts'
import type { WireObject } from '../../packages/link/src/json/value.ts'
import { canonicalText } from '../../packages/link/src/json/write.ts'

/** Steps that are made before the time is looked at again. */
const BATCH = 50

export class Bare {
  readonly #identity: LinkIdentity
  readonly #message: Buffer
  readonly #signature: Buffer

  /** The bytes that the signature of a ping covers. */
  constructor(identity: LinkIdentity) {
    this.#identity = identity
    const scribe = new Scribe(identity, new SystemClock())
    const wire = scribe.request(identity.id, scribe.newId(), 'link.ping', { nonce: scribe.newId() })
    const { alp, ...rest } = parseWire(wire) as { readonly alp: WireObject }
    const { sig: _, ...unsigned } = alp
    this.#message = Buffer.from(canonicalText({ ...rest, alp: unsigned }))
    this.#signature = identity.sign(this.#message)
  }

  get messageBytes(): number {
    return this.#message.length
  }

  verified(milliseconds: number): number {
    return perSecond(milliseconds, () => this.#verify(this.#signature))
  }

  signedAndVerified(milliseconds: number): number {
    return perSecond(milliseconds, () => this.#verify(this.#identity.sign(this.#message)))
  }

  /** Bytes per second that are enciphered and deciphered, in the same memory every time. */
  ciphered(size: number, milliseconds: number): number {
    const [plaintext, key, nonce] = [Buffer.alloc(size, 1), Buffer.alloc(32, 2), Buffer.alloc(12)]
    const ciphertext = Buffer.alloc(size + sodium.crypto_aead_chacha20poly1305_ietf_ABYTES)
    const step = () => {
      sodium.crypto_aead_chacha20poly1305_ietf_encrypt(ciphertext, plaintext, null, null, nonce, key)
      sodium.crypto_aead_chacha20poly1305_ietf_decrypt(plaintext, null, ciphertext, null, nonce, key)
    }
    return size * perSecond(milliseconds, step, 1)
  }

  #verify(signature: Buffer): void {
    if (!sodium.crypto_sign_verify_detached(signature, this.#message, this.#identity.publicKey))
      throw new Error('a signature of ours is wrong')
  }
}

function perSecond(milliseconds: number, step: () => void, batch = BATCH): number {
  let steps = 0
  const start = performance.now()
  do {
    for (let each = 0; each < batch; each++) step()
    steps += batch
  } while (performance.now() - start < milliseconds)
  return (steps / (performance.now() - start)) * 1000
}
