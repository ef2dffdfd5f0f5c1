// What `approve`, `reject` and `reply` share: finding the gate that is meant, and answering it.
import type { Argument, Context } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import type { Decision, NodeApi } from '../node-api.ts'
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

const DONE: Readonly<Record<Decision, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  reply: 'Replied to',
}

export async function respond(
  context: Context,
  named: string | undefined,
  decision: Decision,
  reason: string | undefined,
): Promise<ExitCode> {
  const api = await context.connect()
  const gate = await gateOf(api, named, decision)
  const { run } = await api.respond(gate.id, decision, reason)
  print(context, { gate: gate.id, run, decision, ...(reason !== undefined && { reason }) }, () => [
    `${DONE[decision]}: ${oneLine(gate.question)}`,
    ...(decision !== 'reject' && !context.global.quiet
      ? [`Watch it: parley show ${shortId(run)} --follow`]
      : []),
  ])
  return EXIT.done
}

async function gateOf(api: NodeApi, named: string | undefined, decision: Decision): Promise<GateView> {
  const kind = decision === 'reply' ? 'question' : 'plan'
  const id = named === LAST ? (await api.show(LAST)).run : named
  const fitting = (await api.gates()).filter(gate => id === undefined || isMeant(gate, id))
  const found = fitting.filter(gate => gate.kind === kind)
  const [only] = found
  if (only && found.length === 1) return only
  if (only) throw ambiguous(named, found)
  if (fitting[0] && named !== undefined) throw wrongKind(fitting[0])
  throw new Failure(
    'not_found',
    named === undefined ? 'Nothing waits for this answer.' : `Nothing that waits is named '${named}'.`,
    {
      why: 'It was answered already, or its run is over.',
      next: '`parley gates` lists what waits; `parley runs` lists all runs.',
    },
  )
}

/** The whole id of a gate, or a beginning of its run's id, with or without what comes behind the colon. */
function isMeant(gate: GateView, id: string): boolean {
  const [run = '', what] = id.split(':')
  if (gate.id === id) return true
  return gate.run.startsWith(run) && (what === undefined || gate.id === `${gate.run}:${what}`)
}

function ambiguous(named: string | undefined, found: readonly GateView[]): Failure {
  const listed = found.slice(0, 5).map(shortGate).join(', ')
  const what =
    named === undefined ? `${found.length} answers are waited for.` : `'${named}' fits ${found.length} gates.`
  return new Failure('ambiguous', what, {
    why: `They are ${listed}${found.length > 5 ? ' and more' : ''}.`,
    next: 'Name one; `parley gates` lists all.',
    details: { gates: found.map(gate => gate.id) },
  })
}

function wrongKind(gate: GateView): Failure {
  const id = shortGate(gate)
  const asks = gate.kind === 'question'
  return new Failure('invalid_state', `${id} is a ${gate.kind}: ${oneLine(gate.question)}`, {
    why: asks ? 'A question takes a reply.' : 'A plan is approved or rejected.',
    next: asks ? `parley reply ${id} "…"` : `parley approve ${id}, or parley reject ${id}`,
    details: { gate: gate.id },
  })
}
