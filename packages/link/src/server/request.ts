// What a handler gets and what it gives back. Only envelopes that passed every silent check get this far: verified,
// addressed to us, sent by a pinned identity, over a connection that this identity holds (ALP-SRV-01, steps 1 to 3).
import { JSONRPC, type WireError } from '../envelope/envelope.ts'
import type { Message } from '../envelope/verify.ts'
import { integerOf, isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import { linkLimits } from '../limits.ts'
import type { Carrier, Channel } from '../transport/channel.ts'

export interface LinkRequest {
  /** Opaque, and repeated in every response (ALP-ENV-06); null unless the sender wrote a string. */
  readonly id: string | null
  /** Empty if the request has none. */
  readonly method: string
  /** Why this authentic message is not a request: refused once its place in the minute is taken (ALP-SRV-04). */
  readonly malformed?: string | undefined
  /** Undefined if the sender wrote something other than an object: refused once the handler would run (ALP-SRV-03). */
  readonly params: WireObject | undefined
  /** The identity that signed it, and is pinned. */
  readonly from: string
  /** The most bytes of one envelope of the answer (ALP-UNIX-04, ALP-TCP-04). */
  readonly most: number
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
export type StreamPart = { readonly chunk: WireValue } | { readonly final: WireValue } | { readonly error: WireError }

export type Reply =
  | { readonly result: WireValue }
  | { readonly error: WireError }
  | { readonly stream: AsyncIterable<StreamPart> }

/**
 * Answers one request. What it throws becomes `internal-error` (ALP-SRV-03), and so does a stream that ends without its
 * last part. A stream is asked for its next part once the one before was handed on; its `return` is called when the
 * caller is gone.
 */
export type LinkHandler = (request: LinkRequest, connection: LinkConnection) => Reply | Promise<Reply>

export function requestOf(message: Message, channel: Pick<Channel, 'carrier' | 'most'>): LinkRequest {
  const { id, method } = message.body
  const params = paramsOf(message.body.params)
  return {
    id: typeof id === 'string' ? id : null,
    method: typeof method === 'string' ? method : '',
    malformed: malformedIn(message.body),
    params,
    from: message.from,
    most: channel.carrier === 'unix' ? lineRoom(params) : channel.most,
    message,
  }
}

/** ALP-ENV-01: what every request has. */
function malformedIn({ jsonrpc, id, method }: WireObject): string | undefined {
  if (jsonrpc !== JSONRPC) return `jsonrpc is not "${JSONRPC}"`
  if (typeof id !== 'string') return 'id is not a string'
  return typeof method === 'string' ? undefined : 'method is not a string'
}

/** ALP-ENV-06: absent or null is an empty object. */
function paramsOf(params: WireValue = null): WireObject | undefined {
  if (params === null) return {}
  return isWireObject(params) ? params : undefined
}

/** ALP-UNIX-04: early revisions read short lines; a client that reads longer ones says so. */
function lineRoom(params: WireObject | undefined): number {
  const said = integerOf(params?.max_line)
  // The line feed counts where an early revision counts it.
  return Math.min(Math.max(Number(said ?? 0), linkLimits.cautiousLineBytes - 1), linkLimits.lineBytes)
}
