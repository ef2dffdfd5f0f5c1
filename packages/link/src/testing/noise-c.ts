// noise-c, an implementation of Noise by others (in C, compiled to WebAssembly), for tests: the part that is used, and
// how it is loaded.
import { createRequire } from 'node:module'

export interface NoiseC {
  readonly constants: { readonly NOISE_ROLE_INITIATOR: number; readonly NOISE_ROLE_RESPONDER: number }
  HandshakeState(name: string, role: number): ForeignHandshake
}

export interface ForeignHandshake {
  Initialize(prologue: Uint8Array | null, own: Uint8Array, remote?: Uint8Array): void
  WriteMessage(payload?: Uint8Array): Uint8Array
  ReadMessage(message: Uint8Array, payloadNeeded: boolean): Uint8Array | null
  GetHandshakeHash(): Uint8Array
  Split(): [ForeignCipher, ForeignCipher]
}

export interface ForeignCipher {
  EncryptWithAd(additional: Uint8Array, plaintext: Uint8Array): Uint8Array
  DecryptWithAd(additional: Uint8Array, ciphertext: Uint8Array): Uint8Array
}

type Load = (ready: (noise: NoiseC) => void) => void

/**
 * Its loader is from before Node.js had `fetch`, which it takes for a browser's; and it would end the process whenever
 * a promise is rejected.
 */
export async function loadNoiseC(): Promise<NoiseC> {
  const { fetch } = globalThis
  const events = ['uncaughtException', 'unhandledRejection'] as const
  const before = events.map(event => process.rawListeners(event))
  Reflect.deleteProperty(globalThis, 'fetch')
  try {
    const load = createRequire(import.meta.url)('noise-c.wasm') as Load
    return await new Promise(resolve => load(resolve))
  } finally {
    globalThis.fetch = fetch
    for (const [index, event] of events.entries())
      for (const listener of process.rawListeners(event))
        if (!before[index]!.includes(listener)) process.off(event, listener as () => void)
  }
}
