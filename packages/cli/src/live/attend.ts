// Stays with a run until its end: on a terminal with a person (attendance.ts); elsewhere it prints changes, asks
// nothing, and ends where a person has to answer.
import type { Context } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { asFailure, Failure } from '../failure.ts'
import type { NodeClient } from '../node/client.ts'
import { type GateView, isOver, type RunView } from '../node/views.ts'
import { drawing, isAttended, printLines, remark } from '../output.ts'
import { endingLines } from '../render/ending.ts'
import { shortId } from '../render/format.ts'
import { heldLine } from '../render/machine.ts'
import { planDetails } from '../render/plan.ts'
import { gateLines } from '../render/show.ts'
import { judgesWork, untilText } from '../render/waiting.ts'
import { Attendance, type AttendOptions, isPlan } from './attendance.ts'
import { follow, gateKey, isStuck } from './follow.ts'
import { answerGate } from './gate.ts'

export async function attend(
  context: Context,
  api: NodeClient,
  run: string,
  options: AttendOptions = {},
): Promise<ExitCode> {
  const { yes = false, watch = false, team, told = new Set() } = options
  if (isAttended(context)) {
    const attended = await new Attendance(context, api, run, { ...options, told }).stay()
    if (attended.kind === 'over') return conclude(context, attended.view, told)
    return leave(context, attended.view, run, attended.ending)
  }
  const passed = new Set<string>()
  for (;;) {
    const followed = await follow(context, api, run, { passed, told })
    if (followed.kind === 'over') return conclude(context, followed.view, told)
    if (followed.kind === 'interrupted') return leave(context, followed.view, run)
    const { gate, view } = followed
    const plan = isPlan(gate, view)
    const meant = plan ? view.gates.filter(({ type }) => type === gate.type) : [gate]
    for (const each of meant) passed.add(gateKey(each, view))
    if (watch) tell(context, gate)
    else if (plan && yes) for (const each of meant) await approve(api, each)
    else if (plan) {
      // So that somebody who approves it later can read what it is about.
      for (const line of planDetails(view, team, drawing(context), options.agents).slice(0, -1)) remark(context, line)
      throw answerNeeded(context, gate, view)
    }
    // Stay while other tasks work or a fallback will answer; otherwise nothing would ever happen here.
    else if (!isStuck(view) || gate.deadline !== undefined) tell(context, gate)
    else throw answerNeeded(context, gate, view)
  }
}

async function approve(api: NodeClient, gate: GateView): Promise<void> {
  try {
    await answerGate(api, gate, { decision: 'approve' })
  } catch (thrown) {
    // The coordinator may have approved it meanwhile: the first answer counts.
    if (!['invalid_state', 'not_found'].includes(asFailure(thrown).code)) throw thrown
  }
}

/** What it was warned of before is not said again. */
function conclude(context: Context, view: RunView, told: ReadonlySet<string>): ExitCode {
  const { terminal, global } = context
  const warnings = global.quiet ? [] : view.warnings.filter(each => !told.has(each))
  const ended = { ...view, warnings }
  if (!global.json) printLines(context, endingLines(ended, drawing(context), terminal.seen && !global.quiet))
  return view.state === 'done' ? EXIT.done : EXIT.failed
}

/** Leaving never ends the run; the message says how to come back. */
function leave(context: Context, view: RunView | undefined, run: string, ending = false): ExitCode {
  const id = shortId(run)
  if (ending) {
    remark(context, `It is being ended, also without this terminal. See how it ended: \`parley show ${id}\`.`)
    return EXIT.interrupted
  }
  const [gate] = view && !isOver(view.state) ? view.gates : []
  const plan = view && gate && isPlan(gate, view)
  if (gate && !plan) tell(context, gate)
  const text = plan
    ? `${untilText(gate, context.clock.now(), true)} Start it: \`parley approve ${id}\`. Cancel it: \`parley reject ${id}\`.`
    : `It continues without this terminal. Return to it: \`parley show ${id} --follow\`. End it: \`parley abort ${id}\`.`
  remark(context, text)
  if (view?.machine) remark(context, heldLine(view.machine, drawing(context)))
  return view?.machine && !isOver(view.state) ? EXIT.heldUp : EXIT.interrupted
}

function tell(context: Context, gate: GateView): void {
  for (const line of gateLines(gate, drawing(context))) remark(context, line)
}

/** Nobody can be asked here. */
function answerNeeded({ clock }: Context, gate: GateView, view: RunView): Failure {
  const [run, id, details] = [shortId(gate.run), shortId(gate.id), { run: gate.run, gate: gate.id }]
  const until = untilText(gate, clock.now(), isPlan(gate, view))
  if (isPlan(gate, view))
    return new Failure('approval_needed', `The run ${run} is waiting: its plan has not been approved. ${until}`, {
      why: 'There is no terminal to ask on, and --yes was not given.',
      next: `\`parley approve ${run}\` starts it, \`parley reject ${run}\` rejects it. With --yes the plan is approved beforehand.`,
      details,
    })
  const asks = gate.kind === 'question'
  const who = asks ? `The task ${gate.task} cannot continue without an answer` : 'A person has to answer'
  const how = asks ? `\`parley reply ${id} "…"\` answers it` : `\`parley approve ${id}\`, or \`parley reject ${id}\``
  const look = judgesWork(gate) ? `\`parley diff ${run} ${gate.task ?? gate.workspace}\` shows the work; ` : ''
  return new Failure(asks ? 'reply_needed' : 'approval_needed', `The run ${run} waits: ${gate.question}`, {
    why: `${who}, and there is no terminal to ask on.`,
    next: `${how}; ${look}\`parley show ${run} --follow\` returns to it.`,
    details,
  })
}
