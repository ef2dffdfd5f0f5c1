// Makes messages (ALP-ENV-01 to -06, -13, -14): one JSON object with its `alp` block, signed over the canonical form of
// everything but the signature itself.
import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '@parley/core'
import type { LinkIdentity } from '../identity/identity.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { canonicalText, wireText } from '../json/write.ts'
import { writeTs } from './timestamp.ts'

export const ALP_VERSION = 1
/** ALP-ENV-01: `jsonrpc` of every message. */
export const JSONRPC = '2.0'
const NONCE_BYTES = 16
const POOL_BYTES = 4096
/** Members of a message stand one level inside it. */
const INSIDE = 1

/** `error` of a response (ALP-ENV-13): always these three members. */
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data: WireObject | null
}

/** What a response says. */
export type ResponseBody =
  | { readonly result: WireValue; readonly stream?: 'chunk' | 'final' }
  | { readonly error: WireError }

/** Signs what one identity says. */
export class Scribe {
  readonly identity: LinkIdentity
  readonly #clock: Clock
  readonly #from: string

  constructor(identity: LinkIdentity, clock: Clock) {
    this.identity = identity
    this.#clock = clock
    this.#from = wireText(identity.id)
  }

  /** ALP-ENV-06: an id that is unique to the request. */
  newId(): string {
    return randomUUID()
  }

  /** The bytes of a request. Throws `not_canonical` where params hold what cannot be sent. */
  request(to: string, id: string, method: string, params: WireObject): Buffer {
    const [own, name] = [wireText(id), wireText(method)]
    const alp = this.#alp(to)
    const sig = this.#sign(
      `{"alp":${alp.canonical},"id":${own},"jsonrpc":"${JSONRPC}","method":${name},"params":${canonicalText(params, INSIDE)}}`,
    )
    return Buffer.from(
      `{"jsonrpc":"${JSONRPC}","id":${own},"method":${name},"params":${wireText(params, INSIDE)},"alp":${alp.wire(sig)}}`,
    )
  }

  /** The bytes of a response. ALP-ENV-13: a result is never null. `id` is that of the request, unchanged. */
  response(to: string, id: WireValue, says: ResponseBody): Buffer {
    const alp = this.#alp(to)
    const name = 'error' in says ? 'error' : 'result'
    const value = 'error' in says ? errorOf(says.error) : (says.result ?? {})
    const stream = 'stream' in says && says.stream !== undefined ? `,"stream":"${says.stream}"` : ''
    const member = `"${name}":${canonicalText(value, INSIDE)}`
    const [before, behind] = name === 'error' ? [`${member},`, ''] : ['', `,${member}`]
    const sig = this.#sign(
      `{"alp":${alp.canonical},${before}"id":${canonicalText(id, INSIDE)},"jsonrpc":"${JSONRPC}"${behind}${stream}}`,
    )
    return Buffer.from(
      `{"jsonrpc":"${JSONRPC}","id":${wireText(id, INSIDE)},"alp":${alp.wire(sig)},"${name}":${wireText(value, INSIDE)}${stream}}`,
    )
  }

  /** ALP-ENV-02. What is signed and what is sent are the same members in two orders. */
  #alp(to: string): { readonly canonical: string; wire(sig: string): string } {
    const from = this.#from
    const recipient = wireText(to)
    const ts = writeTs(this.#clock.now())
    const nonce = newNonce()
    return {
      canonical: `{"from":${from},"nonce":"${nonce}","to":${recipient},"ts":"${ts}","v":${ALP_VERSION}}`,
      wire: sig =>
        `{"v":${ALP_VERSION},"from":${from},"to":${recipient},"ts":"${ts}","nonce":"${nonce}","sig":"${sig}"}`,
    }
  }

  #sign(canonical: string): string {
    return this.identity.sign(Buffer.from(canonical)).toString('base64')
  }
}

/** The order of members is that of the reference. */
function errorOf({ code, message, data }: WireError): WireObject {
  return { code, message, data }
}

let pool: Buffer = Buffer.alloc(0)
let used = 0

/** Cut from a pool: asking the system for each nonce costs more than writing its message. */
function newNonce(): string {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES)
    used = 0
  }
  used += NONCE_BYTES
  return pool.toString('hex', used - NONCE_BYTES, used)
}
