// What a handler gets and what it gives back. Only envelopes that passed every silent check come so far: verified, addressed to us, sent by a
// pinned identity, over a connection that this identity holds (ALP-SRV-01, steps 1 to 3).
import type { WireError } from '../envelope/envelope.ts'
import type { Message } from '../envelope/verify.ts'
import { Float, isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import type { Carrier } from '../transport/channel.ts'

export interface LinkRequest {
  /** Opaque, and repeated in every response (ALP-ENV-06); null where the sender wrote none. */
  readonly id: WireValue
  /** A string in every genuine request; null where there is none (ALP-SRV-02). */
  readonly method: WireValue
  /** Undefined where the sender wrote something that is no object: an internal error once the handler would run (ALP-SRV-03). */
  readonly params: WireObject | undefined
  /** The identity that signed it, and is pinned. */
  readonly from: string
  readonly message: Message
}

export interface LinkConnection {
  readonly carrier: Carrier
  /** `host:port` of a caller over TCP. */
  readonly remote: string | undefined
  /** Aborts when the caller is gone or the server stops: nobody will read the answer. */
  readonly signal: AbortSignal
}

/** A part of a streamed answer (ALP-ASK-06): chunks, then one `final` or one `error`. */
export type StreamPart =
  | { readonly chunk: WireValue }
  | { readonly final: WireValue }
  | { readonly error: WireError }

export type Reply =
  | { readonly result: WireValue }
  | { readonly error: WireError }
  | { readonly stream: AsyncIterable<StreamPart> }

/**
 * Answers one request. What it throws becomes `internal-error` (ALP-SRV-03), and so does a stream that ends without its last part. A stream is
 * asked for its next part when the one before was handed on; when the caller is gone its `return` is called.
 */
export type LinkHandler = (request: LinkRequest, connection: LinkConnection) => Reply | Promise<Reply>

export function requestOf(message: Message): LinkRequest {
  const { id = null, method = null, params = null } = message.body
  return { id, method, params: paramsOf(params), from: message.from, message }
}

/** ALP-ENV-06: what Python takes for nothing is an empty object. */
function paramsOf(params: WireValue): WireObject | undefined {
  if (isWireObject(params)) return params
  return isNothing(params) ? {} : undefined
}

function isNothing(value: WireValue): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (value instanceof Float) return value.value === 0
  return !value
}
