// The envelope (CALL-WIRE-01) and its JSON text. Frames and messages around it are the transports' affair.
import { callLimits } from '../limits.ts'
import { tooDeep } from './json.ts'

export const CALL_EVENTS = ['call.requested', 'call.responded', 'call.completed', 'call.aborted', 'call.error'] as const

export interface Envelope {
  readonly type: string
  readonly id: string
  readonly payload: unknown
}

/** A payload that is no JSON, from a carrier of objects (CALL-TRANS-06). No text of JSON can make one. */
export class UnfitPayload {
  readonly given: unknown
  readonly problem: string

  constructor(given: unknown, problem: string) {
    this.given = given
    this.problem = problem
  }
}

/** Why a peer's bytes cannot be understood (CALL-WIRE-05): ends the stream that they came on, without an answer. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation'
  readonly kind: 'too_large' | 'not_json' | 'text_message' | 'malformed'

  constructor(kind: ProtocolViolation['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** Up to so many bytes nothing can nest too deeply. */
const SHALLOW = callLimits.nesting

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The envelope in one frame's body. Throws `ProtocolViolation`. */
export function parseEnvelope(bytes: Uint8Array, start = 0, end = bytes.length): Envelope {
  if (end - start > SHALLOW && tooDeep(bytes, start, end))
    throw new ProtocolViolation('malformed', `an envelope nests deeper than ${callLimits.nesting} levels`)
  let text: string
  try {
    text = decoder.decode(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))
  } catch {
    throw new ProtocolViolation('not_json', 'a frame is not valid UTF-8')
  }
  return parseText(text)
}

/** The envelope in a JSON text that is known to be sound UTF-8 and not too deep. */
export function parseText(text: string): Envelope {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ProtocolViolation('not_json', 'a frame is not valid JSON')
  }
  return checkEnvelope(value)
}

function checkEnvelope(value: unknown): Envelope {
  if (typeof value === 'object' && value !== null) {
    const { type, id, payload } = value as Partial<Envelope>
    if (typeof type === 'string' && typeof id === 'string' && payload !== undefined) return value as Envelope
  }
  throw new ProtocolViolation('malformed', 'an envelope needs type, id and payload')
}

/** The text of an envelope whose payload is JSON text already. */
export function envelopeText(type: string, id: string, payload: string): string {
  return `{"type":"${type}","id":${idText(id)},"payload":${payload}}`
}

const encoder = new TextEncoder()

/** Whether the text of an envelope is at most so many bytes; short ones need not be measured. */
export function fits(text: string, most: number): boolean {
  return text.length * 3 <= most || (text.length <= most && encoder.encode(text).length <= most)
}

/** The last id and its text: the values of a stream all have the same. */
let lastId = ''
let lastText = '""'

function idText(id: string): string {
  if (id === lastId) return lastText
  lastId = id
  lastText = isPlain(id) ? `"${id}"` : JSON.stringify(id)
  return lastText
}

/** Whether a text needs no escapes. Ids are short: a loop is faster on them than an expression. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false
  }
  return true
}
