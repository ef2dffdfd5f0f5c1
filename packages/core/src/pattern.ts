// Regular expressions from outside. The platform's engine backtracks, so a pattern can be made to run for ages on a
// short text; what has the form of such a pattern is refused, and most others are not tried on long texts.

import { ParleyError } from './error.ts'
import { limits } from './limits.ts'

export interface Pattern {
  test(text: string): boolean
  /** Different for different patterns: a validator keeps them by it. */
  toString(): string
}

/** Throws for a pattern that is wrong, too long, or may backtrack exponentially. */
export function foreignPattern(source: string, flags: string): Pattern {
  if (source.length > limits.foreignPatternLength) {
    throw new ParleyError(
      'invalid_schema',
      `a pattern has more than ${limits.foreignPatternLength} characters`,
    )
  }
  const pattern = new RegExp(source, flags)
  const repetitions = countRepetitions(source)
  if (repetitions === undefined) {
    throw new ParleyError(
      'invalid_schema',
      `the pattern ${source} repeats something ambiguous and may run for ages`,
    )
  }
  // One repetition with a fixed start is linear; several, or a floating one, are polynomial in the text's length.
  if (repetitions === 0 || (repetitions === 1 && source.startsWith('^'))) return pattern
  return {
    test: text => text.length <= limits.foreignPatternSubjectLength && pattern.test(text),
    toString: () => pattern.toString(),
  }
}

const token = /\\k<\w+>|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<\w+>|\(\?<?[:=!]|\{\d+(?:,\d*)?\}|./gsu
const fixedCount = /^\{\d+\}$/
const backreference = /^\\(?:[1-9]|k<)/

/** How many open repetitions a pattern has; undefined if a repetition or a choice is repeated, or there is a backreference. */
function countRepetitions(source: string): number | undefined {
  let count = 0
  const open = [{ start: 0, ambiguous: false }]
  let closed: { body: string; ambiguous: boolean } | undefined
  for (const { 0: text, index } of source.matchAll(token)) {
    const group = open.at(-1)!
    if (backreference.test(text)) return undefined
    if (isRepetition(text)) {
      if (closed?.ambiguous && !isSeparated(closed.body)) return undefined
      if (!fixedCount.test(text)) {
        group.ambiguous = true
        count++
      }
    }
    if (text === '|') group.ambiguous = true
    closed = undefined
    if (text.startsWith('(')) open.push({ start: index + text.length, ambiguous: false })
    if (text === ')') {
      open.pop()
      open.at(-1)!.ambiguous ||= group.ambiguous
      closed = { body: source.slice(group.start, index), ambiguous: group.ambiguous }
    }
  }
  return count
}

/** Few repetitions at most, as in `{0,3}`, cannot do harm; many are as bad as any number. */
const harmlessRepetitions = 4

function isRepetition(text: string): boolean {
  if (text === '*' || text === '+') return true
  const bounds = /^\{(\d+)(,?)(\d*)\}$/.exec(text)
  if (bounds === null) return false
  const most = bounds[2] === '' ? bounds[1] : bounds[3]
  return most === '' || Number(most) > harmlessRepetitions
}

const separatorAndClass = /^(?:\\([^\w])|([^\\[(.*+?{|^$]))(\[(?:\\.|[^\]\\])*\]|\\[dwsDWS])[*+]$/u

/** As in `[a-z]+(-[a-z]+)*`: a separator, and a repeated class without it, can match in one way only. */
function isSeparated(body: string): boolean {
  const match = separatorAndClass.exec(body)
  if (match === null) return false
  return !new RegExp(`^${match[3]}$`, 'u').test(match[1] ?? match[2]!)
}
