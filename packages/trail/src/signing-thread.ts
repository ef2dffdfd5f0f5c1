// Signs on a thread of its own: an Ed25519 signature takes longer than all else that an append costs.
import { parentPort, workerData } from 'node:worker_threads'
// Only this entry: the thread starts in the middle of work, and the others load three times as long.
import { sign, signingKeyOf, sodium } from '@parley/keys/sodium'

const HASH_BYTES = 32
const SIGNATURE_BYTES = sodium.crypto_sign_BYTES

const key = signingKeyOf(workerData as Uint8Array)

// Hashes come one behind the other, and so do the signatures that answer them.
parentPort?.on('message', ({ hashes }: { readonly hashes: Uint8Array }) => {
  const given = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength)
  const count = given.length / HASH_BYTES
  const signatures = Buffer.alloc(count * SIGNATURE_BYTES)
  for (let index = 0; index < count; index++) {
    sign(
      key,
      given.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
      signatures.subarray(index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES),
    )
  }
  parentPort?.postMessage(signatures, [signatures.buffer])
})
