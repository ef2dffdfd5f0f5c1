// The part of sodium-native that ALP uses; the package has no types of its own.
declare module 'sodium-native' {
  interface Sodium {
    readonly crypto_sign_PUBLICKEYBYTES: number
    readonly crypto_sign_SECRETKEYBYTES: number
    readonly crypto_sign_BYTES: number
    readonly crypto_scalarmult_BYTES: number
    readonly crypto_scalarmult_SCALARBYTES: number
    readonly crypto_aead_chacha20poly1305_ietf_ABYTES: number
    readonly crypto_aead_chacha20poly1305_ietf_NPUBBYTES: number
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
    /** Returns the bytes written to `ciphertext`. */
    crypto_aead_chacha20poly1305_ietf_encrypt(
      ciphertext: Buffer,
      message: Buffer,
      additional: Buffer | null,
      secretNonce: null,
      nonce: Buffer,
      key: Buffer,
    ): number
    /** Throws where the ciphertext is not what was made with this key, nonce and additional data. */
    crypto_aead_chacha20poly1305_ietf_decrypt(
      message: Buffer,
      secretNonce: null,
      ciphertext: Buffer,
      additional: Buffer | null,
      nonce: Buffer,
      key: Buffer,
    ): number
  }
  const sodium: Sodium
  export default sodium
}
