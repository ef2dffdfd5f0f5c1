// Regular expressions from outside. The platform's engine backtracks, so a pattern can be made to run for ages on a
// short text; what has the form of such a pattern is refused, and others are tried only on texts for which the number
// of ways to match them is bounded.
import { ParleyError } from '../error.ts'
import { limits } from '../limits.ts'

export interface Pattern {
  test(text: string): boolean
  /** Different for different patterns: a validator keeps them by it. */
  toString(): string
}

/** Throws for a pattern that is wrong, too long, or may backtrack exponentially. */
export function foreignPattern(source: string, flags: string): Pattern {
  if (source.length > limits.foreignPatternLength) {
    throw new ParleyError('invalid_schema', `a pattern has more than ${limits.foreignPatternLength} characters`)
  }
  const pattern = new RegExp(source, flags)
  const ways = countWays(source)
  if (ways === undefined || ways.choices > limits.foreignPatternWays) {
    throw new ParleyError('invalid_schema', `the pattern ${source} repeats something ambiguous and may run for ages`)
  }
  // One repetition with a fixed start is linear; several, or a floating one, are polynomial in the text's length.
  const degree = ways.repetitions + (source.startsWith('^') ? 0 : 1)
  if (ways.repetitions === 0 && ways.choices <= fewChoices) return pattern
  if (degree <= 1 && ways.choices <= fewChoices) return pattern
  const longest = longestSubject(ways.choices, Math.max(1, degree))
  return {
    test: text => text.length <= longest && pattern.test(text),
    toString: () => pattern.toString(),
  }
}

/** So few cost no more than as many patterns would. */
const fewChoices = 256

/** The longest text that repetitions can share in no more ways than the limit, itself bounded too. */
function longestSubject(choices: number, degree: number): number {
  let least = 1
  let most: number = limits.foreignPatternSubjectLength
  while (least < most) {
    const length = Math.ceil((least + most) / 2)
    let ways = choices
    for (let taken = 0; taken < degree; taken++) ways *= (length + taken) / (taken + 1)
    if (ways <= limits.foreignPatternWays) least = length
    else most = length - 1
  }
  return least
}

const token = /\\k<\w+>|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<\w+>|\(\?<?[:=!]|\{\d+(?:,\d*)?\}|./gsu
const backreference = /^\\(?:[1-9]|k<)/

interface Ways {
  /** Open repetitions. */
  readonly repetitions: number
  /** Ways to take or leave what is optional and to choose among alternatives, all together. */
  readonly choices: number
}

interface Group extends Ways {
  readonly start: number
  repetitions: number
  choices: number
  alternatives: number
  /** Whether it can match one text in several ways. */
  ambiguous: boolean
}

const groupAt = (start: number): Group => ({
  start,
  repetitions: 0,
  choices: 1,
  alternatives: 1,
  ambiguous: false,
})

/** Undefined if something ambiguous is repeated, or there is a backreference. */
function countWays(source: string): Ways | undefined {
  const whole = groupAt(0)
  const open = [whole]
  let closed: (Group & { readonly body: string }) | undefined
  let before = ''
  for (const { 0: text, index } of source.matchAll(token)) {
    const group = open.at(-1)!
    if (backreference.test(text)) return undefined
    const times = timesOf(text)
    if (times && !(text === '?' && timesOf(before))) {
      const few = times.most <= fewTimes
      const separated = closed !== undefined && isSeparated(closed.body)
      if (!few && closed?.ambiguous && !separated) return undefined
      // A few times something is as much as to write it so often.
      if (few && closed) {
        group.repetitions += closed.repetitions * Math.max(0, times.most - 1)
        group.choices *= closed.choices ** Math.max(0, times.most - 1)
      }
      if (few) group.choices *= times.most - times.least + 1
      else if (times.least !== times.most) {
        group.repetitions += separated ? 1 - closed!.repetitions : 1
      }
      if (times.least !== times.most) group.ambiguous = true
    }
    if (text === '|') {
      group.ambiguous = true
      group.alternatives++
      group.choices *= group.alternatives / (group.alternatives - 1)
    }
    closed = undefined
    before = text
    if (text.startsWith('(')) open.push(groupAt(index + text.length))
    const around = open.at(-2)
    if (text === ')' && around) {
      open.pop()
      around.ambiguous ||= group.ambiguous
      around.repetitions += group.repetitions
      around.choices *= group.choices
      closed = { ...group, body: source.slice(group.start, index) }
    }
  }
  return whole
}

/** Up to this, as in `{0,3}`, something counts as if it were written so often; more is as bad as any number. */
const fewTimes = 4

/** How often what stands before a quantifier may be there; undefined if it is none. */
function timesOf(text: string): { readonly least: number; readonly most: number } | undefined {
  if (text === '?') return { least: 0, most: 1 }
  if (text === '*' || text === '+') return { least: 0, most: Infinity }
  const [all, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(text) ?? []
  if (all === undefined) return undefined
  if (comma === '') return { least: Number(least), most: Number(least) }
  return { least: Number(least), most: most === '' ? Infinity : Number(most) }
}

const separatorAndClass = /^(?:\\([^\w])|([^\\[(.*+?{|^$]))(\[(?:\\.|[^\]\\])*\]|\\[dwsDWS])[*+]$/u

/** As in `[a-z]+(-[a-z]+)*`: a separator, and a repeated class without it, can match in one way only. */
function isSeparated(body: string): boolean {
  const match = separatorAndClass.exec(body)
  if (match === null) return false
  return !new RegExp(`^${match[3]}$`, 'u').test(match[1] ?? match[2]!)
}
