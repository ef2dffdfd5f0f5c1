// What was done on each task: attempts, checks and reviews with outcome, time, spend and last words; for one task line
// by line, with what its agents said and used in between.
import type { Ticks } from '@parley/core'
import { cliLimits } from '../limits.ts'
import type { LogItem, PlanTaskView, PromptsView, RunView, StepView } from '../node/views.ts'
import { between, duration, plural, shortId, spend, ticksOf } from './format.ts'
import { grid, type Row } from './grid.ts'
import type { Tone } from './paint.ts'
import type { Drawing } from './tasks.ts'
import { cut, lines, oneLine, textLines, wrap } from './text.ts'

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

/**
 * In the order in which tasks began, with times from the start of the run. `told`: what agents were told, of which the
 * beginning is shown; with it, nothing that they said is cut.
 */
export function stepLines(view: RunView, drawing: Drawing, told?: PromptsView): readonly string[] {
  const full = told !== undefined
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
      ...setupLines(step, drawing),
      ...(step.moves ?? []).flatMap(move => moveLines(move, drawing)),
      ...sessionLines(step, drawing, full),
      ...toldLines(step, told, drawing),
      ...said(step.text, drawing.width, full ? undefined : cliLimits.saidLines).map(line =>
        line === '' ? '' : `${INDENT}${line}`,
      ),
      ...peopleLines(step, INDENT, drawing),
    ]),
  )
  const folds = told?.prompts.some(({ text }) => isLong(text, drawing.width - INDENT.length, cliLimits.toldLines))
  if (told && (folds || told.left_out > 0)) {
    const more = told.left_out > 0 ? ` The oldest ${plural(told.left_out, 'prompt')} could not be shown.` : ''
    return [...shown, drawing.paint('quiet', `Whole prompts: parley show ${shortId(view.run)} --full --json.${more}`)]
  }
  const cut = !full && begun.some(({ steps }) => steps.some(({ text }) => isLong(text, drawing.width)))
  return cut ? [...shown, drawing.paint('quiet', `Full text: parley show ${shortId(view.run)} --full`)] : shown
}

function stepRow(step: StepView, task: PlanTaskView, view: RunView, { now }: Drawing): Row {
  return [
    { text: `+${duration(between(view.started, step.started, now) ?? 0)}`, tone: 'quiet' },
    step.kind === 'work' ? `work ${step.attempt}` : step.kind,
    oneLine(task.title),
    { text: step.kind === 'check' ? oneLine(step.command ?? step.agent) : oneLine(step.agent), tone: 'quiet' },
    { text: step.outcome, tone: OUTCOME_TONES[step.outcome] },
    duration(timeOf(step, now)),
    [step.usage.turns > 1 ? plural(step.usage.turns, 'turn') : '', spend(step.usage)]
      .filter(part => part !== '')
      .join(' '),
  ]
}

function setupLines({ setup }: StepView, { width, paint }: Drawing): readonly string[] {
  if (!setup) return []
  const text = `setup took ${duration(setup.wall_ms)}: ${oneLine(setup.command.join(' '))}`
  return [`${INDENT}${paint('quiet', cut(text, roomIn(width)))}`]
}

/** Of finished work that of its turns: its workspace stays until the work is judged and merged. */
export function timeOf({ kind, started, ended, usage }: StepView, now: Ticks): number {
  if (kind === 'work' && ended !== undefined && usage.wall_ms > 0) return usage.wall_ms
  return between(started, ended, now) ?? 0
}

