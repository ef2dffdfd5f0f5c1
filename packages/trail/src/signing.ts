// Signatures over global hashes (W-TRAIL-15): Ed25519 through libsodium. A signer is named by its public key, in the same form
// as an ALP identity: base64 of the 32 raw bytes.
import { Worker } from 'node:worker_threads'
import sodium from 'sodium-native'
import { workerArguments, workerFile } from './worker.ts'

export interface Signer {
  /** The public key, base64. */
  readonly id: string
  /** The signature of a hash given in hexadecimal, in hexadecimal. Throws when the key is gone: the append then fails. */
  sign(hash: string): string
  /**
   * Signs many at once without holding up the caller: 32 bytes for each hash in, 64 bytes for each signature out, in the same order.
   * Rejects when the key is gone. One call at a time.
   */
  signMany?(hashes: Buffer): Promise<Uint8Array>
  /** Ends what `signMany` started. */
  close?(): void
}

export function ed25519Signer(seed: Uint8Array): Signer {
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = sodium.sodium_malloc(sodium.crypto_sign_SECRETKEYBYTES)
  const kept = sodium.sodium_malloc(seed.length)
  kept.set(seed)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, kept)
  const message = Buffer.alloc(32)
  const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
  let thread: Worker | undefined
  return {
    id: publicKey.toString('base64'),
    sign(hash) {
      message.write(hash, 'hex')
      sodium.crypto_sign_detached(signature, message, secretKey)
      return signature.toString('hex')
    },
    signMany(hashes) {
      thread ??= startThread(kept)
      return answer(thread, hashes)
    },
    close() {
      void thread?.terminate()
      thread = undefined
    },
  }
}

function startThread(seed: Buffer): Worker {
  const thread = new Worker(workerFile('./signing-thread', import.meta.url), {
    execArgv: workerArguments(),
    name: 'trail signatures',
    workerData: Uint8Array.from(seed),
  })
  thread.unref()
  return thread
}

function answer(thread: Worker, hashes: Buffer): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      thread.off('message', done)
      thread.off('error', failed)
      thread.off('exit', gone)
      thread.unref()
      end()
    }
    const done = (signatures: Uint8Array) => settle(() => resolve(signatures))
    const failed = (cause: Error) => settle(() => reject(cause))
    const gone = () => failed(new Error('the signing thread has ended'))
    // Somebody waits for this: the process does not end before the answer.
    thread.ref()
    thread.on('message', done)
    thread.on('error', failed)
    thread.on('exit', gone)
    thread.postMessage({ hashes })
  })
}

/** Whether `signature` was made over `hash` by the holder of the key that `signer` names. */
export function signatureValid(signer: string, hash: string, signature: string): boolean {
  const key = Buffer.from(signer, 'base64')
  const bytes = Buffer.from(signature, 'hex')
  if (key.length !== sodium.crypto_sign_PUBLICKEYBYTES || bytes.length !== sodium.crypto_sign_BYTES)
    return false
  return sodium.crypto_sign_verify_detached(bytes, Buffer.from(hash, 'hex'), key)
}
