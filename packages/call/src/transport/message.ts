// One envelope as one message of bytes (CALL-TRANS-05, -06), without Node.js: with the length in front or bare. The two
// cannot be confused: within the limit a length begins with a byte of at most 4, a JSON text never does.
import { callLimits } from '../limits.ts'
import { type Envelope, ProtocolViolation, parseEnvelope } from '../wire/envelope.ts'

/** How messages are sent; `auto` copies the form of the first message received, and is prefixed until then. */
export type WsFraming = 'prefixed' | 'bare' | 'auto'

/** What becomes of text messages: they end the link with 1003, or are read as bare JSON. */
export type WsText = 'refuse' | 'accept'

const PREFIX = 4
const LARGEST_FIRST_BYTE = callLimits.frameBytes >>> 24

export function isPrefixed(message: Uint8Array): boolean {
  return message.length > 0 && message[0]! <= LARGEST_FIRST_BYTE
}

export type ParseBody = (bytes: Uint8Array, start: number, end: number) => Envelope

/** Throws `ProtocolViolation`. */
export function decodeMessage(message: Uint8Array, maxBody: number, parse: ParseBody = parseEnvelope): Envelope {
  const start = isPrefixed(message) ? PREFIX : 0
  const body = message.length - start
  if (body > maxBody)
    throw new ProtocolViolation('too_large', `a message of ${body} bytes passes the limit of ${maxBody}`)
  if (body <= 0) throw new ProtocolViolation('malformed', 'a message has no body')
  if (start > 0 && lengthOf(message) !== body)
    throw new ProtocolViolation('malformed', `a message of ${body} bytes says that it has ${lengthOf(message)}`)
  return parse(message, start, message.length)
}

function lengthOf(message: Uint8Array): number {
  return new DataView(message.buffer, message.byteOffset, message.byteLength).getUint32(0)
}

const encoder = new TextEncoder()
/** Texts that surely fit are encoded here and copied out, without measuring them first. */
const scratch = new Uint8Array(64 * 1024)
const scratchView = new DataView(scratch.buffer)

/** The bytes of one message, in a buffer of their own, so that it can be transferred. */
export function encodeMessage(text: string, prefixed: boolean): Uint8Array<ArrayBuffer> {
  if (PREFIX + text.length * 3 <= scratch.length) {
    const { written } = encoder.encodeInto(text, scratch.subarray(PREFIX))
    scratchView.setUint32(0, written)
    return scratch.slice(prefixed ? 0 : PREFIX, PREFIX + written)
  }
  const body = encoder.encode(text)
  if (!prefixed) return body as Uint8Array<ArrayBuffer>
  const message = new Uint8Array(PREFIX + body.length)
  new DataView(message.buffer).setUint32(0, body.length)
  message.set(body, PREFIX)
  return message
}
