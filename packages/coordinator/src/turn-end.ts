// What a turn came to: kept on the trail before anything follows from it, then said as a signal.
import { ParleyError, type TurnResult } from '@parley/core'
import type { Desk } from './desk.ts'
import { coordinatorLimits } from './limits.ts'
import type { TurnRecord } from './projection.ts'
import { answerText, errorText, reasonOf, tail } from './turn-text.ts'
import { readVerdict, type Verdict } from './verdict.ts'

/** Answers with what the agent waits for, if it is to have another turn; `blocked` is what it said through its door. */
export async function settleTurn(
  desk: Desk,
  result: TurnResult,
  turn: TurnRecord,
  blocked: string | undefined,
): Promise<string | undefined> {
  const { kind } = desk.facts
  if (kind === 'check' || kind === 'review') return settleJudgement(desk, result, turn)
  const waits =
    blocked ?? (result.outcome === 'blocked' ? result.reason || 'It does not say what for.' : undefined)
  if (result.outcome === 'failed' && waits === undefined) return fail(desk, result.error, turn)
  const captured = await desk.capture()
  if (!captured.ok) return fail(desk, captured.error, turn)
  const made = {
    captured: captured.value,
    turn: { ...turn, outcome: waits === undefined ? turn.outcome : 'blocked' },
  } as const
  if (waits !== undefined) {
    const reason = waits.slice(0, coordinatorLimits.reasonLength)
    await desk.checkpoint({ ...made, status: 'provisional', content: reason })
    return reason
  }
  await desk.checkpoint({
    ...made,
    status: 'final',
    content: result.outcome === 'complete' ? answerText(result.text) : '',
  })
  await desk.complete()
  return undefined
}

/** A command that fails is a judgement too; an agent that gives none has failed. */
async function settleJudgement(desk: Desk, result: TurnResult, turn: TurnRecord): Promise<undefined> {
  const judgement = desk.facts.kind === 'check' ? checked(desk, result) : reviewed(result)
  if (!judgement) {
    const none = new ParleyError(
      'no_verdict',
      `${desk.facts.agent} did not end with ACCEPT, REVISE or REJECT.`,
    )
    return fail(desk, result.outcome === 'failed' ? result.error : none, turn)
  }
  const { verdict, text } = judgement
  await desk.checkpoint({ status: 'final', content: text, verdict, turn })
  await desk.complete()
  return undefined
}

interface Judged {
  readonly verdict: Verdict
  readonly text: string
}

function checked({ task }: Desk, result: TurnResult): Judged {
  if (result.outcome === 'complete') return { verdict: 'accept', text: tail(result.text) }
  const why = result.outcome === 'failed' ? errorText(result.error) : result.reason
  return { verdict: 'revise', text: tail(`\`${task.check?.join(' ')}\` did not succeed. ${why}`) }
}

function reviewed(result: TurnResult): Judged | undefined {
  const judgement = result.outcome === 'complete' ? readVerdict(result.text) : undefined
  return judgement && { verdict: judgement.verdict, text: tail(judgement.feedback) }
}

/** What it cost is on record, whatever becomes of the work. */
export async function keepFailure(desk: Desk, error: ParleyError, turn: TurnRecord): Promise<void> {
  await desk.checkpoint({
    status: 'provisional',
    content: errorText(error),
    turn: { ...turn, outcome: 'failed' },
  })
}

async function fail(desk: Desk, error: ParleyError, turn: TurnRecord): Promise<undefined> {
  await keepFailure(desk, error, turn)
  await desk.failed(reasonOf(error))
  return undefined
}
