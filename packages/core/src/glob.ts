// Globs of files: what a task of a team file, and the authority of a workspace, may change. Matching takes at most time
// proportional to pattern length times name length, and braces are expanded only up to a bound.
import { limits } from './limits.ts'
import { ok, type Result, refuse } from './result.ts'

/**
 * What a list of globs matches: paths with `/`, relative to the same folder as the globs.
 *
 * `*` is any text inside a name, `?` one character, `[a-z]` one of a set, `[!a-z]` one outside of it, `{a,b}` one of
 * several texts, and `**` as a whole name any number of folders. Names that begin with a dot are names like others, and
 * case matters everywhere. Refuses with `glob_too_large` or `glob_unsupported`.
 */
export function compileGlobs(patterns: readonly string[]): Result<(path: string) => boolean> {
  const literals = new Set<string>()
  const globs: Glob[] = []
  let size = 0
  for (const pattern of patterns) {
    const alternatives = alternativesOf(pattern)
    if (typeof alternatives === 'string') return refusal(alternatives, pattern)
    for (const alternative of alternatives) {
      const isLiteral = !WILDCARD.test(alternative)
      if (!isLiteral || alternatives.length > 1) size += alternative.length
      if (size > limits.globSize) return refuse('glob_too_large', TOO_MANY)
      if (isLiteral) literals.add(alternative)
      else globs.push(globOf(alternative))
    }
  }
  return ok(path => {
    if (literals.has(path)) return true
    const names = path.split('/').map(text => new Name(text))
    return globs.some(glob => fits(glob, names, nameFits))
  })
}

