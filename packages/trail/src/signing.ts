// Signatures over global hashes (W-TRAIL-15): Ed25519 through libsodium. A signer is named by its public key, base64.
import { Worker } from 'node:worker_threads'
import { SIGNATURE_BYTES } from '@parley/keys'
import { sign, signingKeyOf, sodium, verify } from '@parley/keys/sodium'
import { workerArguments, workerFile } from './worker.ts'

const HASH_BYTES = 32

export interface Signer {
  readonly id: string
  /** The signature of a hash, both in hexadecimal. Throws when the key is gone: the append then fails. */
  sign(hash: string): string
  /**
   * Signs many without blocking the caller: 32 bytes per hash in, 64 bytes per signature out, in order. Rejects when
   * the key is gone. Calls are answered in order.
   */
  signMany?(hashes: Buffer): Promise<Uint8Array>
  close?(): void
}

export function ed25519Signer(seed: Uint8Array): Signer {
  const key = signingKeyOf(seed)
  const kept = sodium.sodium_malloc(seed.length)
  kept.set(seed)
  const message = Buffer.alloc(HASH_BYTES)
  const signature = Buffer.alloc(SIGNATURE_BYTES)
  let thread: SigningThread | undefined
  return {
    id: key.publicKey.toString('base64'),
    sign(hash) {
      message.write(hash, 'hex')
      return sign(key, message, signature).toString('hex')
    },
    signMany(hashes) {
      if (!thread || thread.gone) thread = new SigningThread(kept)
      return thread.sign(hashes)
    },
    close() {
      thread?.close()
      thread = undefined
    },
  }
}

/** The thread's side of the conversation: it answers in the order in which it was asked. */
class SigningThread {
  readonly #worker: Worker
  readonly #asked: PromiseWithResolvers<Uint8Array>[] = []
  gone = false

  constructor(seed: Buffer) {
    this.#worker = new Worker(workerFile('./signing-thread', import.meta.url), {
      execArgv: workerArguments(),
      name: 'trail signatures',
      workerData: Uint8Array.from(seed),
    })
    this.#worker.on('message', (signatures: Uint8Array) => {
      this.#asked.shift()?.resolve(signatures)
      if (this.#asked.length === 0) this.#worker.unref()
    })
    this.#worker.on('error', cause => this.#lose(cause))
    this.#worker.on('exit', () => this.#lose(new Error('the signing thread has ended')))
    this.#worker.unref()
  }

  sign(hashes: Buffer): Promise<Uint8Array> {
    const asked = Promise.withResolvers<Uint8Array>()
    // Somebody waits for this: the process does not end before the answer.
    this.#worker.ref()
    this.#asked.push(asked)
    this.#worker.postMessage({ hashes })
    return asked.promise
  }

  close(): void {
    void this.#worker.terminate()
  }

  #lose(cause: Error): void {
    this.gone = true
    for (const asked of this.#asked.splice(0)) asked.reject(cause)
  }
}

/** Whether `signature` was made over `hash` by the holder of the key that `signer` names. */
export function signatureValid(signer: string, hash: string, signature: string): boolean {
  return verify(Buffer.from(signer, 'base64'), Buffer.from(hash, 'hex'), Buffer.from(signature, 'hex'))
}
