// The three calls of a peer as functions (ALP-PING, ALP-ASK, ALP-CANCEL), with typed answers.
import { randomInt } from 'node:crypto'
import { type Clock, err, ok, ParleyError, pause, type Result, type TurnBudget } from '@parley/core'
import { errorIn, WIRE_CODES } from '../errors.ts'
import { amountOf, countOf, float, integerOf, isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { LinkClient } from './client.ts'
import type { CallOptions, LinkFailure } from './exchange.ts'
import type { Target } from './target.ts'

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

type Patience = Omit<CallOptions, 'onChunk'>

export interface AskOptions extends Patience {
  /** Gets the text as it comes (ALP-ASK-07). Left out, the answer comes in one piece. */
  readonly onText?: (text: string) => void | Promise<void>
  /** Gets the session as soon as the peer sends it, which early revisions do only at the end. */
  readonly onSession?: (session: string) => void
  readonly budget?: TurnBudget | undefined
  /** How often a busy peer is asked again: never if left out. */
  readonly busyTries?: number
}

type Called<T> = Promise<Result<T, LinkFailure>>

/** Whether the peer is there and takes our calls. */
export async function ping(
  client: LinkClient,
  target: Target,
  { nonce, ...call }: Patience & { readonly nonce: string },
): Called<{ readonly version: number; readonly agentName: string }> {
  const said = await client.call(target, 'link.ping', { nonce }, { timeoutMs: linkDefaults.pingMs, ...call })
  if (!said.ok) return said
  const { value } = said
  const version = isWireObject(value) ? integerOf(value.version) : undefined
  if (!isWireObject(value) || value.nonce !== nonce || typeof version !== 'number') return unreadable('link.ping')
  return ok({ version, agentName: textOf(value.agent_name) })
}

/** One turn of the peer's agent. */
export async function ask(
  client: LinkClient,
  clock: Clock,
  target: Target,
  prompt: string,
  options: AskOptions = {},
): Called<Answer> {
  const { onText, onSession, budget, signal, busyTries = 0, timeoutMs = linkDefaults.askMs } = options
  const params = { prompt, stream: onText !== undefined, ...(budget && { budget: budgetOf(budget) }) }
  /** ALP-ASK-06: a chunk without text is not for the reader. */
  const onChunk = (result: WireValue) => {
    if (!isWireObject(result)) return
    if (typeof result.text === 'string') return onText?.(result.text)
    if (typeof result.session_id === 'string') onSession?.(result.session_id)
  }
  for (let tried = 0; ; tried++) {
    const said = await client.call(target, 'link.ask', params, { timeoutMs, signal, onChunk })
    if (said.ok) return answerOf(said.value)
    // Nothing was started, so that asking again is no second turn.
    if (!isBusy(said.error) || tried >= busyTries || signal?.aborted) return said
    // ALP-ASK-09: between half and all of the time, so that two who wait for the same peer do not meet again.
    const most = linkDefaults.busyWaitMs * 2 ** tried
    await pause(clock, randomInt(Math.ceil(most / 2), most + 1), signal)
  }
}

/** Cancels a turn of ours; without a session, whichever runs. On a connection of its own (ALP-CANCEL-03). */
export async function cancelAsk(
  client: LinkClient,
  target: Target,
  session = '',
  options: Patience = {},
): Called<boolean> {
  const said = await client.call(target, 'link.cancel', { session_id: session }, options)
  if (!said.ok) return said
  return isWireObject(said.value) ? ok(said.value.cancelled === true) : unreadable('link.cancel')
}

export interface GivenUp {
  readonly client: LinkClient
  readonly clock: Clock
  readonly target: Target
  /** Empty if the peer has not sent it: then whichever turn of ours runs there. */
  readonly session: string
  /** Hangs up, which later revisions take for a cancel too (ALP-CANCEL-02). */
  readonly hangUp: AbortController
  /** The ask itself. */
  readonly said: Promise<unknown>
}

/**
 * Gives up an ask that runs: its turn is cancelled at the peer, which then has a while to say what it cost. Resolves
 * when the ask has ended, in whatever way; rejects as it does.
 */
export async function giveUp({ client, clock, target, session, hangUp, said }: GivenUp): Promise<void> {
  const timeoutMs = linkDefaults.cancelMs
  const stop = clock.after(timeoutMs, () => hangUp.abort())
  const cancelled = await cancelAsk(client, target, session, { timeoutMs, signal: hangUp.signal })
  // Not allowed, or nothing runs there: nobody will answer.
  if (!cancelled.ok || !cancelled.value) hangUp.abort()
  try {
    await said
  } finally {
    stop()
  }
}

function isBusy(failure: LinkFailure): boolean {
  return failure.where === 'remote' && failure.error.code === WIRE_CODES['target-busy']
}

function budgetOf({ usd, tokens }: TurnBudget): WireObject {
  return { ...(usd !== undefined && { usd: float(usd) }), ...(tokens !== undefined && { tokens }) }
}

function answerOf(value: WireValue): Result<Answer, LinkFailure> {
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
