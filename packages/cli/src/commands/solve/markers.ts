// A section of a file that belongs to Parley, between two markers; the rest belongs to its author.
export const BEGIN = '<!-- parley:begin -->'
export const END = '<!-- parley:end -->'

export type Marked =
  | { readonly kind: 'added' | 'updated' | 'same'; readonly text: string }
  /** Without a pair of markers any change would touch a person's text. */
  | { readonly kind: 'broken'; readonly why: string }

/** Replaces the part between the markers, or appends it. */
export function withSection(text: string, section: string): Marked {
  const block = `${BEGIN}\n${section.trim()}\n${END}`
  const begins = places(text, BEGIN)
  const ends = places(text, END)
  if (begins.length === 0 && ends.length === 0) {
    const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
    return { kind: 'added', text: `${text}${gap}${block}\n` }
  }
  const [begin] = begins
  const [end] = ends
  if (begins.length !== 1 || ends.length !== 1 || begin === undefined || end === undefined || end < begin) {
    return { kind: 'broken', why: `it needs ${BEGIN} and ${END} exactly once, in this order` }
  }
  const updated = text.slice(0, begin) + block + text.slice(end + END.length)
  return { kind: updated === text ? 'same' : 'updated', text: updated }
}

function places(text: string, marker: string): readonly number[] {
  const found: number[] = []
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) found.push(at)
  return found
}
