// A peer as an agent: its turn is one `link.ask`. A team file can name it like any other worker; what it spends is on
// the peer's ledger and comes back as the turn's usage.
import {
  type AgentAdapter,
  type Clock,
  ParleyError,
  type Result,
  type TurnEvent,
  type TurnInput,
  type TurnResult,
  type Usage,
} from '@parley/core'
import { WIRE_CODES, type WireErrorName } from '../errors.ts'
import { errorIn } from '../failed-turn.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { type Answer, ask } from './calls.ts'
import type { LinkClient } from './client.ts'
import type { LinkFailure } from './exchange.ts'
import { giveUp } from './give-up.ts'
import type { Target } from './target.ts'

/** A peer of the list. Its target is looked up for every turn, so that an edit of the list applies. */
export interface AdaptedPeer {
  readonly id: string
  target(): Result<Target, ParleyError>
}

export interface PeerAdapterOptions {
  readonly clock: Clock
  /** Milliseconds for each message of the peer. */
  readonly timeoutMs?: number
  /**
   * Whether the text is asked for as it comes. Not unless somebody watches (ALP-ASK-07); but a turn that takes longer
   * than the time for one message needs it.
   */
  readonly stream?: boolean
}

export function peerAdapter(client: LinkClient, peer: AdaptedPeer, options: PeerAdapterOptions): AgentAdapter {
  const running = new Map<AbortController, Promise<TurnResult>>()
  let closed = false
  return {
    name: peer.id,
    kind: 'peer',
    takeTurn(input, emit) {
      if (closed) return Promise.resolve(failed(closedError(peer.id)))
      if (input.signal.aborted) return Promise.resolve(aborted(input.signal.reason))
      const stop = new AbortController()
      const turn = takeTurn(client, peer, options, input, emit, stop.signal).finally(() => running.delete(stop))
      running.set(stop, turn)
      return turn
    },
    async close() {
      closed = true
      for (const stop of running.keys()) stop.abort(closedError(peer.id))
      await Promise.allSettled(running.values())
    },
  }
}

async function takeTurn(
  client: LinkClient,
  peer: AdaptedPeer,
  { clock, timeoutMs, stream = false }: PeerAdapterOptions,
  input: TurnInput,
  emit: (event: TurnEvent) => void,
  closing: AbortSignal,
): Promise<TurnResult> {
  const target = peer.target()
  if (!target.ok) return failed(target.error)
  const ended = AbortSignal.any([input.signal, closing])
  const hangUp = new AbortController()
  let open = true
  const say = (event: TurnEvent) => {
    if (!open || ended.aborted) return
    try {
      emit(event)
    } catch {
      // Events are for watching: a watcher that fails must not fail the turn.
    }
  }
  let session = ''
  const { budget } = input
  const asking = ask(client, clock, target.value, promptOf(input), {
    signal: hangUp.signal,
    busyTries: linkDefaults.busyTries,
    onSession: told => {
      session = told
    },
    ...(stream && { onText: text => say({ type: 'text', text, part: true }) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(budget && { budget }),
  })
  const give = () =>
    // What the ask comes to is told below.
    void giveUp({ client, clock, target: target.value, session, hangUp, said: asking }).catch(() => undefined)
  ended.addEventListener('abort', give, { once: true })
  try {
    const said = await asking
    const usage = said.ok ? usageOf(said.value) : {}
    if (ended.aborted) return aborted(ended.reason, usage)
    if (!said.ok) return failed(errorOf(peer.id, said.error))
    if (said.value.interrupted)
      return failed(new ParleyError('peer_interrupted', `The turn of ${peer.id} was cancelled there.`), usage)
    if (said.value.failed) return failed(failureOf(peer.id, said.value.text), usage)
    if (!stream) say({ type: 'text', text: said.value.text })
    return { outcome: 'complete', text: said.value.text, usage }
  } finally {
    open = false
    ended.removeEventListener('abort', give)
  }
}

/**
 * ALP has one text: what is wanted comes first, since a person may have to approve it there; then what the agent should
 * know, each part under its title. A peer has no folder of the run.
 */
function promptOf({ context, prompt }: TurnInput): string {
  const known = context.filter(({ kind }) => kind !== 'workspace')
  return [prompt, ...known.map(({ title, text }) => `## ${title}\n\n${text}`)].join('\n\n')
}

function usageOf({ tokensIn, tokensOut, cost }: Answer): Usage {
  return { tokensIn, tokensOut, usd: cost }
}

function errorOf(peer: string, failure: LinkFailure): ParleyError {
  if (failure.where === 'local') return failure.error
  const { code, message, data } = failure.error
  const known = message in WIRE_CODES
  const detail = data && typeof data.detail === 'string' ? ` (${data.detail})` : ''
  return new ParleyError(
    known ? (message as WireErrorName) : 'peer_refused',
    `The peer ${peer} refused: ${message}${detail}.`,
    { retryable: message === 'target-busy' || message === 'rate-limited', details: { code } },
  )
}

function failureOf(peer: string, text: string): ParleyError {
  const why = (errorIn(text) ?? text).slice(0, linkLimits.failureText)
  return new ParleyError('peer_failed', `The turn of ${peer} failed there: ${why}`)
}

function failed(error: ParleyError, usage: Usage = {}): TurnResult {
  return { outcome: 'failed', error, usage }
}

function aborted(reason: unknown, usage: Usage = {}): TurnResult {
  const known = reason instanceof ParleyError ? reason : undefined
  const message = known ? `The turn was ended: ${known.message}` : 'The turn was ended before it was done.'
  const details = known ? { reason: known.code } : {}
  return failed(new ParleyError('aborted', message, { details, cause: reason }), usage)
}

function closedError(id: string): ParleyError {
  return new ParleyError('closed', `The peer ${id} takes no more turns: the adapter was closed.`)
}
