// Rows of cells that fit a width: flexible columns shrink first, then the least important are dropped.
import { cliLimits } from '../limits.ts'
import { type Paint, plain, type Tone } from './paint.ts'
import { fit, widthOf } from './text.ts'

export interface Column {
  readonly header?: string
  readonly align?: 'left' | 'right'
  readonly flexible?: boolean
  /** It is not cut further while a column can be dropped. */
  readonly least?: number
  /** The column with the highest number is dropped first; one without is never dropped. */
  readonly optional?: number
}

export interface Cell {
  readonly text: string
  readonly tone?: Tone
  /** Paints the cut text if one tone is not enough. It must not change the width. */
  readonly dress?: (text: string, paint: Paint) => string
}

export type Row = readonly (Cell | string)[]

const GAP = '  '

/** Lines without trailing spaces. A column whose cells are all empty is left out. */
export function grid(
  columns: readonly Column[],
  rows: readonly Row[],
  width: number,
  paint: Paint = plain,
): readonly string[] {
  const cells = rows.map(row => columns.map((_, index) => asCell(row[index] ?? '')))
  const widths = layout(columns, cells, width)
  const header = columns.some(column => column.header !== undefined)
    ? [columns.map(column => ({ text: column.header ?? '', tone: 'quiet' as const }))]
    : []
  return [...header, ...cells].map(row => line(columns, row, widths, paint))
}

/** Each column has a function for its cells. */
export function table<T>(
  items: readonly T[],
  columns: readonly (Column & { readonly header: string; readonly of: (item: T) => Cell | string })[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): readonly string[] {
  return grid(
    columns,
    items.map(item => columns.map(({ of }) => of(item))),
    width,
    paint,
  )
}

function asCell(cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: cell } : cell
}

/** 0 for a column that is not shown. */
function layout(columns: readonly Column[], rows: readonly (readonly Cell[])[], width: number): number[] {
  const content = columns.map((_, index) => Math.max(0, ...rows.map(row => widthOf(row[index]!.text))))
  const natural = columns.map((column, index) =>
    content[index] === 0 ? 0 : Math.max(content[index]!, widthOf(column.header ?? '')),
  )
  const widths = [...natural]
  const room = Math.max(width, cliLimits.leastColumns)
  while (total(widths) > room) {
    const over = total(widths) - room
    const give = columns
      .map((column, index) => ({ index, spare: column.flexible ? widths[index]! - leastOf(column) : 0 }))
      .filter(({ spare }) => spare > 0)
      .sort((one, other) => other.spare - one.spare)
    const spare = give.reduce((sum, each) => sum + each.spare, 0)
    if (spare >= over) {
      // One character at a time from the widest, so that all end up alike.
      widths[give[0]!.index]!--
      continue
    }
    const dropped = leastImportant(columns, widths)
    if (dropped === undefined) return squeezed(columns, widths, room)
    widths[dropped] = 0
  }
  return widths
}

function leastOf({ least = cliLimits.narrowest }: Column): number {
  return least
}

/** No column can be dropped any more. */
function squeezed(columns: readonly Column[], widths: readonly number[], room: number): number[] {
  const flexible = columns.findIndex((column, index) => column.flexible && widths[index]! > 0)
  const over = total(widths) - room
  return widths.map((each, index) => (index === flexible ? Math.max(1, each - over) : each))
}

function leastImportant(columns: readonly Column[], widths: readonly number[]): number | undefined {
  let found: number | undefined
  columns.forEach((column, index) => {
    if (column.optional === undefined || widths[index] === 0) return
    if (found === undefined || column.optional > columns[found]!.optional!) found = index
  })
  return found
}

function total(widths: readonly number[]): number {
  const shown = widths.filter(each => each > 0)
  return shown.reduce((sum, each) => sum + each, 0) + GAP.length * Math.max(0, shown.length - 1)
}

function line(columns: readonly Column[], row: readonly Cell[], widths: readonly number[], paint: Paint): string {
  const shown = columns.map((_, index) => index).filter(index => widths[index]! > 0)
  let text = ''
  let space = ''
  for (const index of shown) {
    const { text: content, tone, dress } = row[index]!
    const filled = fit(content, widths[index]!, columns[index]!.align)
    const right = columns[index]!.align === 'right'
    const lead = right ? filled.slice(0, filled.length - filled.trimStart().length) : ''
    const body = right ? filled.trim() : filled.trimEnd()
    const tail = ' '.repeat(filled.length - lead.length - body.length)
    // Spaces are held back until something follows them, so that no line ends in spaces.
    if (body !== '') {
      text += space + lead + (dress ? dress(body, paint) : tone ? paint(tone, body) : body)
      space = tail + GAP
    } else {
      space += filled + GAP
    }
  }
  return text
}
