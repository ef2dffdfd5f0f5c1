// The three calls of a peer as functions (ALP-PING, ALP-ASK, ALP-CANCEL), with what comes back read into types. A busy
// peer may be asked again.
import { randomInt } from 'node:crypto'
import { type Clock, err, ok, ParleyError, type Result } from '@parley/core'
import { WIRE_CODES } from '../errors.ts'
import { errorIn } from '../failed-turn.ts'
import { float, integerOf, isWireObject, numberOf, type WireObject, type WireValue } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { LinkClient } from './client.ts'
import type { LinkFailure } from './exchange.ts'
import type { Target } from './target.ts'

export interface Pong {
  readonly version: number
  readonly agentName: string
}

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

export interface AskOptions {
  /** Gets the text as it comes (ALP-ASK-07: for whoever watches). Left out, the answer comes in one piece. */
  readonly onText?: (text: string) => void | Promise<void>
  /** Gets the session as soon as the peer tells it, which early revisions do only at the end. */
  readonly onSession?: (session: string) => void
  readonly budget?: { readonly usd?: number; readonly tokens?: number }
  /** Milliseconds for connecting and for each message. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** How often a busy peer is asked again; not at all unless somebody says so. */
  readonly busyTries?: number
}

type Called<T> = Promise<Result<T, LinkFailure>>

/** Whether the peer is there and takes our calls. */
export async function ping(
  client: LinkClient,
  target: Target,
  options: { readonly nonce: string; readonly timeoutMs?: number; readonly signal?: AbortSignal },
): Called<Pong> {
  const { nonce, ...call } = options
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
  const { onText, budget, signal, busyTries = 0 } = options
  const params: WireObject = {
    prompt,
    stream: onText !== undefined,
    ...(budget && { budget: budgetOf(budget) }),
  }
  const call = {
    timeoutMs: options.timeoutMs ?? linkDefaults.askMs,
    ...(signal && { signal }),
    onChunk: (result: WireValue) => chunk(result, options),
  }
  for (let tried = 0; ; tried++) {
    const said = await client.call(target, 'link.ask', params, call)
    if (said.ok) return answerOf(said.value)
    // Nothing was started, so that asking again is no second turn.
    if (!isBusy(said.error) || tried >= busyTries || signal?.aborted) return said
    await jitter(clock, linkDefaults.busyWaitMs * 2 ** tried, signal)
  }
}

/** Cancels a turn of ours; without a session, whichever runs. On a connection of its own (ALP-CANCEL-03). */
export async function cancelAsk(
  client: LinkClient,
  target: Target,
  session = '',
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Called<boolean> {
  const said = await client.call(target, 'link.cancel', { session_id: session }, options)
  if (!said.ok) return said
  return isWireObject(said.value) ? ok(said.value.cancelled === true) : unreadable('link.cancel')
}

function isBusy(failure: LinkFailure): boolean {
  return failure.where === 'remote' && failure.error.code === WIRE_CODES['target-busy']
}

/** ALP-ASK-06: a chunk without text is not for the reader. */
function chunk(result: WireValue, { onText, onSession }: AskOptions): void | Promise<void> {
  if (!isWireObject(result)) return
  if (typeof result.text === 'string') return onText?.(result.text)
  if (typeof result.session_id === 'string') onSession?.(result.session_id)
}

function budgetOf({ usd, tokens }: NonNullable<AskOptions['budget']>): WireObject {
  return { ...(usd !== undefined && { usd: float(usd) }), ...(tokens !== undefined && { tokens }) }
}

/** ALP-ASK-09: between half and all of the time, so that two who wait for the same peer do not meet again. */
function jitter(clock: Clock, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(randomInt(Math.ceil(milliseconds / 2), milliseconds + 1), done)
    signal?.addEventListener('abort', done, { once: true })
  })
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

function countOf(value: WireValue | undefined): number {
  const count = integerOf(value)
  return typeof count === 'number' && count > 0 ? count : 0
}

function amountOf(value: WireValue | undefined): number {
  const amount = numberOf(value)
  return amount !== undefined && Number.isFinite(amount) && amount > 0 ? amount : 0
}

function unreadable(method: string): Result<never, LinkFailure> {
  const error = new ParleyError('link_bad_response', `The peer's answer to ${method} is not one.`)
  return err({ where: 'local', error })
}
