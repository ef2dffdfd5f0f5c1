// Signatures over global hashes (W-TRAIL-15): Ed25519 through libsodium. A signer is named by its public key, in the same form
// as an ALP identity: base64 of the 32 raw bytes.
import sodium from 'sodium-native'

export interface Signer {
  /** The public key, base64. */
  readonly id: string
  /** The signature of a hash given in hexadecimal, in hexadecimal. Throws when the key is gone: the append then fails. */
  sign(hash: string): string
}

export function ed25519Signer(seed: Uint8Array): Signer {
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = sodium.sodium_malloc(sodium.crypto_sign_SECRETKEYBYTES)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, Buffer.from(seed))
  const message = Buffer.alloc(32)
  const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
  return {
    id: publicKey.toString('base64'),
    sign(hash) {
      message.write(hash, 'hex')
      sodium.crypto_sign_detached(signature, message, secretKey)
      return signature.toString('hex')
    },
  }
}

/** Whether `signature` was made over `hash` by the holder of the key that `signer` names. */
export function signatureValid(signer: string, hash: string, signature: string): boolean {
  const key = Buffer.from(signer, 'base64')
  const bytes = Buffer.from(signature, 'hex')
  if (key.length !== sodium.crypto_sign_PUBLICKEYBYTES || bytes.length !== sodium.crypto_sign_BYTES)
    return false
  return sodium.crypto_sign_verify_detached(bytes, Buffer.from(hash, 'hex'), key)
}
