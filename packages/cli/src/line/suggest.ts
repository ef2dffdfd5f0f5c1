// "Did you mean": a beginning that was typed is nearer than anything that was mistyped.
import { nearest } from '@parley/core'

export function suggest(word: string, known: readonly string[]): string | undefined {
  const begun = word.length >= 2 ? known.find(each => each.startsWith(word)) : undefined
  return begun ?? nearest(word, known)
}
