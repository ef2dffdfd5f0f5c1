// The answer to an ask (ALP-ASK-03, -04): how its text is put together, and its members in the order of the reference.
import { float, type WireObject } from '../json/value.ts'
import { linkLimits } from '../limits.ts'
import { trim } from '../text.ts'
import type { AskEnd } from './ask-port.ts'

const CANCELLED = '[cancelled]'

/** ALP-ASK-04: the segments with a blank line between them, then an error as a segment of its own. */
export function answerText({ segments, error, interrupted }: AskEnd): string {
  const all = error === undefined ? segments : [...segments, `[error] ${error}`]
  const text = trim(all.join('\n\n')).toWellFormed()
  return text === '' && interrupted ? CANCELLED : fitting(text)
}

/** What the agent itself said: what a thread remembers. */
export function spokenText({ segments }: AskEnd): string {
  return trim(segments.join('\n\n')).toWellFormed()
}

/** `usd` is what the ledger has booked. */
export function answerOf(end: AskEnd, session: string, usd: number): WireObject {
  return {
    text: answerText(end),
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

/** An answer that does not fit a frame would be lost whole: its beginning is worth more. */
function fitting(text: string): string {
  if (jsonBytes(text) <= linkLimits.answerBytes) return text
  let [fits, most] = [0, text.length]
  while (fits < most) {
    const middle = Math.ceil((fits + most) / 2)
    if (jsonBytes(text.slice(0, middle)) <= linkLimits.answerBytes) fits = middle
    else most = middle - 1
  }
  return `${whole(text, fits)}\n\n[the answer was cut here: it has ${text.length} characters]`
}

function jsonBytes(text: string): number {
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
