// Text on a terminal: its width in columns, cutting, padding, wrapping. Text from others is made harmless first.
import { harmless, oneLine } from '@parley/core'
import { cliLimits } from '../limits.ts'
import { type Paint, plain } from './paint.ts'

export { harmless, oneLine }

const plainAscii = /^[\x20-\x7e]*$/
/** Emoji by themselves or made so, flags, keycaps. */
const pictograph =
  /(?!\p{Regional_Indicator})\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|\p{Regional_Indicator}{2}|^[\d#*]\uFE0F?\u20E3/u
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}\p{Control}\p{Format}\p{Surrogate}]/u
/** What takes columns of its own though it belongs to the character before it. */
const spacing = /[\p{Mc}\uFF9E\uFF9F]/u
/** East Asian wide and full-width characters that are no emoji; compared with a library (docs/decisions/0025). */
const wide =
  /[\u1100-\u115F\u2329\u232A\u2630-\u2637\u268A-\u268F\u2E80-\u303E\u3041-\u3247\u3250-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{1B2FF}\u{1D300}-\u{1D376}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]/u

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is how colours begin
const colours = /\u001b\[[\d;]*m/g
const unpainted = (text: string) => text.replace(colours, '')

let segmenter: Intl.Segmenter | undefined

/** Created on demand: that takes longer than most commands draw. */
function graphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return segmenter.segment(text)
}

/** Harmless lines. */
export function lines(text: string): readonly string[] {
  return harmless(text.replace(/\r\n?/g, '\n'))
    .split('\n')
    .map(line => line.replaceAll('\t', '  ').trimEnd())
}

/** Without empty lines around them; the first line keeps its indentation. */
export function textLines(text: string): readonly string[] {
  const all = lines(text.trimEnd())
  const first = all.findIndex(line => line !== '')
  return first < 0 ? [] : all.slice(first)
}

/** Without repetition: two attempts may name the same file. */
export function each(names: readonly string[]): string {
  return [...new Set(names.map(oneLine))].join(', ')
}

/** In columns; colours take none. */
export function widthOf(text: string): number {
  if (plainAscii.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes(unpainted(text))) width += graphemeWidth(segment)
  return width
}

function graphemeWidth(grapheme: string): number {
  if (pictograph.test(grapheme)) return 2
  let width = 0
  for (const character of grapheme) {
    const takesColumns = width === 0 ? !invisible.test(character) : spacing.test(character)
    if (takesColumns) width += wide.test(character) ? 2 : 1
  }
  return width
}

/** With `…` at the end if it does not fit. */
export function cut(text: string, width: number): string {
  if (width <= 0) return ''
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 0
  for (const { segment } of graphemes(text)) {
    const next = graphemeWidth(segment)
    if (taken + next > width - 1) break
    kept += segment
    taken += next
  }
  return `${kept.trimEnd()}…`
}

/** Cut or padded to the width. */
export function fit(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const short = cut(text, width)
  const space = ' '.repeat(Math.max(0, width - widthOf(short)))
  return align === 'left' ? short + space : space + short
}

/**
 * Breaks at spaces into lines of at most `width` columns, as far indented as the text is. A command to copy, in
 * backticks or parley with its words, and a part of a usage line in brackets are broken only if they do not fit a line
 * of their own; a longer word is broken where the line ends.
 */
export function wrap(text: string, width: number, whole = false): readonly string[] {
  if (widthOf(text) <= width) return [text]
  const indent = /^ */.exec(text)![0].slice(0, Math.max(0, width - cliLimits.leastColumns))
  const room = width - indent.length
  return wrapWords(unbroken(text.trimStart().split(' '), room, whole), room, whole).map(line => indent + line)
}

/** The lines after the first begin below the text that follows `lead`. */
export function hanging(lead: string, text: string, width: number, whole = false): readonly string[] {
  const indent = Math.min(widthOf(lead), Math.max(0, width - cliLimits.leastColumns))
  const [first = '', ...rest] = wrap(text, width - widthOf(lead), whole)
  const later = rest.length === 0 ? [] : wrap(rest.join(' '), width - indent, whole)
  return [`${lead}${first}`.trimEnd(), ...later.map(line => ' '.repeat(indent) + line)]
}

