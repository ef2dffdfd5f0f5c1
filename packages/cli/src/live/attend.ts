// Stays with a run until its end for a person: asks whether the plan may start, passes on questions of agents, and asks
// at Ctrl-C what to do with the run. Without a terminal it asks nothing.
import type { Team } from '@parley/node'
import type { Context } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { asFailure, Failure } from '../failure.ts'
import type { NodeClient } from '../node/client.ts'
import { type GateView, isOver, type RunView } from '../node/views.ts'
import { drawing, printLines, remark } from '../output.ts'
import { endingLines } from '../render/ending.ts'
import { shortId } from '../render/format.ts'
import { heldLine } from '../render/machine.ts'
import { planDetails, planLines, warningLines } from '../render/plan.ts'
import { gateLines } from '../render/show.ts'
import { follow, gateKey, isStuck } from './follow.ts'
import { answerGate, ask, choose, decideGate, type GateChoice } from './gate.ts'

export interface AttendOptions {
  /** The person has agreed already: approve a waiting plan. */
  readonly yes?: boolean
  /** Leave gates to others. */
  readonly watch?: boolean
  readonly team?: Team
  readonly told?: readonly string[]
}

/** `later` leaves the gate, `leave` leaves the run. */
type Answer = GateChoice | 'later' | 'leave'

export async function attend(
  context: Context,
  api: NodeClient,
  run: string,
  { yes = false, watch = false, team, told: before = [] }: AttendOptions = {},
): Promise<ExitCode> {
  const passed = new Set<string>()
  const told = new Set<string>(before)
  for (;;) {
    const followed = await follow(context, api, run, { passed, told })
    switch (followed.kind) {
      case 'over':
        return conclude(context, followed.view)
      case 'gate': {
        const { gate, view } = followed
        // One question covers the plan; each of its tasks is answered.
        const meant = isPlan(gate, view) ? view.gates.filter(({ type }) => type === gate.type) : [gate]
        for (const each of meant) passed.add(gateKey(each, view))
        const answer = watch ? 'later' : await decide(context, gate, view, { yes, team })
        if (answer === 'leave') return leave(context, view, run)
        if (answer === 'later') tell(context, gate)
        else for (const each of meant) await respond(context, api, each, answer)
        break
      }
      case 'interrupted': {
        const next = await askInterrupt(context, run, leftWith(followed.view))
        if (next === 'leave') return leave(context, followed.view, run)
        await api.runs.abort({ run, reason: 'aborted at the terminal' })
      }
    }
  }
}

function conclude(context: Context, view: RunView): ExitCode {
  if (!context.global.json) printLines(context, endingLines(view, drawing(context)))
  return view.state === 'done' ? EXIT.done : EXIT.failed
}

/** Leaving never ends the run; the message says how to come back. */
function leave(context: Context, view: RunView | undefined, run: string): ExitCode {
  const id = shortId(run)
  const [gate] = view && !isOver(view.state) ? view.gates : []
  if (gate) tell(context, gate)
  remark(
    context,
    view && gate && isPlan(gate, view)
      ? `It is waiting for this answer, and nothing has started. End it: parley abort ${id}.`
      : `It continues without this terminal. Return to it: parley show ${id} --follow. End it: parley abort ${id}.`,
  )
  if (view?.machine) remark(context, heldLine(view.machine, drawing(context)))
  return leftWith(view)
}

function leftWith(view: RunView | undefined): ExitCode {
  return view?.machine && !isOver(view.state) ? EXIT.heldUp : EXIT.interrupted
}

function tell(context: Context, gate: GateView): void {
  for (const line of gateLines(gate, drawing(context))) remark(context, line)
}

function isPlan({ type }: GateView, { tasks }: RunView): boolean {
  return type === 'task_approval' && tasks.every(({ attempt }) => attempt === 0)
}

async function decide(
  context: Context,
  gate: GateView,
  view: RunView,
  { yes, team }: { readonly yes: boolean; readonly team: Team | undefined },
): Promise<Answer> {
  const somebody = context.terminal.interactive && !context.global.json
  if (isPlan(gate, view)) {
    if (yes) return { decision: 'approve' }
    if (!somebody) {
      // So that somebody who approves it later can read what it is about.
      for (const line of planDetails(view, team, drawing(context)).slice(0, -1)) remark(context, line)
      throw answerNeeded(gate, view)
    }
    return askPlan(context, view, team)
  }
  if (somebody) return decideGate(context, gate)
  // Stay while other tasks work or a fallback will answer; otherwise nothing would ever happen here.
  if (!isStuck(view) || gate.deadline !== undefined) return 'later'
  throw answerNeeded(gate, view)
}

/** Nobody can be asked here. */
function answerNeeded(gate: GateView, view: RunView): Failure {
  const [run, id, details] = [shortId(gate.run), shortId(gate.id), { run: gate.run, gate: gate.id }]
  if (isPlan(gate, view))
    return new Failure('approval_needed', `The run ${run} is waiting: its plan has not been approved.`, {
      why: 'There is no terminal to ask on, and --yes was not given.',
      next: `parley approve ${run} starts it, parley reject ${run} rejects it. With --yes the plan is approved beforehand.`,
      details,
    })
  const asks = gate.kind === 'question'
  const who = asks ? `The task ${gate.task} cannot continue without an answer` : 'A person has to answer'
  const how = asks ? `parley reply ${id} "…" answers it` : `parley approve ${id}, or parley reject ${id}`
  return new Failure(asks ? 'reply_needed' : 'approval_needed', `The run ${run} waits: ${gate.question}`, {
    why: `${who}, and there is no terminal to ask on.`,
    next: `${how}; parley show ${run} --follow returns to it.`,
    details,
  })
}

async function askPlan(context: Context, view: RunView, team: Team | undefined): Promise<Answer> {
  printLines(context, planLines(view, drawing(context)))
  // With --quiet they were not shown before.
  if (context.global.quiet) printLines(context, warningLines(view, context.terminal.paint))
  for (;;) {
    const word = await choose(['yes', 'no', 'details'], () => ask(context, '\nStart? [y]es, [n]o, [d]etails: '))
    if (word === undefined) return 'leave'
    if (word === 'yes') return { decision: 'approve' }
    if (word === 'no') return { decision: 'reject', reason: 'rejected at the terminal' }
    printLines(context, ['', ...planDetails(view, team, drawing(context))])
  }
}

async function respond(context: Context, api: NodeClient, gate: GateView, answer: GateChoice): Promise<void> {
  try {
    await answerGate(api, gate, answer)
  } catch (thrown) {
    const { code, message } = asFailure(thrown)
    // The first answer counts, and the next views show it.
    if (['invalid_state', 'not_found'].includes(code)) remark(context, 'Somebody else has already answered.')
    else if (['invalid_argument', 'permission_denied'].includes(code) || code.startsWith('passphrase_'))
      remark(context, message)
    else throw thrown
  }
}

async function askInterrupt(context: Context, run: string, code: ExitCode): Promise<'leave' | 'abort'> {
  const { terminal, global } = context
  if (!terminal.interactive || global.json) return 'leave'
  const takeBack = terminal.onInterrupt(() => {
    terminal.err('\n')
    terminal.leave(code)
  })
  try {
    const typed = await terminal.ask(`\n[Enter] leaves ${shortId(run)} running, [a] aborts it: `)
    return ['a', 'abort'].includes(typed?.trim().toLowerCase() ?? '') ? 'abort' : 'leave'
  } finally {
    takeBack()
  }
}
