// Everything about one run: the facts, the tree, the timeline of steps with time and spend, the result.
import type { GateView, PlanTaskView, RunView } from '../views.ts'
import { resultLines } from './ending.ts'
import {
  between,
  bytes,
  duration,
  moment,
  plural,
  shortGate,
  shortId,
  spend,
  spendInFull,
  ticksOf,
} from './format.ts'
import { grid, type Row } from './grid.ts'
import { totalLine } from './live.ts'
import { warningLines } from './plan.ts'
import { type Drawing, taskLines } from './tasks.ts'
import { cut, oneLine } from './text.ts'
import { TONES } from './tree.ts'

export function showLines(view: RunView, drawing: Drawing): readonly string[] {
  const { paint, width } = drawing
  return [
    ...facts(view, drawing),
    '',
    ...taskLines(view.tasks, drawing).flatMap(({ lines }) => lines),
    totalLine(view, drawing),
    ...section('Timeline', timeline(view, drawing), drawing),
    ...section('Result', view.result ? resultLines(view, width) : [], drawing),
    ...section('Warnings', warningLines(view, paint), drawing),
    ...section(
      'Waits for you',
      view.gates.flatMap(gate => gateLines(gate, drawing)),
      drawing,
    ),
    '',
    `Its record: parley trail query ${shortId(view.run)}, parley trail verify ${shortId(view.run)}`,
  ]
}

function facts(view: RunView, drawing: Drawing): readonly string[] {
  const { paint, width, now } = drawing
  const { usage } = view
  const took = duration(between(view.started, view.ended, now) ?? 0)
  const measured = `${plural(usage.turns, 'turn')}, ${duration(usage.wall_ms)} of agents' time, ${bytes(usage.output_bytes)} of output`
  const told = spendInFull(usage)
  const rows: readonly (readonly [string, string])[] = [
    ['run', view.run],
    ['team', `${oneLine(view.team)} for ${oneLine(view.principal)}`],
    ['project', oneLine(view.project)],
    ['started', `${moment(view.started)}, ${view.ended ? `took ${took}` : `${took} ago`}`],
    ...(view.reason ? [['reason', oneLine(view.reason)] as const] : []),
    ['usage', measured],
    ...(told ? [['spent', told] as const] : []),
  ]
  return [
    paint('strong', cut(oneLine(view.intent), width)),
    ...rows.map(
      ([name, text]) => `${paint('quiet', name.padEnd(9))}${name === 'run' ? text : cut(text, width - 9)}`,
    ),
  ]
}

function section(title: string, lines: readonly string[], { paint }: Drawing): readonly string[] {
  return lines.length > 0 ? ['', paint('strong', title), ...lines] : []
}

/** What waits, and the commands that answer it. */
export function gateLines(gate: GateView, { paint, width }: Drawing): readonly string[] {
  const id = shortGate(gate)
  const who = gate.task === undefined ? '' : `${oneLine(gate.task)} asks: `
  return [
    paint('warning', cut(`${who}${oneLine(gate.question)}`, width)),
    gate.kind === 'plan'
      ? `  parley approve ${id}, or parley reject ${id} --reason "…"`
      : `  parley reply ${id} "…"`,
  ]
}

/** In the order in which the steps began; times count from the start of the run. */
function timeline(view: RunView, { width, now, paint }: Drawing): readonly string[] {
  const begun = view.tasks
    .filter(({ started }) => started !== undefined)
    .toSorted((one, other) => (ticksOf(one.started!) ?? 0) - (ticksOf(other.started!) ?? 0))
  return grid(
    [
      { align: 'right' },
      { flexible: true },
      { optional: 2 },
      { align: 'right', optional: 3 },
      { align: 'right', optional: 1 },
      { align: 'right', optional: 4 },
      { align: 'right', optional: 5 },
    ],
    begun.map((task): Row => step(task, view, now)),
    width,
    paint,
  )
}

function step(task: PlanTaskView, view: RunView, now: Drawing['now']): Row {
  const offset = between(view.started, task.started, now) ?? 0
  const { usage } = task
  return [
    { text: `+${duration(offset)}`, tone: 'quiet' },
    oneLine(task.title),
    { text: oneLine(task.agent), tone: 'quiet' },
    { text: task.state, tone: TONES[task.state] },
    duration(between(task.started, task.ended, now) ?? 0),
    usage.turns > 1 ? plural(usage.turns, 'turn') : '',
    spend(usage),
  ]
}
