// Keys for content at rest, derived from the profile's secret (HKDF with SHA-256, RFC 5869), never stored (W-SEC-18).
import { hkdfSync } from 'node:crypto'
import { ParleyError, type RunId } from '@parley/core'
import { trailLimits } from '../limits.ts'
import { type ContentScope, scopeText } from './scope.ts'

export type ContentKey = Buffer

export interface ContentKeyRing {
  /** Undefined for a key that its holder was never given. */
  key(scope: ContentScope): Promise<ContentKey | undefined>
}

const KEY_BYTES = 32
const ID_BYTES = 8
/** Keeps these keys apart from whatever else is derived from the same secret. */
const PURPOSE = 'parley content key'

export class ContentKeys {
  /** Tells one secret from another and says nothing about it: 16 hexadecimal digits. */
  readonly id: string
  readonly #secret: Uint8Array
  /** Those used last, oldest first. */
  readonly #known = new Map<string, ContentKey>()

  constructor(secret: Uint8Array) {
    if (secret.length < KEY_BYTES) {
      const message = `The secret for content has ${secret.length} bytes; it needs at least ${KEY_BYTES}.`
      throw new ParleyError('invalid_argument', message)
    }
    this.#secret = Uint8Array.from(secret)
    this.id = this.#derive('id', ID_BYTES).toString('hex')
  }

  of(run: RunId, scope: ContentScope): ContentKey {
    // Ids have no spaces.
    return this.#kept(scope.of === 'trail' ? 'trail' : `scope ${run} ${scopeText(scope)}`)
  }

  ofState(run: RunId): ContentKey {
    return this.#kept(`state ${run}`)
  }

  ofProof(): ContentKey {
    return this.#kept('proof')
  }

  #kept(name: string): ContentKey {
    const known = this.#known.get(name)
    if (known) return known
    const key = this.#derive(name, KEY_BYTES)
    const [oldest] = this.#known.keys()
    if (this.#known.size >= trailLimits.contentKeys && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(name, key)
    return key
  }

  #derive(name: string, bytes: number): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `${PURPOSE} ${name}`, bytes))
  }
}
