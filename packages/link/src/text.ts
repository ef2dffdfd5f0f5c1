// The whitespace of the requirement sheet (its set W): Python's. Unlike JavaScript's it has U+001C to U+001F and
// U+0085, and not U+FEFF.

const W = '\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const LEADING = new RegExp(`^[${W}]+`)
const SPACE = new RegExp(`^[${W}]$`)

export function isSpace(character: string): boolean {
  return SPACE.test(character)
}

export function trimLeft(text: string): string {
  return text.replace(LEADING, '')
}

/** A loop, since a pattern anchored at the end takes quadratic time over runs of spaces. */
export function trimRight(text: string): string {
  let end = text.length
  while (end > 0 && isSpace(text[end - 1]!)) end--
  return text.slice(0, end)
}

export function trim(text: string): string {
  return trimLeft(trimRight(text))
}
