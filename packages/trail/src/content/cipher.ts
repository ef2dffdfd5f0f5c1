// Content at rest (W-SEC-16): what an object holds, sealed by XChaCha20-Poly1305 under the key of its scope, and bound
// to its place, so that no sealed text can stand for another. Entries are never sealed: they must stay readable for
// queries and for verification.
//
//   enc:1:<id of the secret>:<scope>:<base64 of 24 bytes nonce and ciphertext>
//
// What is not sealed is proven instead, by HMAC-SHA-256 over the same place and the content, so that it cannot be
// changed unnoticed:
//
//   mac:1:<id of the secret>:<64 hexadecimal digits>:<canonical JSON>
//
// Canonical JSON never begins so: objects that were written before either began are told apart by their first letters.
import { ParleyError, type RunId } from '@parley/core'
import { sodium } from '@parley/keys/sodium'
import type { StoredObject } from '../entry.ts'
import type { DeploymentModel } from '../events/index.ts'
import { HmacKey } from './hmac.ts'
import { type ContentKey, type ContentKeyRing, ContentKeys } from './keys.ts'
import { type ContentScope, parseScope, scopeText } from './scope.ts'

/** How far one key reaches, from the weakest on; `none`: content is proven, and anybody can read it. */
export const SEALINGS = ['none', 'trail', 'workspace'] as const
export type Sealing = (typeof SEALINGS)[number]

/** How content is kept under a deployment model (W-SEC-16). */
export function sealingOf(model: DeploymentModel): Sealing {
  switch (model) {
    case 'single-runtime':
      return 'none'
    case 'shared-infrastructure':
      return 'trail'
    case 'zero-trust':
      return 'workspace'
  }
}

/** Where a sealed text belongs. It opens nowhere else. */
export interface ContentPlace {
  readonly run: RunId
  readonly id: string
  readonly kind: string
}

interface Sealed {
  readonly secret: string
  readonly scope: ContentScope
  readonly bytes: Buffer
}

const PREFIX = 'enc:1:'
const PROVEN = 'mac:1:'
const ID_LENGTH = 16
const PROOF_LENGTH = 64
/** Where the content of a proven object begins. */
const CONTENT_AT = PROVEN.length + ID_LENGTH + 1 + PROOF_LENGTH + 1
const NONCE_BYTES = sodium.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
const TAG_BYTES = sodium.crypto_aead_xchacha20poly1305_ietf_ABYTES

export class ContentCipher {
  readonly keys: ContentKeys
  /** How content is written from now on. What was sealed before is opened anyway. */
  readonly sealing: Sealing
  readonly #proof: HmacKey

  /** Opens what any model has sealed, and seals as this one asks for. */
  static for(model: DeploymentModel, secret: Uint8Array): ContentCipher {
    return new ContentCipher(new ContentKeys(secret), sealingOf(model))
  }

  constructor(keys: ContentKeys, sealing: Sealing) {
    this.keys = keys
    this.sealing = sealing
    this.#proof = new HmacKey(keys.ofProof())
  }

  /** Seals an object that is about to be written, or proves it where nothing is sealed. */
  sealObject(object: StoredObject, scope: ContentScope = { of: 'run' }, sealing: Sealing = this.sealing): StoredObject {
    if (sealing === 'none') {
      const proof = this.#proofOf(object, object.data)
      return { ...object, data: `${PROVEN}${this.keys.id}:${proof}:${object.data}` }
    }
    const reach: ContentScope = sealing === 'trail' ? { of: 'trail' } : scope
    return { ...object, data: this.seal(object.data, placeOf(object), reach) }
  }

  seal(text: string, place: ContentPlace, scope: ContentScope): string {
    const plain = Buffer.from(text, 'utf8')
    const sealed = Buffer.allocUnsafe(NONCE_BYTES + plain.length + TAG_BYTES)
    const nonce = sealed.subarray(0, NONCE_BYTES)
    sodium.randombytes_buf(nonce)
    const box = sealed.subarray(NONCE_BYTES)
    const key = this.keys.of(place.run, scope)
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(box, plain, boundTo(place), null, nonce, key)
    return `${PREFIX}${this.keys.id}:${scopeText(scope)}:${sealed.toString('base64')}`
  }

