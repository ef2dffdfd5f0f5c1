// What both WebSocket transports share (CALL-TRANS-05, CALL-WIRE-05), without Node.js: forms, close codes, reasons.
import type { Clock, Principal } from '@parley/core'
import { CallError } from '../error.ts'
import { callLimits } from '../limits.ts'
import { type Envelope, ProtocolViolation, parseEnvelope } from '../wire/envelope.ts'
import { decodeMessage, isPrefixed, type ParseBody, type WsFraming, type WsText } from './message.ts'

export const CLOSE_NORMAL = 1000

export const CLOSE_CODES: Readonly<Record<ProtocolViolation['kind'], number>> = {
  too_large: 1009,
  not_json: 1007,
  text_message: 1003,
  malformed: 1002,
}

export interface WebSocketOptions {
  /** Bytes of the largest body, both ways. */
  readonly maxBody?: number
  readonly wsFraming?: WsFraming
  /** Text messages end the link with 1003 by default. */
  readonly wsText?: WsText
  readonly clock?: Clock
}

export interface WebSocketClientOptions extends WebSocketOptions {
  /** Goes out as `Authorization: Bearer`; from a page as `token` in the address, so use `wss:` where others listen. */
  readonly token?: string
  /** Who the server is to this side, if the caller knows. */
  readonly identity?: Principal | undefined
}

/** An address as messages show it: without the token. */
export function shownAddress(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

export function notAnAddress(url: string): CallError {
  return new CallError('INVALID_INPUT', `'${shownAddress(url)}' is not the address of a WebSocket`)
}

/** Which form this side sends: decided by an option or by what the other side sends first. */
export class Framing {
  #form: 'prefixed' | 'bare' | 'text'
  #learns: boolean
  readonly #texts: boolean

  constructor(framing: WsFraming = 'prefixed', texts: WsText = 'refuse') {
    this.#form = framing === 'bare' ? 'bare' : 'prefixed'
    this.#learns = framing === 'auto'
    this.#texts = texts === 'accept'
  }

  get form(): 'prefixed' | 'bare' | 'text' {
    return this.#form
  }

  /** Throws `ProtocolViolation`. */
  decode(message: Uint8Array, maxBody: number, parse?: ParseBody): Envelope {
    this.#learn(isPrefixed(message) ? 'prefixed' : 'bare')
    return decodeMessage(message, maxBody, parse)
  }

  /** The bytes of a text message. Throws `ProtocolViolation`. */
  decodeText(message: Uint8Array, maxBody: number, parse: ParseBody = parseEnvelope): Envelope {
    if (!this.#texts) throw new ProtocolViolation('text_message', 'a message is text, not bytes')
    const { length } = message
    if (length > maxBody)
      throw new ProtocolViolation('too_large', `a message of ${length} bytes passes the limit of ${maxBody}`)
    this.#learn('text')
    return parse(message, 0, length)
  }

  #learn(form: 'prefixed' | 'bare' | 'text'): void {
    if (!this.#learns) return
    this.#learns = false
    this.#form = form
  }
}

const encoder = new TextEncoder()

/** A reason as a close frame can carry it: cut between two characters. */
export function closeReason(reason: string): string {
  const room = new Uint8Array(callLimits.closeReasonBytes)
  return reason.slice(0, encoder.encodeInto(reason, room).read)
}

/** What the other side's close frame says, in words. */
export function closedBecause(code: number, reason: string): string {
  if (reason !== '') return reason
  return code === CLOSE_NORMAL || code === 1001 || code === 1005 ? 'closed' : `closed with code ${code}`
}