/** Why something failed, below `lead`: what happened in its first line, then the output that shows it. */
export function reasonLines(lead: string, reason: string, width: number, paint: (line: string) => string = same) {
  const [what = '', ...output] = textLines(reason)
  const indent = ' '.repeat(Math.min(widthOf(lead), 4))
  const below = output.flatMap(line => (line === '' ? [''] : wrap(`${indent}${line}`, width)))
  const more = below.length - cliLimits.reasonLines
  const shown = more <= 1 ? below : [...below.slice(0, -1 - more), `${indent}… ${more + 1} more lines`]
  return [...hanging(lead, what, width), ...shown].map(line => (line === '' ? '' : paint(line)))
}

const same = (line: string) => line

/** What a text says before it goes into detail. */
export function firstLine(text: string): string {
  return oneLine(textLines(text)[0] ?? '')
}

/**
 * Lines for a terminal: what was laid out for it is left as it is, and nothing is put into a long word or command,
 * which may be copied.
 */
export function wrapLines(drawn: readonly string[], width: number): readonly string[] {
  return drawn.flatMap(line => wrap(line, width, true))
}

function wrapWords(words: readonly string[], width: number, whole: boolean): readonly string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of words) {
    const joined = line === '' ? word : `${line} ${word}`
    if (widthOf(joined) <= width) {
      line = joined
      continue
    }
    if (line !== '') wrapped.push(line.trimEnd())
    const pieces = whole ? [word] : pieceUp(word, width)
    wrapped.push(...pieces.slice(0, -1))
    line = pieces.at(-1) ?? ''
  }
  return line === '' && wrapped.length > 0 ? wrapped : [...wrapped, line]
}

/** Words that belong together, as one. */
function unbroken(words: readonly string[], width: number, whole: boolean): readonly string[] {
  const glued: string[] = []
  for (let at = 0; at < words.length; ) {
    const length = unitAt(words, at)
    const unit = words.slice(at, at + length).join(' ')
    const fits = whole || widthOf(unit) <= width
    glued.push(fits ? unit : words[at]!)
    at += fits ? length : 1
  }
  return glued
}

function unitAt(words: readonly string[], at: number): number {
  const word = unpainted(words[at]!)
  const until = (ends: (word: string) => boolean) =>
    words.slice(at + 1, at + 1 + cliLimits.unitWords).findIndex(each => ends(unpainted(each))) + 2
  const open = /^[("']*`[^`]*$/.test(word) ? /`/ : /^\[[^\]]*$/.test(word) ? /\]/ : undefined
  if (open)
    return Math.max(
      1,
      until(each => open.test(each)),
    )
  if (word !== 'parley') return 1
  const end = until(each => /[,;:.)]$/.test(each))
  return end > 1 ? end : Math.min(words.length - at, cliLimits.unitWords)
}

function pieceUp(word: string, width: number): readonly string[] {
  if (widthOf(word) <= width || word.includes('\u001b')) return [word]
  const pieces: string[] = []
  let piece = ''
  for (const { segment } of graphemes(word)) {
    if (piece !== '' && widthOf(piece + segment) > width) {
      pieces.push(piece)
      piece = ''
    }
    piece += segment
  }
  return [...pieces, piece]
}

const LABEL = 9

/** Texts beside their labels; the lines of a text stay lines. */
export function labelled(
  rows: readonly (readonly [label: string, text: string])[],
  width: number,
  paint: Paint = plain,
  label = LABEL,
): readonly string[] {
  const room = Math.max(cliLimits.leastColumns, width - label)
  return rows.flatMap(([name, text]) =>
    (text.trim() === '' ? [''] : textLines(text))
      .flatMap(line => wrap(line, room))
      .map((line, index) => `${paint('quiet', (index === 0 ? name : '').padEnd(label))}${line}`.trimEnd()),
  )
}

/** Where a run works. */
export function projectText({ project }: { readonly project: string }): string {
  return project === '' ? 'none: its agents work without files' : oneLine(project)
}
