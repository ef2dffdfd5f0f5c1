// Comments and Markdown wrap at 120 columns. The formatter does the same for code, and leaves long strings alone.

const COLUMNS = 120

/** Names each line that is too long; tables, code and lines without a place to break never are. */
export function longLines(file: string, content: string): readonly string[] {
  const prose = file.endsWith('.md') ? markdownProse : comments
  return prose(content.split('\n'))
    .filter(({ text }) => [...text].length > COLUMNS && / /.test(text.trim().slice(2, COLUMNS)))
    .map(({ number, text }) => `${file}:${number}: ${[...text].length} columns`)
}

interface Line {
  readonly number: number
  readonly text: string
}

function comments(lines: readonly string[]): readonly Line[] {
  return numbered(lines).filter(({ text }) => /^\s*(?:\/\/|\/\*|\*)/.test(text) && !/^\s*\/\/ biome-ignore/.test(text))
}

function markdownProse(lines: readonly string[]): readonly Line[] {
  let fenced = false
  return numbered(lines).filter(({ text }) => {
    const fence = /^\s*(?:```|~~~)/.test(text)
    if (fence) fenced = !fenced
    return !fence && !fenced && !/^\s*(?:\||#|!\[|\[[^\]]+\]:|<)/.test(text)
  })
}

function numbered(lines: readonly string[]): readonly Line[] {
  return lines.map((text, index) => ({ number: index + 1, text }))
}
