// Words for messages. What comes from the file is quoted, cut, and cannot steer a terminal.
import { nearest } from '@parley/core'

const SHOWN = 60

// Controls, and format characters such as those that turn the direction of writing round.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Text that does nothing but be read. */
export function visible(text: string): string {
  return text.replace(unseen, '\ufffd')
}

export function quote(text: string): string {
  return `'${visible(shorten(text, SHOWN))}'`
}

export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** `1 task`, `3 tasks`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** `a, b or c`. */
export function either(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** Words from the file one after the other; of many, the first and the last. */
export function listed(words: readonly string[], between = ', '): string {
  const shown = words.map(word => visible(shorten(word, SHOWN)))
  return (shown.length <= 10 ? shown : [...shown.slice(0, 8), '…', shown.at(-1)!]).join(between)
}

/** ` Did you mean 'tests'?`, or nothing where no candidate is near. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const meant = nearest(given, candidates)
  return meant === undefined ? '' : ` Did you mean ${quote(meant)}?`
}
