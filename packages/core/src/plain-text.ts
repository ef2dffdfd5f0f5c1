// Makes text that others wrote safe for terminals, logs and commits: titles, names and messages of agents and peers.

const ESC = '\u001b'
const BEL = '\u0007'
/** Escape sequences of terminals: control sequences, operating system commands up to their end, and single escapes. */
const escapes = new RegExp(
  [
    `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]`,
    `(?:${ESC}\\]|\u009d)[^${BEL}${ESC}\u009c]*(?:${BEL}|${ESC}\\\\|\u009c)?`,
    `${ESC}[ -/]*[0-~]`,
  ].join('|'),
  'g',
)

/** Control characters, and the invisible ones that reorder or hide text. */
const dangerous = /[\p{Control}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu

/** One line of harmless text: no escape sequences, no control characters, runs of white space as one space. */
export function oneLine(text: string): string {
  return text.replace(escapes, '').replace(dangerous, ' ').replace(/\s+/g, ' ').trim()
}

/** The same for text that keeps its shape, also for a piece of one: only line ends and tabs stay. */
export function harmless(text: string): string {
  const obeyed = (found: string) => (found === '\n' || found === '\t' ? found : '')
  return text.replace(escapes, '').replace(dangerous, obeyed)
}
