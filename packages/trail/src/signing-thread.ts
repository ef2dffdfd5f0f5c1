// Signs on a thread of its own: an Ed25519 signature takes longer than everything else that an append costs, so under load the main
// thread would do little else.
import { parentPort, workerData } from 'node:worker_threads'
import sodium from 'sodium-native'

export const HASH_BYTES = 32
export const SIGNATURE_BYTES = 64

/** The thread gets hashes one behind the other and answers with their signatures one behind the other. */
export interface SigningRequest {
  readonly hashes: Uint8Array
}

const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
const secretKey = sodium.sodium_malloc(sodium.crypto_sign_SECRETKEYBYTES)
sodium.crypto_sign_seed_keypair(publicKey, secretKey, Buffer.from(workerData as Uint8Array))

parentPort?.on('message', ({ hashes }: SigningRequest) => {
  const given = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength)
  const count = given.length / HASH_BYTES
  const signatures = Buffer.alloc(count * SIGNATURE_BYTES)
  for (let index = 0; index < count; index++) {
    sodium.crypto_sign_detached(
      signatures.subarray(index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES),
      given.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
      secretKey,
    )
  }
  parentPort?.postMessage(signatures, [signatures.buffer])
})