  /** Ids and kinds have no line breaks. */
  #proofOf({ run, id, objectKind }: StoredObject, content: string): string {
    return this.#proof.sign(`${run}\n${id}\n${objectKind}\n${content}`)
  }

  /** Throws `content_key_missing` for what another secret has proven. */
  isProof(object: StoredObject): boolean {
    const { data } = object
    if (data.slice(PROVEN.length, PROVEN.length + ID_LENGTH) !== this.keys.id)
      throw keyMissing(placeOf(object), 'other_proof')
    const proof = data.slice(CONTENT_AT - 1 - PROOF_LENGTH, CONTENT_AT - 1)
    return proof === this.#proofOf(object, data.slice(CONTENT_AT))
  }

  /** `given`: a key that its holder was given, in place of the secret's own. */
  open(text: string, place: ContentPlace, given?: ContentKey): string {
    const sealed = this.#parse(text, place)
    return opened(sealed, place, given ?? this.keys.of(place.run, sealed.scope))
  }

  /** The key of a ring for a sealed object; undefined for an object that needs none. */
  async keyOf(ring: ContentKeyRing, object: StoredObject): Promise<ContentKey | undefined> {
    if (!isSealed(object.data)) return undefined
    const place = placeOf(object)
    const key = await ring.key(this.#parse(object.data, place).scope)
    if (!key) throw keyMissing(place, 'not_given')
    return key
  }

  #parse(text: string, place: ContentPlace): Sealed {
    const sealed = parseSealed(text)
    if (!sealed) throw damaged(place)
    if (sealed.secret !== this.keys.id) throw keyMissing(place, 'other_secret')
    return sealed
  }
}

export function isSealed(data: string): boolean {
  return data.startsWith(PREFIX)
}

function isProven(data: string): boolean {
  return data.startsWith(PROVEN)
}

/** The result of checking content against its proof. Undefined where nobody can tell without the secret. */
export type ContentProof = 'valid' | 'missing' | 'forged' | undefined

export function proofOf(object: StoredObject, cipher: ContentCipher | undefined): ContentProof {
  if (!cipher) return undefined
  if (isSealed(object.data)) return 'valid'
  if (!isProven(object.data)) return 'missing'
  return cipher.isProof(object) ? 'valid' : 'forged'
}

/** A proven object without its proof, checked or not; any other one as it is. */
export function unwrapProven(object: StoredObject): StoredObject {
  if (!isProven(object.data)) return object
  const { blob: _blob, ...rest } = object
  return { ...rest, data: object.data.slice(CONTENT_AT) }
}

/**
 * The object with its content opened. Unsealed content is not checked here (`proofOf`). Throws `content_key_missing`
 * without the right secret, and `content_damaged` where the content was changed.
 */
export function openObject(object: StoredObject, cipher: ContentCipher | undefined, given?: ContentKey): StoredObject {
  if (!isSealed(object.data)) return unwrapProven(object)
  const place = placeOf(object)
  if (!cipher) throw keyMissing(place, 'no_secret')
  const { blob: _blob, ...rest } = object
  return { ...rest, data: cipher.open(object.data, place, given) }
}

/** For an object that is not what its run has sealed or proven. */
export function damagedContent(object: StoredObject, cause?: unknown): ParleyError {
  return damaged(placeOf(object), cause)
}

function placeOf({ run, id, objectKind }: StoredObject): ContentPlace {
  return { run, id, kind: objectKind }
}

function parseSealed(text: string): Sealed | undefined {
  const secretEnd = text.indexOf(':', PREFIX.length)
  const scopeEnd = text.indexOf(':', secretEnd + 1)
  if (!isSealed(text) || secretEnd < 0 || scopeEnd < 0) return undefined
  const scope = parseScope(text.slice(secretEnd + 1, scopeEnd))
  const bytes = Buffer.from(text.slice(scopeEnd + 1), 'base64')
  if (!scope || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  return { secret: text.slice(PREFIX.length, secretEnd), scope, bytes }
}

function opened({ bytes }: Sealed, place: ContentPlace, key: ContentKey): string {
  const plain = Buffer.allocUnsafe(bytes.length - NONCE_BYTES - TAG_BYTES)
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const box = bytes.subarray(NONCE_BYTES)
  try {
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(plain, null, box, boundTo(place), nonce, key)
  } catch (cause) {
    throw damaged(place, cause)
  }
  return plain.toString('utf8')
}

/** Ids and kinds have no line breaks. */
function boundTo({ run, id, kind }: ContentPlace): Buffer {
  return Buffer.from(`${run}\n${id}\n${kind}`, 'latin1')
}

const MISSING = {
  not_given: 'the reader was never given its key',
  other_secret: 'it was sealed with another secret; restore the one that it was sealed with',
  other_proof: 'it was proven with another secret; restore the one that it was proven with',
  no_secret: 'the trail was opened without the secret that it was sealed with',
} as const

function keyMissing({ run, id, kind }: ContentPlace, reason: keyof typeof MISSING): ParleyError {
  const message = `The ${kind} ${id} of ${run} cannot be opened: ${MISSING[reason]}.`
  return new ParleyError('content_key_missing', message, { details: { run, object: id, reason } })
}

function damaged({ run, id, kind }: ContentPlace, cause?: unknown): ParleyError {
  const message = `The ${kind} ${id} of ${run} is not what was sealed or proven; restore it from a backup.`
  return new ParleyError('content_damaged', message, { details: { run, object: id }, cause })
}
