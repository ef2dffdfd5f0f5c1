// Mentions in a text (ALP-MENTION-01 to -03): `@` and a peer's id. The shortcut sends the rest of the text to that
// peer.
import { isSpace, trimLeft, trimRight } from './text.ts'

export interface Mention {
  readonly id: string
  /** Where its `@` stands, and where what follows begins. */
  readonly start: number
  readonly end: number
}

const RUN = /[A-Za-z0-9_-]*/y
const WORD = /^[\p{L}\p{N}_]$/u

/** ALP-MENTION-02: every mention in its order, as often as it occurs. */
export function mentionsIn(text: string): Mention[] {
  const found: Mention[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const mention = mentionAt(text, at)
    if (mention) found.push(mention)
  }
  return found
}

/** ALP-MENTION-01: at the very start or behind whitespace, the longest run that ends at the end of a word. */
function mentionAt(text: string, start: number): Mention | undefined {
  if (start > 0 && !isSpace(text[start - 1]!)) return undefined
  RUN.lastIndex = start + 1
  const run = RUN.exec(text)![0]
  for (let end = start + 1 + run.length; end > start + 1; end--)
    if (isBoundary(text, end)) return { id: text.slice(start + 1, end), start, end }
  return undefined
}

/** As Python sees words: letters and digits of any script. What is before `at` is ASCII: one unit, one character. */
function isBoundary(text: string, at: number): boolean {
  const next = text.codePointAt(at)
  const followed = next !== undefined && WORD.test(String.fromCodePoint(next))
  return WORD.test(text[at - 1]!) !== followed
}

/**
 * ALP-MENTION-03: the peer that a text is for and the rest of the text; undefined for ordinary text. Only the first
 * mention counts, also if it is nobody on the roster.
 */
export function parseMention(
  text: string,
  roster?: ReadonlySet<string>,
): { readonly peerId: string; readonly prompt: string } | undefined {
  const [first] = mentionsIn(text)
  if (!first || (roster && !roster.has(first.id))) return undefined
  const before = trimRight(text.slice(0, first.start))
  const after = trimLeft(text.slice(first.end))
  const prompt = before === '' || after === '' ? before + after : `${before} ${after}`
  return prompt === '' ? undefined : { peerId: first.id, prompt }
}
