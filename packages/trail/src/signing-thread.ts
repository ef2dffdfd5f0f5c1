// Signs on a thread of its own: an Ed25519 signature takes longer than everything else that an append costs, so under
// load the main thread would do little else.
import { parentPort, workerData } from 'node:worker_threads'
import { SIGNATURE_BYTES } from '@parley/keys'
import { sign, signingKeyOf } from '@parley/keys/sodium'

const HASH_BYTES = 32

/** The thread gets hashes one behind the other and answers with their signatures one behind the other. */
export interface SigningRequest {
  readonly hashes: Uint8Array
}

const key = signingKeyOf(workerData as Uint8Array)

parentPort?.on('message', ({ hashes }: SigningRequest) => {
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
