// The proof of a kept state (W-SEC-16): HMAC-SHA-256 over the run's id and the content, with a key of its own.
//
//   32 bytes proof · content
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RunId } from '@parley/core'
import { kernelLimits } from '../limits.ts'
import type { Pieces } from '../runtime/actor/state-graph.ts'
import { derivation } from './keyed.ts'

const PROOF = 32
const PURPOSE = 'parley kept state'

export class StateProof {
  readonly #key: Buffer

  constructor(secret: Uint8Array) {
    this.#key = derivation(secret)(PURPOSE)
  }

  *seal(run: RunId, content: Uint8Array): Pieces<Uint8Array> {
    return Buffer.concat([yield* this.#prove(run, content), content])
  }

  /** The content; undefined where it was not sealed with this secret for this run, or was changed. */
  *open(run: RunId, sealed: Uint8Array): Pieces<Uint8Array | undefined> {
    if (sealed.length < PROOF) return undefined
    const content = sealed.subarray(PROOF)
    const proof = yield* this.#prove(run, content)
    return timingSafeEqual(proof, sealed.subarray(0, PROOF)) ? content : undefined
  }

  /** An id holds no null byte, so that nothing can move from the id into the content. */
  *#prove(run: RunId, content: Uint8Array): Pieces<Buffer> {
    const mac = createHmac('sha256', this.#key).update(`${run}\0`)
    for (let at = 0; at < content.length; at += kernelLimits.stateProofPiece) {
      mac.update(content.subarray(at, at + kernelLimits.stateProofPiece))
      yield
    }
    return mac.digest()
  }
}
