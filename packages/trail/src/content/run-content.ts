// Sealing and opening the content of one run. A run that began sealed stays so: a plain object in it is forged.
import type { RunId } from '@parley/core'
import type { StoredEntry, StoredObject } from '../entry.ts'
import type { DeploymentModel } from '../events/index.ts'
import {
  type ContentCipher,
  type ContentPlace,
  type ContentProof,
  damagedContent,
  isSealed,
  openObject,
  proofOf,
  SEALINGS,
  type Sealing,
  sealingOf,
} from './cipher.ts'
import type { ContentKey, ContentKeyRing } from './keys.ts'
import type { ContentScope } from './scope.ts'

type Place = Omit<ContentPlace, 'run'>

export class RunContent {
  readonly #run: RunId
  readonly #cipher: () => ContentCipher | undefined
  readonly #genesis: () => Promise<Pick<StoredEntry, 'view'> | undefined>
  /** How the first entry says that content is kept; undefined before that is known. */
  #began: Sealing | undefined
  /** The first entry says that every object carries a proof: one without was put there by somebody else. */
  #proven = false

  constructor(
    run: RunId,
    cipher: () => ContentCipher | undefined,
    genesis: () => Promise<Pick<StoredEntry, 'view'> | undefined>,
  ) {
    this.#run = run
    this.#cipher = cipher
    this.#genesis = genesis
  }

  /** To be called before a run that may have begun is read or written. */
  async learn(): Promise<void> {
    if (!this.#cipher() || this.#began !== undefined) return
    const genesis = await this.#genesis()
    if (genesis) this.begin(genesis)
  }

  /** The run has begun with this entry. */
  begin(genesis: Pick<StoredEntry, 'view'>): void {
    if (!this.#cipher() || this.#began !== undefined) return
    const { body } = JSON.parse(genesis.view) as {
      readonly body: { readonly deployment_model?: DeploymentModel; readonly content_proof?: string }
    }
    this.#began = body.deployment_model === undefined ? 'none' : sealingOf(body.deployment_model)
    this.#proven = body.content_proof !== undefined
  }

  seal(object: StoredObject, scope?: ContentScope): StoredObject {
    const cipher = this.#cipher()
    return cipher ? cipher.sealObject(object, scope, stronger(cipher.sealing, this.#began ?? 'none')) : object
  }

  proof(object: StoredObject): ContentProof {
    const proof = proofOf(object, this.#cipher())
    return proof === 'missing' && this.#proven ? 'forged' : proof
  }

  open(object: StoredObject, given?: ContentKey): StoredObject {
    const cipher = this.#cipher()
    const strict = cipher !== undefined && cipher.sealing !== 'none'
    if (strict && (this.#began ?? 'none') !== 'none' && !isSealed(object.data)) throw damagedContent(object)
    return openObject(object, cipher, given)
  }

  /** See `ContentCipher.keyOf`. */
  async keyOf(ring: ContentKeyRing, object: StoredObject): Promise<ContentKey | undefined> {
    return this.#cipher()?.keyOf(ring, object)
  }

  /** The key of a scope, for a runtime to hand over; undefined where the trail has no secret. */
  key(scope: ContentScope): ContentKey | undefined {
    return this.#cipher()?.keys.of(this.#run, scope)
  }

  /** Seals what leaves the process for a while; undefined where the trail has no secret. */
  sealText(scope: ContentScope, place: Place, text: string): string | undefined {
    return this.#cipher()?.seal(text, { ...place, run: this.#run }, scope)
  }

  /** Undefined for what is not what `sealText` has made for this place. */
  openText(place: Place, text: string): string | undefined {
    try {
      return this.#cipher()?.open(text, { ...place, run: this.#run })
    } catch {
      return undefined
    }
  }
}

function stronger(one: Sealing, other: Sealing): Sealing {
  return SEALINGS.indexOf(one) > SEALINGS.indexOf(other) ? one : other
}
