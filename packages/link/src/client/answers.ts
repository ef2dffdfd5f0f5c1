// What the three calls of a peer are asked with and answer (ALP-PING, ALP-ASK, ALP-CANCEL).
import { err, ok, ParleyError, type Result, type TurnBudget } from '@parley/core'
import { errorIn, WIRE_CODES } from '../errors.ts'
import { amountOf, countOf, float, integerOf, isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import type { CallOptions, LinkFailure } from './exchange.ts'

export interface Answer {
  readonly text: string
  readonly sessionId: string
  readonly tokensIn: number
  readonly tokensOut: number
  /** US dollars that the peer has spent. */
  readonly cost: number
  /** The peer's turn was cancelled before it was done. */
  readonly interrupted: boolean
  /** The peer's turn failed: the error ends its text (ALP-ASK-04). */
  readonly failed: boolean
}

export type Patience = Omit<CallOptions, 'onChunk'>

export interface AskOptions extends Patience {
  /** Gets the text as it comes (ALP-ASK-07). Left out, the answer comes in one piece. */
  readonly onText?: (text: string) => void | Promise<void>
  /** Gets the session as soon as the peer sends it, which early revisions do only at the end. */
  readonly onSession?: (session: string) => void
  readonly budget?: TurnBudget | undefined
  /** How often a busy peer is asked again: never if left out. */
  readonly busyTries?: number
}

/** `nonce`: the one that was sent. */
export function pongOf(
  value: WireValue,
  nonce: string,
): Result<{ readonly version: number; readonly agentName: string }, LinkFailure> {
  const version = isWireObject(value) ? integerOf(value.version) : undefined
  if (!isWireObject(value) || value.nonce !== nonce || typeof version !== 'number') return unreadable('link.ping')
  return ok({ version, agentName: textOf(value.agent_name) })
}

export function cancelledOf(value: WireValue): Result<boolean, LinkFailure> {
  return isWireObject(value) ? ok(value.cancelled === true) : unreadable('link.cancel')
}

export function isBusy(failure: LinkFailure): boolean {
  return failure.where === 'remote' && failure.error.code === WIRE_CODES['target-busy']
}

export function budgetOf({ usd, tokens }: TurnBudget): WireObject {
  return { ...(usd !== undefined && { usd: float(usd) }), ...(tokens !== undefined && { tokens }) }
}

export function answerOf(value: WireValue): Result<Answer, LinkFailure> {
  if (!isWireObject(value) || typeof value.text !== 'string') return unreadable('link.ask')
  return ok({
    text: value.text,
    sessionId: textOf(value.session_id),
    tokensIn: countOf(value.tokens_in),
    tokensOut: countOf(value.tokens_out),
    cost: amountOf(value.cost),
    interrupted: value.interrupted === true,
    failed: typeof value.failed === 'boolean' ? value.failed : errorIn(value.text) !== undefined,
  })
}

function textOf(value: WireValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function unreadable(method: string): Result<never, LinkFailure> {
  const error = new ParleyError('link_bad_response', `The peer's reply to ${method} is not an answer to it.`)
  return err({ where: 'local', error })
}
