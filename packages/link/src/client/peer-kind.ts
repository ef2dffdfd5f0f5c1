// The kind `peer` (`peer: NAME`): a pinned peer does the work on its own machine. A turn is one `link.ask`, under the
// key that the profile has when it begins and within the agent's time; what it spends is on the peer's ledger and comes
// back as the turn's usage.
import {
  type AgentAdapter,
  type AgentKind,
  type AgentSettings,
  type Clock,
  durationText,
  ok,
  ParleyError,
  type Result,
  type TurnEvent,
  type TurnInput,
  type TurnResult,
  Type,
  takeTurnWithin,
  type Usage,
} from '@parley/core'
import { errorIn, WIRE_CODES } from '../errors.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import type { Answer } from './answers.ts'
import type { LinkClient } from './client.ts'
import type { LinkFailure } from './exchange.ts'
import type { Target } from './target.ts'

/** The name of a pinned peer (ALP-ASK-08). */
const NAME_PATTERN = '^[A-Za-z0-9_-]{1,64}$'

export interface PeerPlace {
  /** Whether there is a peer of this name. */
  readonly pinned: (peer: string) => boolean
}

export interface PeerHost {
  readonly clock: Clock
  /** What a call needs now, or why there is none: asked for every turn, so that an edit of the peer list applies. */
  readonly peers: {
    client(): Result<LinkClient>
    target(peer: string): Result<Target>
  }
}

interface PeerSettings extends AgentSettings {
  /** Its id in the peer list. */
  readonly peer: string
}

export const peerKind: AgentKind<PeerSettings, PeerPlace, PeerHost> = {
  name: 'peer',
  marks: ['peer'],
  fields: {
    peer: Type.Optional(
      Type.String({
        pattern: NAME_PATTERN,
        title: 'Peer',
        description:
          'A pinned peer that does the work on its own machine, by its name in the list of peers. Instead of a command or a preset.',
        examples: ['home-server'],
      }),
    ),
  },
  patterns: new Map([
    [
      NAME_PATTERN,
      { code: 'bad_name', expected: 'the name of a pinned peer: 1 to 64 letters, digits, hyphens and underscores' },
    ],
  ]),
  // A peer's turn is on the ledger of its owner, who pays it; one that claims too much must not use up this one.
  costs: 'elsewhere',
  folderless: true,
  absence: {
    code: 'unknown_peer',
    description: 'Nobody is pinned under this name',
    problem: 'nobody is pinned as',
    remedy: '`parley peers list` shows who is; `parley peers add` pins others.',
  },

  read: fields => ok({ peer: String(fields.peer) }),

  describe: ({ peer }) => ({
    program: `peer ${peer}`,
    runs: `peer ${peer}, on its own machine`,
    facts: [],
    limits: [],
  }),

  needs: () => undefined,

  passes: () => [],

  missing: ({ peer }, { pinned }) => (pinned(peer) ? undefined : { name: peer }),

  adapter: peerTurns,
}

function peerTurns(name: string, settings: PeerSettings, host: PeerHost): AgentAdapter {
  const { peer, timeoutMs = linkDefaults.turnMs } = settings
  const { clock } = host
  const late = new ParleyError('timeout', `The peer ${peer} did not answer within ${durationText(timeoutMs)}.`)
  const closed = new ParleyError('closed', `The peer ${peer} takes no more turns: the adapter was closed.`)
  const closing = new AbortController()
  const running = new Set<Promise<TurnResult>>()
  return {
    name,
    kind: 'peer',
    // It has no part of the run but what its prompt says.
    reach: { folder: false },
    takeTurn(input, emit) {
      if (closing.signal.aborted) return Promise.resolve(failed(closed))
      if (input.signal.aborted) return Promise.resolve(aborted(input.signal.reason))
      const either = { ...input, signal: AbortSignal.any([input.signal, closing.signal]) }
      const take = (limited: TurnInput) => takeTurn(host, peer, timeoutMs, limited, emit)
      const turn = takeTurnWithin({ clock, timeoutMs, late }, either, take).finally(() => running.delete(turn))
      running.add(turn)
      return turn
    },
    async close() {
      closing.abort(closed)
      await Promise.allSettled(running)
    },
  }
}

async function takeTurn(
  { peers }: PeerHost,
  peer: string,
  turnMs: number,
  input: TurnInput,
  emit: (event: TurnEvent) => void,
): Promise<TurnResult> {
  const client = peers.client()
  if (!client.ok) return failed(client.error)
  const target = peers.target(peer)
  if (!target.ok) return failed(target.error)
  const ended = input.signal
  const hangUp = new AbortController()
  let open = true
  let session = ''
  const said = client.value.ask(target.value, promptOf(input), {
    signal: hangUp.signal,
    // More than the turn has: it is to end by a cancel and not by a connection that breaks.
    timeoutMs: turnMs + linkDefaults.cancelMs,
    busyTries: linkDefaults.busyTries,
    budget: input.budget,
    onSession: told => {
      session = told
    },
    // Streamed, since the run has watchers (ALP-ASK-07).
    onText: text => {
      if (!open || ended.aborted) return
      try {
        emit({ type: 'text', text, part: true })
      } catch {
        // A watcher that fails must not fail the turn.
      }
    },
  })
  const give = () => {
    const given = client.value.giveUp({ target: target.value, session, hangUp, said })
    // The outcome of the ask is told below.
    given.catch(() => undefined)
  }
  ended.addEventListener('abort', give, { once: true })
  try {
    const answer = await said
    const usage = answer.ok ? usageOf(answer.value) : {}
    if (ended.aborted) return aborted(ended.reason, usage)
    if (!answer.ok) return failed(errorOf(peer, answer.error))
    const { text, interrupted } = answer.value
    if (interrupted)
      return failed(new ParleyError('peer_interrupted', `The turn of ${peer} was cancelled there.`), usage)
    if (answer.value.failed) return failed(failureOf(peer, text), usage)
    return { outcome: 'complete', text, usage }
  } finally {
    open = false
    ended.removeEventListener('abort', give)
  }
}

/**
 * ALP has one text: what is wanted comes first, since a person may have to approve it there; then what the agent should
 * know, each part under its title.
 */
function promptOf({ context, prompt }: TurnInput): string {
  return [prompt, ...context.map(({ title, text }) => `## ${title}\n\n${text}`)].join('\n\n')
}

function usageOf({ tokensIn, tokensOut, cost }: Answer): Usage {
  return { tokensIn, tokensOut, usd: cost }
}

function errorOf(peer: string, failure: LinkFailure): ParleyError {
  if (failure.where === 'local') return failure.error
  const { code, message, data } = failure.error
  const detail = data && typeof data.detail === 'string' ? ` (${data.detail})` : ''
  return new ParleyError(
    message in WIRE_CODES ? message : 'peer_refused',
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
