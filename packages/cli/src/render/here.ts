// Where you are: what waits, what is at work, and what to do next.
import type { GateView, MachineView, RunSummaryView } from '../node/views.ts'
import { plural, shortId, shortIds } from './format.ts'
import { heldLine } from './machine.ts'
import { runsTable } from './runs.ts'
import type { Drawing } from './tasks.ts'
import { cut, oneLine, wrap } from './text.ts'
import { fallbackText } from './waiting.ts'

/** What `parley` alone says, for programs as well. */
export interface Here {
  readonly node: 'running' | 'not running' | 'unreachable'
  /** Why it cannot be reached. */
  readonly problem?: string
  /** The nearest above the working folder; null for none. */
  readonly team_file: string | null
  readonly repository: string | null
  /** Runs that go on with the next node; where none runs. */
  readonly interrupted: readonly string[]
  readonly waiting: readonly GateView[]
  readonly at_work: readonly RunSummaryView[]
  readonly last: RunSummaryView | null
  readonly machine: MachineView | null
  /** Where the HTTP surface is, or why it is not open; where it is switched on. */
  readonly http?: string
}

export function hereLines(here: Here, drawing: Drawing): readonly string[] {
  const { paint, width } = drawing
  const { waiting, last, machine } = here
  // A plan that nobody has approved is among what waits.
  const at_work = here.at_work.filter(({ state }) => state !== 'waiting')
  const part = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? [paint('strong', title), ...lines, ''] : []
  return [
    ...(machine ? [heldLine(machine, drawing, width), ''] : []),
    ...part('Waiting for you', waitingLines(here, drawing)),
    ...part(
      'At work',
      at_work.length > 0
        ? runsTable(
            at_work.map(({ waits: _, ...run }) => run),
            drawing,
          )
        : [],
    ),
    ...part('Last', last ? runsTable([last], drawing) : []),
    ...(waiting.length + here.at_work.length === 0 ? [...wrap(quietText(here), width), ''] : []),
    ...(here.http === undefined ? [] : [...wrap(`HTTP: ${oneLine(here.http)}`, width), '']),
    paint('strong', 'Next'),
    ...nextSteps(here).flatMap(([line, what]) => [`  ${line}`, `      ${paint('quiet', cut(what, width - 6))}`]),
  ]
}

function waitingLines({ waiting }: Here, { now, width, paint }: Drawing): readonly string[] {
  const short = shortIds(waiting.map(({ id }) => id))
  const several = waiting.some(({ run }) => run !== waiting[0]?.run)
  const things = [...Map.groupBy(waiting, thingOf).values()]
  const shown = things.slice(0, MOST)
  const more = things.length - shown.length
  return [
    ...shown.flatMap(([first, ...others]) => {
      const gate = first!
      const then = fallbackText(gate, now)
      // One answer is enough for the tasks of a plan.
      const plan = others.length > 0
      const question = plan ? `May these ${others.length + 1} tasks start? ${gate.intent ?? ''}` : gate.question
      const facts = [
        plan ? shortId(gate.run) : short(gate.id),
        ...(several && !plan ? [shortId(gate.run)] : []),
        ...(then === undefined ? [] : [then]),
      ].join(' · ')
      return [cut(`  ${oneLine(question)}`, width), `    ${paint('quiet', cut(facts, width - 4))}`]
    }),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ]
}

const thingOf = ({ id, run, type }: GateView) => (type === 'task_approval' ? run : id)

const MOST = 5

function quietText({ node, problem, interrupted }: Here): string {
  if (interrupted.length > 0)
    return `No node is running. ${plural(interrupted.length, 'run')} will continue with the next one: ${interrupted.map(shortId).join(', ')}.`
  if (node === 'unreachable') return `The node cannot be reached: ${oneLine(problem ?? '')}`
  return node === 'running'
    ? 'Nothing is at work, and nothing waits for you.'
    : 'Nothing is at work: no node is running.'
}

function nextSteps({
  node,
  interrupted,
  waiting,
  at_work,
  last,
  team_file,
  repository,
}: Here): readonly (readonly [string, string])[] {
  const [run] = at_work
  return [
    ...(node === 'unreachable' ? [['parley doctor', 'says what is wrong, and how to fix it'] as const] : []),
    ...(interrupted.length > 0
      ? [[`parley show ${shortId(interrupted[0]!)} --follow`, 'starts the node, which continues all of them'] as const]
      : []),
    ...(waiting.length > 0 ? [['parley inbox', 'answer what waits'] as const] : []),
    ...(run ? [[`parley show ${shortId(run.run)} --follow`, 'watch the newest run'] as const] : []),
    ...(!run && last ? [[`parley show ${shortId(last.run)}`, 'what the last run did'] as const] : []),
    ...(team_file === null
      ? [
          [
            'parley init',
            repository === null
              ? 'prepares this folder, which is no git repository'
              : 'writes a team file for this project',
          ] as const,
        ]
      : [['parley solve "what you want"', `with the team in ${team_file}`] as const]),
    ['parley help', 'every command'],
  ]
}
