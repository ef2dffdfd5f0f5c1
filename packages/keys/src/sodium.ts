// libsodium: the part of sodium-native that Parley uses, with its types, and Ed25519 made of it. An entry of its own,
// since loading libsodium takes longer than everything else here.
import native from 'sodium-native'
import { PUBLIC_KEY_BYTES, SEED_BYTES, SIGNATURE_BYTES } from './public-key.ts'

interface Sodium {
  readonly crypto_scalarmult_BYTES: number
  readonly crypto_scalarmult_SCALARBYTES: number
  readonly crypto_sign_BYTES: number
  readonly crypto_sign_SECRETKEYBYTES: number
  readonly crypto_aead_chacha20poly1305_ietf_ABYTES: number
  readonly crypto_aead_xchacha20poly1305_ietf_ABYTES: number
  readonly crypto_aead_xchacha20poly1305_ietf_NPUBBYTES: number
  readonly crypto_secretstream_xchacha20poly1305_STATEBYTES: number
  readonly crypto_secretstream_xchacha20poly1305_HEADERBYTES: number
  readonly crypto_secretstream_xchacha20poly1305_ABYTES: number
  readonly crypto_secretstream_xchacha20poly1305_TAGBYTES: number
  readonly crypto_secretstream_xchacha20poly1305_TAG_MESSAGE: number
  readonly crypto_secretstream_xchacha20poly1305_TAG_FINAL: number
  /** Guarded memory, of which a process has little. */
  sodium_malloc(size: number): Buffer
  sodium_memzero(target: Buffer): void
  randombytes_buf(target: Buffer): void
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void
  crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void
  crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean
  crypto_sign_ed25519_sk_to_curve25519(target: Buffer, secretKey: Buffer): void
  crypto_scalarmult_base(target: Buffer, secretKey: Buffer): void
  /** Throws where the shared secret would be all zero. */
  crypto_scalarmult(target: Buffer, secretKey: Buffer, publicKey: Buffer): void
  readonly crypto_aead_chacha20poly1305_ietf_encrypt: Encrypt
  readonly crypto_aead_chacha20poly1305_ietf_decrypt: Decrypt
  readonly crypto_aead_xchacha20poly1305_ietf_encrypt: Encrypt
  readonly crypto_aead_xchacha20poly1305_ietf_decrypt: Decrypt
  crypto_secretstream_xchacha20poly1305_init_push(state: Buffer, header: Buffer, key: Buffer): void
  crypto_secretstream_xchacha20poly1305_push(
    state: Buffer,
    ciphertext: Buffer,
    message: Buffer,
    additional: Buffer | null,
    tag: number,
  ): number
  crypto_secretstream_xchacha20poly1305_init_pull(state: Buffer, header: Buffer, key: Buffer): void
  /** Throws where the ciphertext is not the next of this stream. */
  crypto_secretstream_xchacha20poly1305_pull(
    state: Buffer,
    message: Buffer,
    tag: Buffer,
    ciphertext: Buffer,
    additional: Buffer | null,
  ): number
}

/** Returns the bytes written to `ciphertext`. */
type Encrypt = (
  ciphertext: Buffer,
  message: Buffer,
  additional: Buffer | null,
  secretNonce: null,
  nonce: Buffer,
  key: Buffer,
) => number

/** Throws where the ciphertext is not what was made with this key, nonce and additional data. */
type Decrypt = (
  message: Buffer,
  secretNonce: null,
  ciphertext: Buffer,
  additional: Buffer | null,
  nonce: Buffer,
  key: Buffer,
) => number

export const sodium = native as Sodium

interface SigningKey {
  readonly publicKey: Buffer
  /** In guarded memory. */
  readonly secretKey: Buffer
}

/** Throws unless the seed has 32 bytes. */
export function signingKeyOf(seed: Uint8Array): SigningKey {
  if (seed.length !== SEED_BYTES) throw new TypeError(`an Ed25519 seed has ${SEED_BYTES} bytes, not ${seed.length}`)
  const publicKey = Buffer.alloc(PUBLIC_KEY_BYTES)
  const secretKey = sodium.sodium_malloc(sodium.crypto_sign_SECRETKEYBYTES)
  // No copy: the holder of the seed can wipe it.
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, Buffer.from(seed.buffer, seed.byteOffset, seed.byteLength))
  return { publicKey, secretKey }
}

/** The 64 bytes of the signature, in `target`. */
export function sign(
  { secretKey }: SigningKey,
  message: Buffer,
  target: Buffer = Buffer.allocUnsafe(SIGNATURE_BYTES),
): Buffer {
  sodium.crypto_sign_detached(target, message, secretKey)
  return target
}

/** ALP-ENV-03, W-TRAIL-15: pure Ed25519, no stranger encodings than libsodium takes. */
export function verify(publicKey: Buffer, message: Buffer, signature: Buffer): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  return sodium.crypto_sign_verify_detached(signature, message, publicKey)
}