/** check `npm test` */
export function checkText({ agent, command }: { agent: string; command?: string | undefined }): string {
  return command === undefined ? `check by ${oneLine(agent.replace(/^check:/, ''))}` : `check \`${oneLine(command)}\``
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

const DID = { replied: 'replied', sent_back: 'sent it back', rejected: 'did not let it be merged' } as const

/** Replies to its questions, and why it was not merged: whole, since a person chose the words. */
function peopleLines({ people = [] }: StepView, indent: string, { width, paint }: Drawing): readonly string[] {
  return people.flatMap(({ by, did, question, text }) => {
    const asked = question === undefined ? '' : ` to "${oneLine(question)}"`
    const words = text === undefined || text.trim() === '' ? '' : `: ${oneLine(text)}`
    return wrap(
      `${oneLine(by)} ${DID[did]}${asked}${words}`,
      Math.max(cliLimits.leastColumns, width - indent.length),
    ).map(line => `${indent}${paint('warning', line)}`)
  })
}

function toldLines({ workspace }: StepView, told: PromptsView | undefined, { width, paint }: Drawing) {
  const own = (told?.prompts ?? []).filter(each => each.workspace === workspace)
  return own.flatMap(({ turn, agent, text }) => [
    `${INDENT}${paint('strong', `turn ${turn}: ${oneLine(agent)} was told`)}`,
    ...said(text, width - INDENT.length, cliLimits.toldLines).map(line =>
      line === '' ? '' : `${INDENT}${INDENT}${paint('quiet', line)}`,
    ),
  ])
}

function firstOf({ steps }: PlanTaskView): number {
  return ticksOf(steps[0]!.started) ?? 0
}

/** Wrapped; the beginning of a long text, with the rest counted. */
export function folded(text: string | undefined, room: number, most: number | undefined): readonly string[] {
  const all = wrapped(text, room)
  // The line that says so would take the place of the only one that it hides.
  if (most === undefined || all.length <= most + 1) return all
  return [...all.slice(0, most), `… ${plural(all.length - most, 'more line')}`]
}

const said = (text: string | undefined, width: number, most: number | undefined) => folded(text, roomIn(width), most)

function isLong(text: string | undefined, width: number, most: number = cliLimits.saidLines): boolean {
  return wrapped(text, roomIn(width)).length > most + 1
}

const roomIn = (width: number) => Math.max(cliLimits.leastColumns, width - INDENT.length)

function wrapped(text: string | undefined, room: number): readonly string[] {
  return (text === undefined ? [] : textLines(text)).flatMap(line => (line === '' ? [''] : wrap(line, room)))
}

/** The last words of the tasks that no other task builds on: one answer whole, the beginnings of several. */
export function answerLines(view: RunView, { width, paint }: Drawing, folds: boolean): readonly string[] {
  const needed = new Set(view.tasks.flatMap(({ needs }) => needs))
  const answers = view.tasks
    .filter(({ id, state }) => state === 'done' && !needed.has(id))
    .map(task => ({ task, text: answerOf(task) }))
    .filter(({ text }) => text !== '')
  const [only] = answers
  if (only === undefined) return []
  const full = paint('quiet', `Full text: parley show ${shortId(view.run)} --full`)
  if (answers.length === 1) {
    if (!folds || wrapped(only.text, width).length <= cliLimits.answerLines + 1) return [...lines(only.text), '']
    return [...folded(only.text, width, cliLimits.answerLines), full, '']
  }
  const cut = answers.some(({ text }) => isLong(text, width))
  return [
    ...answers.flatMap(({ task, text }) => [
      paint('strong', `${oneLine(task.title)}:`),
      ...said(text, width, cliLimits.saidLines).map(line => (line === '' ? '' : `${INDENT}${line}`)),
    ]),
    ...(cut ? [full] : []),
    '',
  ]
}

function answerOf({ steps }: PlanTaskView): string {
  return steps.findLast(({ kind, outcome }) => kind === 'work' && outcome === 'complete')?.text?.trim() ?? ''
}

const LOG_INDENT = '  '
const STATES = { started: '›', finished: '✓', failed: '✗' } as const

export function logLines(item: LogItem, started: string, drawing: Drawing): readonly string[] {
  const { paint, width } = drawing
  switch (item.type) {
    case 'step':
      return logStepLines(item.step, started, drawing)
    case 'text':
      return indented(item.text, width)
    case 'thinking':
    case 'notice':
      return indented(item.text, width).map(line => paint('quiet', line))
    case 'tool': {
      const text = `${STATES[item.state]} ${item.name}${item.summary ? ` ${item.summary}` : ''}`
      const tone = item.state === 'failed' ? 'bad' : 'active'
      return wrap(oneLine(text), Math.max(1, width - LOG_INDENT.length)).map(
        line => `${LOG_INDENT}${paint(tone, line)}`,
      )
    }
    case 'missed':
      return [paint('quiet', `${LOG_INDENT}… ${item.count} more were left out`)]
  }
}

/** Its beginning, or its end with all that was said. */
export function logStepLines(step: StepView, started: string, drawing: Drawing): readonly string[] {
  const { paint, width, now } = drawing
  const at = `+${duration(between(started, step.started, now) ?? 0)}`
  const by = `${step.kind === 'work' ? `work ${step.attempt}` : step.kind} by ${oneLine(step.agent)}`
  const what = step.kind === 'check' ? checkText(step) : by
  if (step.ended === undefined) return [`${paint('quiet', at)} ${what} ${paint('active', step.outcome)}`]
  const took = duration(timeOf(step, now))
  const cost = [took, spend(step.usage)].filter(Boolean).join(' · ')
  return [
    `${paint('quiet', at)} ${what} ${paint(OUTCOME_TONES[step.outcome], step.outcome)} ${paint('quiet', cost)}`,
    ...indented(step.text ?? '', width),
    ...peopleLines(step, LOG_INDENT, drawing),
  ]
}

export function indented(text: string, width: number): readonly string[] {
  const room = Math.max(1, width - LOG_INDENT.length)
  return textLines(text).flatMap(line => (line === '' ? [''] : wrap(line, room).map(each => `${LOG_INDENT}${each}`)))
}
