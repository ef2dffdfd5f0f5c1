// What was done on each task: attempts, checks and reviews with outcome, time, spend and last words.
import { cliLimits } from '../limits.ts'
import type { PlanTaskView, RunView, StepView } from '../node/views.ts'
import { between, duration, plural, shortId, spend, ticksOf } from './format.ts'
import { grid, type Row } from './grid.ts'
import type { Tone } from './paint.ts'
import type { Drawing } from './tasks.ts'
import { lines, oneLine, wrap } from './text.ts'

export const OUTCOME_TONES: Readonly<Record<StepView['outcome'], Tone>> = {
  working: 'active',
  blocked: 'warning',
  complete: 'good',
  accepted: 'good',
  failed: 'bad',
  rejected: 'bad',
  revise: 'warning',
}

const INDENT = '    '

/** In the order in which tasks began, with times from the start of the run. `full`: nothing is cut. */
export function stepLines(view: RunView, drawing: Drawing, full: boolean): readonly string[] {
  const begun = view.tasks
    .filter(({ steps }) => steps.length > 0)
    .toSorted((one, other) => firstOf(one) - firstOf(other))
  const rows = begun.flatMap(task => task.steps.map(step => stepRow(step, task, view, drawing)))
  const drawn = grid(
    [
      { align: 'right' },
      {},
      { flexible: true, least: 12 },
      { optional: 3 },
      {},
      { align: 'right', optional: 1 },
      { align: 'right', optional: 2 },
    ],
    rows,
    drawing.width,
    drawing.paint,
  )
  let next = 0
  const shown = begun.flatMap(task =>
    task.steps.flatMap(step => [
      drawn[next++]!,
      ...(step.moves ?? []).flatMap(move => moveLines(move, drawing)),
      ...sessionLines(step, drawing, full),
      ...said(step.text, drawing.width, full ? undefined : cliLimits.saidLines).map(line =>
        line === '' ? '' : `${INDENT}${line}`,
      ),
    ]),
  )
  const cut = !full && begun.some(({ steps }) => steps.some(({ text }) => isLong(text, drawing.width)))
  return cut ? [...shown, drawing.paint('quiet', `Full text: parley show ${shortId(view.run)} --full`)] : shown
}

function stepRow(step: StepView, task: PlanTaskView, view: RunView, { now }: Drawing): Row {
  return [
    { text: `+${duration(between(view.started, step.started, now) ?? 0)}`, tone: 'quiet' },
    step.kind === 'work' ? `work ${step.attempt}` : step.kind,
    oneLine(task.title),
    { text: oneLine(step.agent), tone: 'quiet' },
    { text: step.outcome, tone: OUTCOME_TONES[step.outcome] },
    duration(between(step.started, step.ended, now) ?? 0),
    [step.usage.turns > 1 ? plural(step.usage.turns, 'turn') : '', spend(step.usage)]
      .filter(part => part !== '')
      .join(' '),
  ]
}

function moveLines(move: NonNullable<StepView['moves']>[number], { width, paint }: Drawing): readonly string[] {
  const failed = move.outcome === 'failed' ? ', which failed' : ''
  const text = `${move.to} takes over from ${move.from}${failed}: ${oneLine(move.reason)}`
  return wrap(text, Math.max(cliLimits.leastColumns, width - INDENT.length)).map(
    line => `${INDENT}${paint(move.outcome === 'failed' ? 'bad' : 'quiet', line)}`,
  )
}

/** Whether later turns went on with the conversation of the program, or began another. */
function sessionLines({ sessions = [] }: StepView, { paint }: Drawing, full: boolean): readonly string[] {
  const told = full ? sessions : sessions.slice(1)
  return told.map(({ turn, id, resumed }) => {
    const what = resumed ? 'resumed the session' : turn > 1 ? 'began a new session' : 'session'
    return `${INDENT}${paint('quiet', `turn ${turn}: ${what} ${oneLine(id)}`)}`
  })
}

function firstOf({ steps }: PlanTaskView): number {
  return ticksOf(steps[0]!.started) ?? 0
}

/** Wrapped; the beginning of a long text, with the rest counted. */
export function folded(text: string | undefined, room: number, most: number | undefined): readonly string[] {
  const all = wrapped(text, room)
  if (most === undefined || all.length <= most) return all
  return [...all.slice(0, most), `… ${plural(all.length - most, 'more line')}`]
}

const said = (text: string | undefined, width: number, most: number | undefined) => folded(text, roomIn(width), most)

function isLong(text: string | undefined, width: number): boolean {
  return wrapped(text, roomIn(width)).length > cliLimits.saidLines
}

const roomIn = (width: number) => Math.max(cliLimits.leastColumns, width - INDENT.length)

function wrapped(text: string | undefined, room: number): readonly string[] {
  return (text === undefined ? [] : lines(text.trim())).flatMap(line => (line === '' ? [''] : wrap(line, room)))
}

/** The last words of the tasks that no other task builds on: one answer whole, the beginnings of several. */
export function answerLines(view: RunView, { width, paint }: Drawing): readonly string[] {
  const needed = new Set(view.tasks.flatMap(({ needs }) => needs))
  const answers = view.tasks
    .filter(({ id, state }) => state === 'done' && !needed.has(id))
    .map(task => ({ task, text: answerOf(task) }))
    .filter(({ text }) => text !== '')
  const [only] = answers
  if (only === undefined) return []
  if (answers.length === 1) return [...lines(only.text), '']
  const cut = answers.some(({ text }) => isLong(text, width))
  return [
    ...answers.flatMap(({ task, text }) => [
      paint('strong', `${oneLine(task.title)}:`),
      ...said(text, width, cliLimits.saidLines).map(line => (line === '' ? '' : `${INDENT}${line}`)),
    ]),
    ...(cut ? [paint('quiet', `Full text: parley show ${shortId(view.run)} --full`)] : []),
    '',
  ]
}

function answerOf({ steps }: PlanTaskView): string {
  return steps.findLast(({ kind, outcome }) => kind === 'work' && outcome === 'complete')?.text?.trim() ?? ''
}
