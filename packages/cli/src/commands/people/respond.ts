// What `approve`, `reject`, `modify` and `reply` share. A run stands for its plan: each waiting task is answered.
import type { Argument, Context } from '../../command.ts'
import { asFailure, Failure } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import type { Decision, Reply } from '../../live/gate.ts'
import { PASSPHRASE_FLAG } from '../../node/confirm.ts'
import type { GateView } from '../../node/views.ts'
import { print } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'
import { LAST, reasonOf } from '../words.ts'

export const GATE_OR_RUN: Argument = {
  name: 'GATE|RUN',
  summary:
    'What is waiting, or its run: the id, a part of it as lists show it, or last (default: the only one that is waiting)',
  optional: true,
}

export const RESPOND_FLAGS = {
  reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail' },
  ...PASSPHRASE_FLAG,
} as const

export const ALL_FLAG = {
  all: { summary: 'Every gate that waits in the run, or anywhere if no run is given' },
} as const

const DONE: Readonly<Record<Decision['decision'], string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  modify: 'Approved with changes',
}

export async function respond(
  context: Context,
  named: string | undefined,
  answered: Decision,
  because: string | undefined,
  all = false,
): Promise<void> {
  const reason = reasonOf(because)
  const decision = { ...answered, ...(reason && { reason }) }
  const views = await meant(context, named, 'gate', all || undefined)
  const answers = []
  for (const gate of all ? views.map(({ id }) => id) : [nameOf(views)])
    answers.push(await context.api.gates.respond({ gate, ...decision }))
  const gates = answers.flatMap(answer => answer.gates)
  const { run } = answers[0]!
  print(context, { run, gates, ...decision }, () => [
    ...answeredLines(views, gates, decision.again ? 'Sent back' : DONE[decision.decision]),
    ...((decision.decision !== 'reject' || decision.again) && !context.global.quiet
      ? [`Watch it: parley show ${shortId(run)} --follow`]
      : []),
  ])
}

export async function answer(context: Context, named: string | undefined, reply: Reply): Promise<void> {
  const [asked] = await meant(context, named, 'question')
  const { run } = await context.api.escalations.respond({ question: asked.id, ...reply })
  const done = {
    envelope: 'Replied to',
    abort: 'Ended the work that was asking',
    delegate: 'Left to the coordinator',
  }
  print(context, { run, question: asked.id, ...reply }, () => [`${done[reply.answer]}: ${oneLine(asked.question)}`])
}

function answeredLines(views: readonly GateView[], ids: readonly string[], done: string): readonly string[] {
  const known = views.filter(({ id }) => ids.includes(id))
  const shown = known.slice(0, cliLimits.listedGates).map(({ question }) => `${done}: ${oneLine(question)}`)
  const more = ids.length - shown.length
  return more > 0 && shown.length > 0 ? [...shown, `… and ${more} more.`] : shown
}

type Meant = readonly [GateView, ...GateView[]]

/** The node decides which gates a name, or no name, means. */
export async function meant(
  context: Context,
  named: string | undefined,
  kind: GateView['kind'],
  all?: true,
): Promise<Meant> {
  try {
    const name = named === LAST ? await runHere(context) : named
    const { gates } = await context.api.gates.find({ name, kind, all })
    return gates as [GateView, ...GateView[]]
  } catch (thrown) {
    const { code, message, details } = asFailure(thrown)
    if (code === 'not_found' && named === LAST) throw await notWaiting(context, kind)
    if (code !== 'invalid_state' || typeof details.gate !== 'string') throw thrown
    const id = shortId(details.gate)
    throw new Failure(code, message, {
      why: kind === 'gate' ? 'A question takes a reply.' : 'A gate is approved, rejected or modified.',
      next: kind === 'gate' ? `parley reply ${id} "…"` : `parley approve ${id}, or parley reject ${id}`,
      details,
    })
  }
}

/** `last` was typed, and not the id of the run that it stands for. */
async function notWaiting(context: Context, kind: GateView['kind']): Promise<Failure> {
  const run = await runHere(context)
  const { gates } = await context.api.gates.list({})
  const others = [...new Map(gates.filter(each => each.kind === kind).map(each => [each.run, each])).values()]
  const what = kind === 'gate' ? 'approval' : 'reply'
  return new Failure('not_found', `The newest run here, ${shortId(run)}, waits for no ${what}.`, {
    why: others.length === 0 ? 'No other run does, either.' : 'Other runs do:',
    next:
      others.length === 0
        ? '`parley show` shows the state of the run.'
        : others.slice(0, cliLimits.listedGates).map(each => `${shortId(each.run)}: ${oneLine(each.question)}`),
    details: { run, waiting: others.map(each => each.run) },
  })
}

function nameOf([first, ...others]: Meant): string {
  return others.length === 0 ? first.id : first.run
}
