// The whitespace of the requirement sheet (its set W): Python's, which is not that of JavaScript: U+FEFF is none,
// U+001C to U+001F and U+0085 are.

const W = '\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const LEADING = new RegExp(`^[${W}]+`)
const SPACE = new RegExp(`^[${W}]$`)

export function isSpace(character: string): boolean {
  return SPACE.test(character)
}

export function trimLeft(text: string): string {
  return text.replace(LEADING, '')
}

/** By hand: a pattern that is anchored at the end looks at every run of spaces again and again. */
export function trimRight(text: string): string {
  let end = text.length
  while (end > 0 && isSpace(text[end - 1]!)) end--
  return text.slice(0, end)
}

export function trim(text: string): string {
  return trimLeft(trimRight(text))
}
