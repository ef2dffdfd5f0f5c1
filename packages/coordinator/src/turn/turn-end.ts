// What a turn came to: kept on the trail before anything follows from it, then said as a signal.
import { commandText } from '@parley/agents'
import { ParleyError, type TurnResult } from '@parley/core'
import type { CapturedWork } from '../folder/model.ts'
import { coordinatorLimits } from '../limits.ts'
import { type Judgement, readVerdict, type Verdict } from '../merge/verdict.ts'
import type { TurnRecord } from '../projection/projected.ts'
import { isLoggedOut, NOT_LOGGED_IN } from './outage.ts'
import { SETUP_FAILED } from './ready-folder.ts'
import { answerText, commandFailure, errorText, reasonOf, tail } from './turn-text.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

/** What an agent said from inside its turn, before its program ended. */
interface SaidInside {
  readonly blocked: string | undefined
  readonly judgement: Judgement | undefined
}

/** What the agent waits for before another turn. */
export async function settleTurn(
  record: WorkspaceRecord,
  result: TurnResult,
  turn: TurnRecord,
  { blocked, judgement }: SaidInside,
): Promise<string | undefined> {
  const { kind } = record.facts
  if (kind === 'check' || kind === 'review') return settleJudgement(record, result, turn, judgement)
  const waits = blocked ?? (result.outcome === 'blocked' ? result.reason || 'It does not say what for.' : undefined)
  if (result.outcome === 'failed' && waits === undefined) return fail(record, result.error, turn)
  const captured = await record.capture()
  if (!captured.ok) return fail(record, captured.error, turn)
  const made = {
    captured: captured.value,
    turn: { ...turn, outcome: waits === undefined ? turn.outcome : 'blocked' },
  } as const
  if (waits !== undefined) {
    const reason = waits.slice(0, coordinatorLimits.reasonLength)
    await record.checkpoint({ ...made, status: 'provisional', content: reason })
    return reason
  }
  await record.checkpoint({
    ...made,
    status: 'final',
    content: result.outcome === 'complete' ? answerText(result.text) : '',
  })
  await record.complete()
  return undefined
}

/** A command that fails is a judgement too; an agent that gives none has failed. */
async function settleJudgement(
  record: WorkspaceRecord,
  result: TurnResult,
  turn: TurnRecord,
  said: Judgement | undefined,
): Promise<undefined> {
  const asked = record.facts.kind === 'check' ? checked(record, result) : reviewed(result, said)
  const judged = setUpWrong(result) ?? asked
  if (!judged) {
    const none = new ParleyError('no_verdict', `${record.facts.agent} did not end with ACCEPT, REVISE or REJECT.`)
    return fail(record, result.outcome === 'failed' ? result.error : none, turn)
  }
  const { verdict, text } = judged
  await record.checkpoint({ status: 'final', content: text, verdict, turn })
  await record.complete()
  return undefined
}

/** Work with which setup fails is sent back for that; a setup that fails by itself is no judgement. */
function setUpWrong(result: TurnResult): Judged | undefined {
  if (result.outcome !== 'failed' || result.error.code !== SETUP_FAILED || !result.error.details.ofWork)
    return undefined
  return { verdict: 'revise', text: tail(result.error.message) }
}

type Judged = { readonly verdict: Verdict; readonly text: string }

function checked({ task }: WorkspaceRecord, result: TurnResult): Judged {
  if (result.outcome === 'complete') return { verdict: 'accept', text: tail(result.text) }
  const command = commandText(task.check ?? [])
  if (result.outcome === 'blocked') return { verdict: 'revise', text: `\`${command}\` was not done: ${result.reason}` }
  return { verdict: 'revise', text: commandFailure(command, result.error) }
}

/** What was said with a tool goes before a line of the answer, which may quote one. */
function reviewed(result: TurnResult, said: Judgement | undefined): Judged | undefined {
  const judgement = result.outcome === 'complete' ? (said ?? readVerdict(result.text)) : undefined
  return judgement && { verdict: judgement.verdict, text: tail(judgement.feedback) }
}

/** What it cost is on record, whatever becomes of the work. */
export async function keepFailure(
  record: WorkspaceRecord,
  error: ParleyError,
  turn: TurnRecord,
  captured?: CapturedWork,
): Promise<void> {
  await record.checkpoint({
    status: 'provisional',
    content: errorText(error),
    turn: { ...turn, outcome: 'failed', error: isLoggedOut(error) ? NOT_LOGGED_IN : error.code },
    ...(captured && { captured }),
  })
}

/** Of a turn at its limit: what it did is kept, since the limit ends its workspace next (W-BUDGET-05). */
export async function keepExceeded(record: WorkspaceRecord, result: TurnResult, turn: TurnRecord): Promise<void> {
  const captured = record.facts.kind === 'work' ? await record.capture() : undefined
  const error = new ParleyError('budget_exceeded', 'The turn used up its budget.')
  await keepFailure(
    record,
    result.outcome === 'failed' ? result.error : error,
    turn,
    captured?.ok ? captured.value : undefined,
  )
}

async function fail(record: WorkspaceRecord, error: ParleyError, turn: TurnRecord): Promise<undefined> {
  await keepFailure(record, error, turn)
  const advice = isLoggedOut(error) ? ` ${LOG_IN}` : ''
  const room = coordinatorLimits.reasonLength - advice.length
  await record.failed(`${reasonOf(error).slice(0, room)}${advice}`)
  return undefined
}

const LOG_IN = '`parley doctor` says how its program logs in.'
