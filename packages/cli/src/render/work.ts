// The work under judgement: whose it is, what its author said, checks and reviews, cost, files, patch.
import { cliLimits } from '../limits.ts'
import type { ListedGate, WorkView } from '../node/views.ts'
import { plural, shortHash, shortId, spendInFull } from './format.ts'
import { type Cell, grid } from './grid.ts'
import type { Paint, Tone } from './paint.ts'
import { checkText, folded, OUTCOME_TONES } from './steps.ts'
import type { Drawing } from './tasks.ts'
import { cut, lines, oneLine, wrap } from './text.ts'
import { judgesWork } from './waiting.ts'

type Part = WorkView['parts'][number]
type Judgement = Part['judgements'][number]

const INDENT = '  '

/** All but the patch. `full`: nothing that was said is cut. */
export function workLines(work: WorkView, drawing: Drawing, full = false): readonly string[] {
  const { paint, width } = drawing
  return [...wrap(oneLine(work.title), width).map(line => paint('strong', line)), ...aboutLines(work, drawing, full)]
}

/** The same below the question that names it, with the first of its files and how its patch is seen. */
export function gateWorkLines(gate: ListedGate, drawing: Drawing): readonly string[] {
  const { work } = gate
  if (!judgesWork(gate)) return []
  const diff = `parley diff ${shortId(gate.run)} ${gate.task ?? gate.workspace} shows ${work ? 'the patch' : 'it'}`
  const how = wrap(diff, drawing.width - INDENT.length).map(line => `${INDENT}${line}`)
  if (!work) return how
  const files = work.files.slice(0, cliLimits.files)
  const more_files = work.more_files + work.files.length - files.length
  return [...aboutLines({ ...work, files, more_files }, drawing, false), ...how]
}

function aboutLines(work: WorkView, drawing: Drawing, full: boolean): readonly string[] {
  const { paint, width } = drawing
  const single = work.task !== undefined
  const spent = spendInFull(work.usage)
  const told = work.parts.flatMap(part => partLines(part, single, drawing, full))
  const cuts = !full && told.some(line => line.includes(MORE))
  const whole = `parley diff ${shortId(work.run)}${single ? ` ${work.task}` : ''} --full`
  return [
    ...told,
    ...(cuts ? wrap(`Full text: ${whole}`, width - 2).map(line => paint('quiet', `${INDENT}${line}`)) : []),
    ...(single && work.checkpoint !== undefined && !work.final
      ? [paint('warning', `${INDENT}Not finished: this is what was kept last.`)]
      : []),
    `${INDENT}${paint('quiet', 'used')}  ${plural(work.usage.turns, 'agent turn')}${spent ? ` · ${spent}` : ''}`,
    ...statLines(work, drawing),
  ]
}

const MORE = '… '

function partLines(part: Part, single: boolean, drawing: Drawing, full: boolean): readonly string[] {
  const { paint, width } = drawing
  const room = Math.max(cliLimits.leastColumns, width - INDENT.length)
  const most = full ? undefined : single ? cliLimits.saidLines : 1
  const who = `${single ? '' : `${oneLine(part.title)}, `}by ${oneLine(part.agent)}, ${part.state}`
  return [
    ...wrap(who, room).map(line => `${INDENT}${paint(single ? 'quiet' : 'strong', line)}`),
    ...folded(part.said, room - INDENT.length, most).map(line => `${INDENT}${INDENT}${line}`.trimEnd()),
    ...part.judgements.flatMap(each => judgementLines(each, room, full, paint)),
  ]
}

function judgementLines(
  { kind, agent, command, outcome, text }: Judgement,
  room: number,
  full: boolean,
  paint: Paint,
): readonly string[] {
  const head = `${kind === 'check' ? checkText({ agent, command }) : `${kind} by ${oneLine(agent)}`}: `
  const tone = OUTCOME_TONES[outcome]
  const said = folded(text, room - INDENT.length, full ? undefined : 1)
  return [
    `${INDENT}${cut(head, room - outcome.length)}${paint(tone, outcome)}`,
    ...said.map(line => `${INDENT}${INDENT}${line}`.trimEnd()),
  ]
}

/** A line for each file, and the sum. */
export function statLines(work: Pick<WorkView, 'files' | 'more_files' | 'added' | 'removed'>, drawing: Drawing) {
  const { paint, width } = drawing
  const { files, more_files, added, removed } = work
  const all = files.length + more_files
  if (all === 0) return [`${INDENT}No files changed.`]
  const rows = files.map(({ path, from, kind, ...lines }) => [
    `${INDENT}${from === undefined ? '' : `${oneLine(from)} → `}${oneLine(path)}`,
    { text: kind, tone: KIND_TONES[kind] },
    counted('+', lines.added, 'good'),
    counted('-', lines.removed, 'bad'),
    lines.added === undefined ? { text: 'binary', tone: 'quiet' as const } : '',
  ])
  const columns = [
    { flexible: true, least: 20 },
    { optional: 2 },
    { align: 'right' as const, optional: 1 },
    { align: 'right' as const, optional: 1 },
    { optional: 3 },
  ]
  return [
    ...grid(columns, rows, width, paint),
    ...(more_files > 0 ? [`${INDENT}${MORE}and ${plural(more_files, 'more file')}`] : []),
    `${INDENT}${plural(all, 'file')}, ${paint('good', `+${added}`)} ${paint('bad', `-${removed}`)}`,
  ]
}

const KIND_TONES = { added: 'good', changed: 'quiet', deleted: 'bad', renamed: 'quiet' } as const

function counted(sign: '+' | '-', value: number | undefined, tone: Tone): Cell | string {
  return value ? { text: `${sign}${value}`, tone } : ''
}

/** Harmless and coloured, for a terminal; lines are as long as they are. */
export function patchLines(patch: string, paint: Paint): readonly string[] {
  return lines(patch).map(line => {
    if (/^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename )/.test(line)) return paint('strong', line)
    if (line.startsWith('@@')) return paint('active', line)
    if (line.startsWith('+')) return paint('good', line)
    return line.startsWith('-') ? paint('bad', line) : line
  })
}

/** How the user's own git shows the same. */
export function gitDiff({ base, commit }: Pick<WorkView, 'base' | 'commit'>): string {
  return `git diff ${shortHash(base)}..${shortHash(commit)}`
}
