// The answer to an ask (ALP-ASK-03, -04): its text, and its members in the order of the reference with `failed` behind
// them.
import type { RunEnd } from '@parley/core'
import { errorIn, errorSegment } from '../errors.ts'
import { float, type WireObject } from '../json/value.ts'
import { trim } from '../text.ts'

const CANCELLED = '[cancelled]'

/** The turn was ended before it was done. If the node gave it up, that is no failure of the agent. */
export function isInterrupted({ outcome, error }: RunEnd): boolean {
  return outcome === 'cancelled' || error?.code === 'abandoned'
}

function hasFailed(end: RunEnd): boolean {
  return end.outcome === 'failed' && !isInterrupted(end)
}

/** What a peer is told. Who decided, why, and which program ended how is for the owner, and stays in the run. */
const FAILURES: ReadonlyMap<string | undefined, string> = new Map([
  ['rejected', 'It was not approved.'],
  ['budget_exceeded', 'The turn went over its budget.'],
  ['timeout', 'The turn took longer than it may.'],
])

/** ALP-ASK-04: what was said, then an error as a segment of its own. */
export function answerText(end: RunEnd, interrupted: boolean): string {
  const said = end.text === undefined ? [] : [end.text]
  const why = FAILURES.get(end.error?.code) ?? 'The agent failed.'
  const all = hasFailed(end) ? [...said, errorSegment(why)] : said
  const text = trim(all.join('\n\n')).toWellFormed()
  return text === '' && interrupted ? CANCELLED : text
}

/** What the agent itself said, which a thread remembers. */
export function spokenText({ text = '' }: RunEnd): string {
  return trim(text).toWellFormed()
}

/** `text` as it fits the answer, `usd` as the ledger has booked it. */
export function answerOf(
  end: RunEnd,
  told: { readonly text: string; readonly session: string; readonly usd: number; readonly interrupted: boolean },
): WireObject {
  const { text, session, usd, interrupted } = told
  const failed = hasFailed(end)
  return {
    text,
    tokens_in: count(end.usage.tokensIn),
    tokens_out: count(end.usage.tokensOut),
    cost: float(usd),
    session_id: session,
    interrupted,
    // Left out unless something looks like a failure: then the answer has just the members of the reference.
    ...((failed || errorIn(text) !== undefined) && { failed }),
  }
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0
}

/** The beginning of a text that fits so many bytes of JSON: an answer that does not fit would be lost whole. */
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
