// What both WebSocket transports share (CALL-TRANS-05, CALL-WIRE-05): the form of messages, close codes and reasons. Needs nothing of Node.js.
import type { Envelope, ProtocolViolation } from '../envelope.ts'
import { callLimits } from '../limits.ts'
import { decodeMessage, encodeMessage, isPrefixed, type WsFraming } from './message.ts'

export const CLOSE_NORMAL = 1000

const CLOSE_CODES: Readonly<Record<ProtocolViolation['kind'], number>> = {
  too_large: 1009,
  not_json: 1007,
  text_message: 1003,
  malformed: 1002,
}

export function closeCodeOf(violation: ProtocolViolation): number {
  return CLOSE_CODES[violation.kind]
}

/** Which form this side sends: decided by an option or by what the other side sends first. */
export class Framing {
  #prefixed: boolean
  #learns: boolean

  constructor(framing: WsFraming = 'prefixed') {
    this.#prefixed = framing !== 'bare'
    this.#learns = framing === 'auto'
  }

  get prefixed(): boolean {
    return this.#prefixed
  }

  /** Throws `ProtocolViolation`. */
  decode(
    message: Uint8Array,
    maxBody: number,
    parse?: (bytes: Uint8Array, start: number, end: number) => Envelope,
  ): Envelope {
    if (this.#learns) {
      this.#learns = false
      this.#prefixed = isPrefixed(message)
    }
    return decodeMessage(message, maxBody, parse)
  }

  encode(text: string): Uint8Array<ArrayBuffer> {
    return encodeMessage(text, this.#prefixed)
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
