// The tasks of a run as a tree, with remarks below a task: what it is doing, or why it stopped.
import { formatTimestamp, type Ticks } from '@parley/core'
import { cliLimits } from '../limits.ts'
import type { PlanTaskView } from '../node/views.ts'
import { between, duration, lasted, shortHash, spend } from './format.ts'
import { type Column, grid, type Row } from './grid.ts'
import type { Paint } from './paint.ts'
import { cut, each, firstLine, oneLine, wrap } from './text.ts'
import { symbolOf, type TreeRow, toneOf, treeOf } from './tree.ts'

export interface Drawing {
  readonly width: number
  readonly now: Ticks
  readonly paint: Paint
}

export interface TaskLine {
  readonly task: PlanTaskView
  readonly lines: readonly string[]
}

const COLUMNS: readonly Column[] = [
  { flexible: true, least: 28 },
  { optional: 3 },
  { align: 'right', optional: 2 },
  { align: 'right', optional: 1 },
  { align: 'right', optional: 4 },
]

export function taskLines(tasks: readonly PlanTaskView[], drawing: Drawing): readonly TaskLine[] {
  const rows = treeOf(tasks)
  const drawn = grid(
    COLUMNS,
    rows.map(row => taskRow(row, drawing)),
    drawing.width,
    drawing.paint,
  )
  return rows.map((row, index) => ({ task: row.task, lines: [drawn[index]!, ...remarks(row, drawing)] }))
}

/** Needs besides the task above that are named; more are counted. */
const NAMED = 2

function taskRow({ task, branch, also }: TreeRow, { now }: Drawing): Row {
  const symbol = symbolOf(task.state)
  const others = also.length > NAMED ? `${also.length} others` : also.map(oneLine).join(', ')
  const after = also.length > 0 ? ` (also after ${others})` : ''
  return [
    {
      text: `${branch}${symbol} ${oneLine(task.title)}${after}`,
      dress: (text, paint) => {
        const lead = branch + symbol
        if (!text.startsWith(lead)) return text
        return paint('quiet', branch) + paint(toneOf(task.state), symbol) + text.slice(lead.length)
      },
    },
    { text: oneLine(task.agent), tone: 'quiet' },
    {
      text: task.attempt > 1 ? `try ${task.attempt}/${task.attempts}` : '',
      tone: 'warning',
    },
    lasted(task.started, task.ended, now),
    spend(task.usage),
  ]
}

function remarks({ task, below }: TreeRow, { width, paint, now }: Drawing): readonly string[] {
  const room = Math.max(1, width - below.length - 2)
  const remark = (text: string, tone: 'quiet' | 'warning' | 'bad', most: number = cliLimits.remarkLines) => {
    const all = wrap(firstLine(text), room)
    const shown = all.length <= most ? all : [...all.slice(0, most - 1), cut(all.slice(most - 1).join(' '), room)]
    return shown.map(line => `${paint('quiet', below)}  ${paint(tone, line)}`)
  }
  return [
    // What changes all the time must not move what is below it.
    ...(task.activity ? remark(task.activity, 'quiet', 1) : []),
    ...(task.note && task.state !== 'done' ? remark(task.note, task.state === 'failed' ? 'bad' : 'warning') : []),
    ...[...successionNotes(task, now), ...fileNotes(task)].flatMap(text => remark(text, 'warning')),
  ]
}

/** Files that were not taken over, and links that deserve attention. */
export function fileNotes(task: PlanTaskView): readonly string[] {
  const { refused, refused_links = [], dropped = [], outside_links = [], symlinks, state } = task
  const begun = state !== 'waiting' && state !== 'gated' && state !== 'ready'
  return [
    ...(refused.length > 0 ? [`not allowed, reverted: ${each(refused)}`] : []),
    ...(refused_links.length > 0 ? [`links that lead out of the project, reverted: ${each(refused_links)}`] : []),
    ...(dropped.length > 0 ? [`pipes, sockets or devices, left out: ${each(dropped)}`] : []),
    ...(outside_links.length > 0 ? [`links that lead out of the project: ${each(outside_links)}`] : []),
    ...(symlinks && !begun ? ['its links may lead out of the project'] : []),
  ]
}

/** A request to finish, and what became of the work of a failed task. */
export function successionNotes({ terminating, salvage }: PlanTaskView, now: Ticks): readonly string[] {
  const notes: string[] = []
  if (terminating) {
    const left = Math.max(0, between(formatTimestamp(now), terminating.until, now) ?? 0)
    notes.push(`asked to finish within ${duration(left)}: ${terminating.reason}`)
  }
  if (salvage) notes.push(salvageNote(salvage))
  return notes
}

type Salvage = NonNullable<PlanTaskView['salvage']>

function salvageNote({ state, agent, checkpoint, files, reason, commit }: Salvage): string {
  const what = files.length === 1 ? '1 file' : `${files.length} files`
  const from = `${what} of ${agent}, ${checkpoint}`
  switch (state) {
    case 'kept':
      return `kept: ${what} of ${agent}${commit === undefined ? '' : `, commit ${shortHash(commit)}`}`
    case 'merged':
      return `salvaged: ${from}`
    case 'discarded':
      return `not salvaged: ${from}${reason ? ` (${reason})` : ''}`
    case 'offered':
      return `can be salvaged: ${from}`
    default:
      return `being salvaged: ${from}`
  }
}