const WILDCARD = /[*?[]/

const TOO_MANY = `With their braces written out, the patterns have more than ${limits.globSize} characters.`

const REFUSALS = {
  length: ['glob_too_large', `is longer than ${limits.globLength} characters`],
  stars: ['glob_too_large', `has more than ${limits.globStars} stars`],
  alternatives: [
    'glob_too_large',
    `stands for more than ${limits.globAlternatives} patterns, with its braces written out`,
  ],
  range: ['glob_unsupported', 'has a range in braces. List what it stands for, as in {1,2,3}'],
  class: ['glob_unsupported', 'has a named class of characters. List the characters, as in [a-z]'],
  group: [
    'glob_unsupported',
    'has a group such as @(a|b). Use braces, as in {a,b}; for a parenthesis itself write [(]',
  ],
} as const

type Refusal = keyof typeof REFUSALS

function refusal(why: Refusal, pattern: string): Result<never> {
  const [code, says] = REFUSALS[why]
  const shown = pattern.length > limits.globShown ? `${pattern.slice(0, limits.globShown)}…` : pattern
  return refuse(code, `The pattern '${shown}' ${says}.`)
}

function alternativesOf(pattern: string): readonly string[] | Refusal {
  if (pattern.length > limits.globLength) return 'length'
  if (pattern.split('*').length - 1 > limits.globStars) return 'stars'
  const written = new Braces(normal(pattern)).writtenOut()
  if (typeof written === 'string') return written
  if (written.some(each => /[?*+@!]\(/.test(each))) return 'group'
  if (written.some(each => each.includes('[:'))) return 'class'
  return written
}

/** A folder's name with a slash at its end is all that is in it, and so is the project's own. */
function normal(pattern: string): string {
  const relative = pattern.replace(/^(?:\.\/+)+/, '')
  if (relative === '' || relative === '.') return pattern === '' ? '' : '**'
  return relative.endsWith('/') ? `${relative}**` : relative
}

const RANGE = /^(?:-?\d+|[A-Za-z])\.\.(?:-?\d+|[A-Za-z])(?:\.\.-?\d+)?$/

/** Braces that are not closed, or hold no comma, stand for themselves. */
class Braces {
  readonly #text: string
  /** Of every brace that opens a choice: where its commas are, and at the end where it closes. */
  readonly #choices = new Map<number, readonly number[]>()
  readonly #hasRange: boolean = false

  constructor(text: string) {
    this.#text = text
    const open: { readonly at: number; readonly commas: number[] }[] = []
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '{') open.push({ at, commas: [] })
      else if (text[at] === ',') open.at(-1)?.commas.push(at)
      else if (text[at] === '}') {
        const closed = open.pop()
        if (closed && closed.commas.length > 0) this.#choices.set(closed.at, [...closed.commas, at])
        else if (closed && RANGE.test(text.slice(closed.at + 1, at))) this.#hasRange = true
      }
    }
  }

  writtenOut(): readonly string[] | Refusal {
    if (this.#hasRange) return 'range'
    return this.#part(0, this.#text.length) ?? 'alternatives'
  }

  /** Undefined if there are too many. */
  #part(from: number, to: number): readonly string[] | undefined {
    let written: readonly string[] = ['']
    for (let at = from; at < to; at++) {
      const marks = this.#choices.get(at)
      if (marks === undefined) {
        let end = at + 1
        while (end < to && !this.#choices.has(end)) end++
        const text = this.#text.slice(at, end)
        written = written.map(each => each + text)
        at = end - 1
        continue
      }
      const options: string[] = []
      for (const [index, mark] of marks.entries()) {
        const part = this.#part((marks[index - 1] ?? at) + 1, mark)
        if (part === undefined || (options.length + part.length) * written.length > limits.globAlternatives)
          return undefined
        options.push(...part)
      }
      written = written.flatMap(each => options.map(option => each + option))
      at = marks.at(-1)!
    }
    return written
  }
}

/** Any number of what it stands among: characters in a name, names in a path. */
const MANY = Symbol('many')
const ONE = Symbol('one')

interface CharacterClass {
  readonly negated: boolean
  /** Code points, by twos: the first and the last of a range. */
  readonly ranges: readonly number[]
}

type Character = number | typeof ONE | CharacterClass
type NamePattern = string | readonly (Character | typeof MANY)[]
type Glob = readonly (NamePattern | typeof MANY)[]

/** A name in a path; its characters are looked at only where a pattern has more than plain text. */
class Name {
  readonly text: string
  #characters: readonly number[] | undefined

  constructor(text: string) {
    this.text = text
  }

  get characters(): readonly number[] {
    this.#characters ??= Array.from(this.text, character => character.codePointAt(0)!)
    return this.#characters
  }
}

/**
 * Whether the items, from the first to the last, are what the pattern says. After a mismatch only the last MANY takes
 * one item more: an earlier one could only leave less for what follows it. So no unit meets the same item twice behind
 * the same MANY.
 */
function fits<Unit, Item>(
  pattern: readonly (Unit | typeof MANY)[],
  items: readonly Item[],
  isFit: (unit: Unit, item: Item) => boolean,
): boolean {
  let unit = 0
  let many = -1
  let taken = 0
  for (let item = 0; item < items.length; ) {
    const expected = pattern[unit]
    if (expected === MANY) {
      many = unit++
      taken = item
    } else if (expected !== undefined && isFit(expected as Unit, items[item]!)) {
      unit++
      item++
    } else if (many >= 0) {
      unit = many + 1
      item = ++taken
    } else return false
  }
  while (pattern[unit] === MANY) unit++
  return unit === pattern.length
}

function nameFits(pattern: NamePattern, name: Name): boolean {
  return typeof pattern === 'string' ? pattern === name.text : fits(pattern, name.characters, characterFits)
}

function characterFits(expected: Character, code: number): boolean {
  if (typeof expected === 'number') return expected === code
  if (expected === ONE) return true
  const { negated, ranges } = expected
  for (let at = 0; at < ranges.length; at += 2) if (ranges[at]! <= code && code <= ranges[at + 1]!) return !negated
  return negated && ranges.length > 0
}

function globOf(pattern: string): Glob {
  const names = pattern.split('/')
  return names.flatMap((name, index): Glob => {
    if (name !== '**') return [namePattern(name)]
    // The last one stands for what is in a folder, not for the folder itself.
    return index === names.length - 1 ? [MANY, [MANY]] : [MANY]
  })
}

function namePattern(name: string): NamePattern {
  if (!WILDCARD.test(name)) return name
  const units: (Character | typeof MANY)[] = []
  const characters = Array.from(name)
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!
    const found = character === '[' ? readClass(characters, at) : undefined
    if (found) {
      units.push(found.class)
      at = found.end
    } else if (character === '*') units.push(MANY)
    else units.push(character === '?' ? ONE : character.codePointAt(0)!)
  }
  return units
}

/** Undefined if it is not closed: then the bracket stands for itself. */
function readClass(characters: readonly string[], start: number) {
  const negated = characters[start + 1] === '!' || characters[start + 1] === '^'
  const first = start + (negated ? 2 : 1)
  // A bracket that closes right away is one of the characters.
  const end = characters.indexOf(']', first + 1)
  if (end < 0) return undefined
  const ranges: number[] = []
  for (let at = first; at < end; at++) {
    const from = characters[at]!.codePointAt(0)!
    const isRange = characters[at + 1] === '-' && at + 2 < end
    if (isRange) at += 2
    const to = characters[at]!.codePointAt(0)!
    if (from <= to) ranges.push(from, to)
  }
  return { class: { negated, ranges }, end }
}
