// Words for messages. What comes from the file is quoted, cut, and cannot steer a terminal.

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
  const wanted = given.toLowerCase()
  let best: string | undefined
  let least = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - given.length) >= least) continue
    const steps = distance(wanted, candidate.toLowerCase(), least)
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best === undefined ? '' : ` Did you mean ${quote(best)}?`
}

/** Insertions, deletions, replacements and swaps of neighbours from one text to the other; `most` if there are as many or more. */
function distance(from: string, to: string, most: number): number {
  let older: number[] = []
  let old = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const now = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let steps = Math.min(old[column]! + 1, now[column - 1]! + 1, old[column - 1]! + (same ? 0 : 1))
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) steps = Math.min(steps, older[column - 2]! + 1)
      now.push(steps)
    }
    if (Math.min(...now) >= most) return most
    older = old
    old = now
  }
  return old[to.length]!
}
