// The part of sodium-native that the trail uses; the package has no types of its own.
declare module 'sodium-native' {
  interface Sodium {
    readonly crypto_sign_PUBLICKEYBYTES: number
    readonly crypto_sign_SECRETKEYBYTES: number
    readonly crypto_sign_BYTES: number
    readonly crypto_aead_xchacha20poly1305_ietf_NPUBBYTES: number
    readonly crypto_aead_xchacha20poly1305_ietf_ABYTES: number
    readonly crypto_secretstream_xchacha20poly1305_STATEBYTES: number
    readonly crypto_secretstream_xchacha20poly1305_HEADERBYTES: number
    readonly crypto_secretstream_xchacha20poly1305_ABYTES: number
    readonly crypto_secretstream_xchacha20poly1305_TAGBYTES: number
    readonly crypto_secretstream_xchacha20poly1305_TAG_MESSAGE: number
    readonly crypto_secretstream_xchacha20poly1305_TAG_FINAL: number
    sodium_malloc(size: number): Buffer
    randombytes_buf(target: Buffer): void
    crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void
    crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void
    crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean
    /** Returns the bytes written to `ciphertext`. */
    crypto_aead_xchacha20poly1305_ietf_encrypt(
      ciphertext: Buffer,
      message: Buffer,
      additional: Buffer | null,
      secretNonce: null,
      nonce: Buffer,
      key: Buffer,
    ): number
    /** Throws where the ciphertext is not what was made with this key, nonce and additional data. */
    crypto_aead_xchacha20poly1305_ietf_decrypt(
      message: Buffer,
      secretNonce: null,
      ciphertext: Buffer,
      additional: Buffer | null,
      nonce: Buffer,
      key: Buffer,
    ): number
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
  const sodium: Sodium
  export default sodium
}
