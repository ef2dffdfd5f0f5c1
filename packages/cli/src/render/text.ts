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

/** Without repetition: two attempts may name the same file. */
export function each(names: readonly string[]): string {
  return [...new Set(names.map(oneLine))].join(', ')
}

/** In columns, without escape sequences. */
export function widthOf(text: string): number {
  if (plainAscii.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment)
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

/** Breaks at spaces into lines of at most `width` columns; a longer word is broken where the line ends. */
export function wrap(text: string, width: number): readonly string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`
    if (widthOf(joined) <= width) {
      line = joined
      continue
    }
    if (line !== '') wrapped.push(line)
    const pieces = pieceUp(word, width)
    wrapped.push(...pieces.slice(0, -1))
    line = pieces.at(-1) ?? ''
  }
  return line === '' && wrapped.length > 0 ? wrapped : [...wrapped, line]
}

function pieceUp(word: string, width: number): readonly string[] {
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
): readonly string[] {
  const room = Math.max(cliLimits.leastColumns, width - LABEL)
  return rows.flatMap(([label, text]) =>
    lines(text.trim())
      .flatMap(line => wrap(line, room))
      .map((line, index) => `${paint('quiet', (index === 0 ? label : '').padEnd(LABEL))}${line}`.trimEnd()),
  )
}
