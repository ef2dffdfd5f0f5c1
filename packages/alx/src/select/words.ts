// What somebody searches for, as words. Only letters and digits come through, each word between quotation marks:
// nothing of it can be syntax of SQLite's full-text search.
import { selectLimits } from './limits.ts'

/** The different words of a text, the first ones of a long one. */
export function queryWords(text: string): readonly string[] {
  const { queryLength, queryWords: most, wordLength } = selectLimits
  const found = text
    .slice(0, queryLength)
    .toWellFormed()
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}]+/gu)
  return [...new Set((found ?? []).map(word => word.slice(0, wordLength).toWellFormed()))].slice(0, most)
}

export function anyOf(words: readonly string[]): string {
  return words.map(quoted).join(' OR ')
}

export function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`
}
