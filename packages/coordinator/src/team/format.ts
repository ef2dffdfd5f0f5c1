// Problems of a team file as people read them: where, what, and the line with a mark below it.
import { teamLimits } from './limits.ts'
import type { TeamProblem } from './problem.ts'
import { visible } from './words.ts'

/** One block for each problem, without a line break at the end. `text` is what was read. */
export function formatProblems(problems: readonly TeamProblem[], text: string, file = 'team file'): string {
  const lines = (text.startsWith('\ufeff') ? text.slice(1) : text).split('\n')
  const name = visible(file)
  return problems
    .map(({ line, column, message }) => {
      const head = `${name}:${line}:${column}: ${message}`
      const source = (lines[line - 1] ?? '').replace(/\r$/, '')
      return source.trim() === '' ? head : `${head}\n${excerpt(source, column, line)}`
    })
    .join('\n\n')
}

function excerpt(source: string, column: number, line: number): string {
  // Of a long line, the part around the mark.
  const start = column <= teamLimits.shownLine ? 0 : column - Math.floor(teamLimits.shownLine / 2)
  const end = start + teamLimits.shownLine
  const before = start > 0 ? '…' : ''
  const shown = `${before}${plainLine(source.slice(start, end))}${end < source.length ? '…' : ''}`
  const indent = before + plainLine(source.slice(start, Math.max(start, column - 1)))
  const gutter = `${line} | `
  const mark = `${' '.repeat(gutter.length - 2)}| ${[...indent].map(() => ' ').join('')}^`
  return `  ${gutter}${shown}\n  ${mark}`
}

/** Tabs as one space each, so that the mark stands where it should. */
function plainLine(text: string): string {
  return visible(text.replaceAll('\t', ' '))
}
