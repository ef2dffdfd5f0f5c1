// Everything about one run: the facts, the tree, every step with time and spend, the result.
import type { GateView, ListedGate, PromptsView, RunView } from '../node/views.ts'
import { keptLines, resultLines } from './ending.ts'
import { between, bytes, duration, moment, plural, shortId, shortIds, spendInFull, timesUntil } from './format.ts'
import { totalLine } from './live.ts'
import { warningLines } from './plan.ts'
import { stepLines } from './steps.ts'
import { type Drawing, taskLines } from './tasks.ts'
import { firstLine, labelled, oneLine, projectText, wrap } from './text.ts'
import { questionLines, untilText } from './waiting.ts'
import { gateWorkLines } from './work.ts'

interface Beside {
  /** What waits, with the work that is judged there. */
  readonly gates?: readonly ListedGate[]
  /** What agents were told; with it, everything that they said is shown. */
  readonly told?: PromptsView | undefined
}

export function showLines(
  view: RunView,
  drawing: Drawing,
  { gates = view.gates, told }: Beside = {},
): readonly string[] {
  const { paint, width } = drawing
  const short = shortIds(gates.map(({ id }) => id))
  return [
    ...facts(view, drawing),
    '',
    ...taskLines(view.tasks, drawing).flatMap(({ lines }) => lines),
    totalLine(view, drawing),
    ...section('Steps', stepLines(view, drawing, told), drawing),
    ...section('Result', view.result || view.result_unknown ? resultLines(view, width) : keptLines(view), drawing),
    ...section('Warnings', warningLines(view, paint), drawing),
    ...section(
      'Waiting for you',
      gates.flatMap(gate => gateLines(gate, drawing, short)),
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
    ['project', projectText(view)],
    ...(view.imported ? [['imported', `from ${view.imported.from} on ${moment(view.imported.at)}`] as const] : []),
    ['started', `${moment(view.started)}, ${view.ended ? `took ${took}` : `${took} ago`}`],
    ...timesRows(view, drawing),
    ...(view.machine ? [['held up', oneLine(view.machine.message)] as const] : []),
    ...(view.reason ? [['reason', firstLine(view.reason)] as const] : []),
    ['usage', measured],
    ...(told ? [['spent', told] as const] : []),
  ]
  return [...wrap(oneLine(view.intent), width).map(line => paint('strong', line)), ...labelled(rows, width, paint)]
}

/** Apart, since an hour in which nobody answered is no hour of work. */
function timesRows(view: RunView, { now }: Drawing): readonly (readonly [string, string])[] {
  const { working, person, slot } = timesUntil(view, now)
  const parts = [
    `${duration(working)} at work`,
    ...(person > 0 ? [`${duration(person)} waiting for you`] : []),
    ...(slot > 0 ? [`${duration(slot)} waiting for a free slot`] : []),
  ]
  return view.times ? [['time', parts.join(', ')]] : []
}

function section(title: string, lines: readonly string[], { paint }: Drawing): readonly string[] {
  return lines.length > 0 ? ['', paint('strong', title), ...lines] : []
}

export function gateLines(gate: ListedGate, drawing: Drawing, short = shortId): readonly string[] {
  const { paint, now, width } = drawing
  const id = short(gate.id)
  return [
    ...questionLines(gate, drawing),
    ...wrap(untilText(gate, now), width - 2).map(line => `  ${paint('quiet', line)}`),
    ...gateWorkLines(gate, drawing),
    ...(isOffer(gate) ? [`  parley salvage ${gate.task} --run ${shortId(gate.run)} shows it first`] : []),
    gate.kind === 'gate' ? `  parley approve ${id}, or parley reject ${id} --reason "…"` : `  parley reply ${id} "…"`,
  ]
}

/** A question about what failed work left: it has the id of its workspace. */
function isOffer({ id, workspace, task }: GateView): boolean {
  return id === workspace && task !== undefined
}
