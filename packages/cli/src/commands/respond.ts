// What `approve`, `reject`, `modify` and `reply` share: finding what is meant, and answering it. A run stands for its plan: every task of it
// that waits is answered by itself.
import type { Argument, Context } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { Decision, NodeApi, Reply } from '../node-api.ts'
import { print } from '../output.ts'
import { shortGate, shortId } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import type { GateView } from '../views.ts'
import { LAST } from './words.ts'

export const GATE_OR_RUN: Argument = {
  name: 'GATE|RUN',
  summary:
    'What waits, or its run: the id, a unique beginning of it, or last (default: the only one that waits)',
  optional: true,
}

const DONE: Readonly<Record<Decision['decision'], string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  modify: 'Approved with changes',
}

export async function respond(
  context: Context,
  named: string | undefined,
  decision: Decision,
): Promise<ExitCode> {
  const api = await context.connect()
  const { text, views } = await meant(api, named, 'gate')
  const { run, gates } = await api.respond(text, decision)
  print(context, { run, gates, ...decision }, () => [
    ...answeredLines(views, gates, DONE[decision.decision]),
    ...(decision.decision !== 'reject' && !context.global.quiet
      ? [`Watch it: parley show ${shortId(run)} --follow`]
      : []),
  ])
  return EXIT.done
}

export async function answer(context: Context, named: string | undefined, reply: Reply): Promise<ExitCode> {
  const api = await context.connect()
  const { text, views } = await meant(api, named, 'question')
  const { run } = await api.reply(text, reply)
  const question = views[0] ? oneLine(views[0].question) : text
  const done = {
    envelope: 'Replied to',
    abort: 'Ended the work that asked',
    delegate: 'Left to the coordinator',
  }
  print(context, { run, question: views[0]?.id ?? text, ...reply }, () => [
    `${done[reply.answer]}: ${question}`,
  ])
  return EXIT.done
}

function answeredLines(views: readonly GateView[], ids: readonly string[], done: string): readonly string[] {
  const known = views.filter(({ id }) => ids.includes(id))
  const shown = known.slice(0, cliLimits.listedGates).map(({ question }) => `${done}: ${oneLine(question)}`)
  const more = ids.length - shown.length
  return more > 0 && shown.length > 0 ? [...shown, `… and ${more} more.`] : shown
}

export interface Meant {
  /** What the node is asked with. */
  readonly text: string
  readonly views: readonly GateView[]
}

/** What a person means by a name, or by none. */
export async function meant(api: NodeApi, named: string | undefined, kind: GateView['kind']): Promise<Meant> {
  const text = named === LAST ? (await api.show(LAST)).run : named
  const all = await api.gates()
  const fitting = all.filter(gate => text === undefined || fits(gate, text))
  const right = fitting.filter(gate => gate.kind === kind)
  const [only] = right
  if (only && right.length === 1) return { text: only.id, views: right }
  const runs = new Set(right.map(({ run }) => run))
  // Every task of one plan.
  if (only && kind === 'gate' && runs.size === 1 && right.every(({ type }) => type === 'task_approval'))
    return { text: only.run, views: right }
  if (only) throw ambiguous(named, right)
  if (fitting[0] && named !== undefined) throw wrongKind(fitting[0])
  throw new Failure(
    'not_found',
    named === undefined ? 'Nothing waits for this answer.' : `Nothing that waits is named '${named}'.`,
    {
      why: 'It was answered already, or its run is over.',
      next: '`parley inbox` lists what waits; `parley runs` lists all runs.',
    },
  )
}

/** An id of what waits or of its run, or the beginning of one, with or without its prefix. */
function fits({ id, run }: GateView, text: string): boolean {
  return [id, run].some(each => each.startsWith(text) || each.slice(each.indexOf('_') + 1).startsWith(text))
}

function ambiguous(named: string | undefined, found: readonly GateView[]): Failure {
  const listed = found.slice(0, 5).map(shortGate).join(', ')
  const what =
    named === undefined ? `${found.length} answers are waited for.` : `'${named}' fits ${found.length} gates.`
  return new Failure('ambiguous', what, {
    why: `They are ${listed}${found.length > 5 ? ' and more' : ''}.`,
    next: 'Name one; `parley inbox` lists all.',
    details: { gates: found.map(gate => gate.id) },
  })
}

function wrongKind(gate: GateView): Failure {
  const id = shortGate(gate)
  const asks = gate.kind === 'question'
  return new Failure('invalid_state', `${id} is a ${gate.kind}: ${oneLine(gate.question)}`, {
    why: asks ? 'A question takes a reply.' : 'A gate is approved, rejected or modified.',
    next: asks ? `parley reply ${id} "…"` : `parley approve ${id}, or parley reject ${id}`,
    details: { gate: gate.id },
  })
}
