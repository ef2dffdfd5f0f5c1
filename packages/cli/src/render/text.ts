// Text on a terminal: how many columns it takes, cutting and padding to a width. What others wrote is made harmless first.
import { harmless, oneLine } from '@parley/core'

export { harmless, oneLine }

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const plainAscii = /^[\x20-\x7e]*$/
const pictograph = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|\p{Regional_Indicator}/u
const invisible = /^[\p{Mark}\p{Control}\p{Format}]+$/u
/** East Asian wide and full-width ranges (Unicode 16, EastAsianWidth W and F), coarse where whole blocks are. */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{17000}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{20000}-\u{3FFFD}]/u
/** Several lines, each kept: what a terminal would obey is not. */
export function lines(text: string): readonly string[] {
  return harmless(text.replace(/\r\n?/g, '\n'))
    .split('\n')
    .map(line => line.replaceAll('\t', '  ').trimEnd())
}

/** Names in a row, each once: a file that was put back in two attempts is still one file. */
export function each(names: readonly string[]): string {
  return [...new Set(names.map(oneLine))].join(', ')
}

/** Columns that a text without escape sequences takes. */
export function widthOf(text: string): number {
  if (plainAscii.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0
  return pictograph.test(grapheme) || wide.test(grapheme) ? 2 : 1
}

/** The text if it fits, else as much of it as fits with `…` behind it. */
export function cut(text: string, width: number): string {
  if (width <= 0) return ''
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 0
  for (const { segment } of graphemes.segment(text)) {
    const next = graphemeWidth(segment)
    if (taken + next > width - 1) break
    kept += segment
    taken += next
  }
  return `${kept.trimEnd()}…`
}

/** Exactly this many columns wide, cut or filled with spaces. */
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
  for (const { segment } of graphemes.segment(word)) {
    if (piece !== '' && widthOf(piece + segment) > width) {
      pieces.push(piece)
      piece = ''
    }
    piece += segment
  }
  return [...pieces, piece]
}
