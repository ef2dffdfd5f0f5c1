// The answer to an ask (ALP-ASK-03, -04): how its text is put together, and its members in the order of the reference.
import { float, type WireObject } from '../json/value.ts'
import { trim } from '../text.ts'
import type { AskEnd } from './ask-port.ts'

const CANCELLED = '[cancelled]'

/** ALP-ASK-04: the segments with a blank line between them, then an error as a segment of its own. */
export function answerText({ segments, error, interrupted }: AskEnd): string {
  const all = error === undefined ? segments : [...segments, `[error] ${error}`]
  const text = trim(all.join('\n\n')).toWellFormed()
  return text === '' && interrupted ? CANCELLED : text
}

/** What the agent itself said: what a thread remembers. */
export function spokenText({ segments }: AskEnd): string {
  return trim(segments.join('\n\n')).toWellFormed()
}

/** `text` as it fits the answer, `usd` as the ledger has booked it. */
export function answerOf(end: AskEnd, text: string, session: string, usd: number): WireObject {
  return {
    text,
    tokens_in: count(end.usage.tokensIn),
    tokens_out: count(end.usage.tokensOut),
    cost: float(usd),
    session_id: session,
    interrupted: end.interrupted,
  }
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0
}

/**
 * The text in so many bytes of JSON: an answer that does not fit would be lost whole, and its beginning is worth more.
 */
export function fitting(text: string, most: number): string {
  if (jsonBytes(text) <= most) return text
  // A character has at least one byte.
  let [fits, longest] = [0, Math.min(text.length, Math.max(most, 0))]
  while (fits < longest) {
    const middle = Math.ceil((fits + longest) / 2)
    if (jsonBytes(text.slice(0, middle)) <= most) fits = middle
    else longest = middle - 1
  }
  const kept = whole(text, fits)
  return `${kept}\n\n[the answer was cut here: ${text.length - kept.length} of ${text.length} characters are missing]`
}

export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

/** The beginning of a text, without half a character at its end. */
export function whole(text: string, length: number): string {
  const end = length > 0 && length < text.length && isHigh(text.charCodeAt(length - 1)) ? length - 1 : length
  return text.slice(0, end)
}

export function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}
