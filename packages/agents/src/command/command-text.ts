// A command line for people.

/** As it would be typed: words with anything special in them stand in quotes. */
export function commandText(words: readonly string[]): string {
  return words.map(word => (/^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
