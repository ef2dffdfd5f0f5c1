// The part of sodium-native that the trail uses; the package has no types of its own.
declare module 'sodium-native' {
  interface Sodium {
    readonly crypto_sign_PUBLICKEYBYTES: number
    readonly crypto_sign_SECRETKEYBYTES: number
    readonly crypto_sign_BYTES: number
    sodium_malloc(size: number): Buffer
    crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void
    crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void
    crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean
  }
  const sodium: Sodium
  export default sodium
}
