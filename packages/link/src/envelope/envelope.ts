// Messages as they are made (ALP-ENV-01 to -06, -13, -14): one JSON object with its `alp` block, signed over the canonical form of everything
// but the signature itself.
import { randomBytes } from 'node:crypto'
import type { Clock } from '@parley/core'
import type { LinkIdentity } from '../identity/identity.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { canonicalBytes, wireText } from '../json/write.ts'
import { writeTs } from './timestamp.ts'

export const ALP_VERSION = 1
const NONCE_BYTES = 16
const ID_BYTES = 16

export const STREAM_MARKS = ['chunk', 'final'] as const
export type StreamMark = (typeof STREAM_MARKS)[number]

/** `error` of a response (ALP-ENV-13): always these three members. */
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data: WireObject | null
}

/** What a response says. */
export type ResponseBody =
  | { readonly result: WireValue; readonly stream?: StreamMark }
  | { readonly error: WireError }

/** Signs what one identity says. */
export class Scribe {
  readonly identity: LinkIdentity
  readonly #clock: Clock

  constructor(identity: LinkIdentity, clock: Clock) {
    this.identity = identity
    this.#clock = clock
  }

  /** ALP-ENV-06: an id that is unique to the request. */
  newId(): string {
    return randomBytes(ID_BYTES).toString('hex')
  }

  /** The bytes of a request. Throws `not_canonical` where params hold what cannot be sent. */
  request(to: string, id: string, method: string, params: WireObject): Buffer {
    const alp = this.#alp(to)
    const body = { jsonrpc: '2.0', id, method, params }
    return this.#sealed({ ...body, alp }, sig => ({ ...body, alp: { ...alp, sig } }))
  }

  /** The bytes of a response. ALP-ENV-13: a result is never null. `id` is that of the request, unchanged. */
  response(to: string, id: WireValue, says: ResponseBody): Buffer {
    const alp = this.#alp(to)
    const head = { jsonrpc: '2.0', id }
    const body = bodyOf(says)
    return this.#sealed({ ...head, alp, ...body }, sig => ({ ...head, alp: { ...alp, sig }, ...body }))
  }

  #alp(to: string): WireObject {
    const nonce = randomBytes(NONCE_BYTES).toString('hex')
    return { v: ALP_VERSION, from: this.identity.id, to, ts: writeTs(this.#clock.now()), nonce }
  }

  #sealed(unsigned: WireObject, withSignature: (sig: string) => WireObject): Buffer {
    const signature = this.identity.sign(canonicalBytes(unsigned))
    return Buffer.from(wireText(withSignature(signature.toString('base64'))), 'utf8')
  }
}

function bodyOf(says: ResponseBody): WireObject {
  if ('error' in says) {
    const { code, message, data } = says.error
    return { error: { code, message, data } }
  }
  const result = says.result ?? {}
  return says.stream === undefined ? { result } : { result, stream: says.stream }
}
