// What a caller accepts as an answer (ALP-ENV-12): the checks of any message, and that it comes from whom was dialled
// and belongs to the request.
import type { Ticks } from '@parley/core'
import { readWireError } from '../errors.ts'
import type { WireValue } from '../json/value.ts'
import { JSONRPC, type ResponseBody } from './envelope.ts'
import { type DropReason, type ReplayGuard, verifyMessage } from './verify.ts'

export interface ExpectedResponse {
  readonly self: string
  readonly dialled: string
  readonly id: string
  readonly now: Ticks
  /** Of this call alone (ALP-ENV-12): no message of it is taken twice. */
  readonly replay?: ReplayGuard
}

export type ResponseVerdict =
  | { readonly ok: true; readonly body: ResponseBody }
  | {
      readonly ok: false
      readonly reason: DropReason | 'sender' | 'jsonrpc' | 'id' | 'neither result nor error'
    }

export function readResponse(bytes: Uint8Array, { self, dialled, id, now, replay }: ExpectedResponse): ResponseVerdict {
  const verdict = verifyMessage(bytes, { self, now, ...(replay && { replay }) })
  if (!verdict.ok) return verdict
  const { body, from } = verdict.message
  if (from !== dialled) return { ok: false, reason: 'sender' }
  if (body.jsonrpc !== JSONRPC) return { ok: false, reason: 'jsonrpc' }
  if (body.id !== id) return { ok: false, reason: 'id' }
  // A plain answer has either; `error: null` beside a result is none.
  if (body.error !== undefined && body.error !== null) return { ok: true, body: { error: readWireError(body.error) } }
  if (body.result === undefined) return { ok: false, reason: 'neither result nor error' }
  return { ok: true, body: resultOf(body.result, body.stream) }
}

/** ALP-UNIX-08: whatever is not a chunk ends the exchange. */
function resultOf(result: WireValue, stream: WireValue | undefined): ResponseBody {
  return stream === 'chunk' || stream === 'final' ? { result, stream } : { result }
}
