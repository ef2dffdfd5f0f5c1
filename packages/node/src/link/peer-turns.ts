// A peer as the agent of a run (`peer: NAME`): its turns are asks, with the key that the profile has when each begins, and within the time that the
// agent has.
import { type AgentAdapter, type Clock, ParleyError, type Result, type TurnInput } from '@parley/core'
import { type LinkClient, linkDefaults, peerAdapter, type Target } from '@parley/link'

export interface PeerTurnsOptions {
  readonly clock: Clock
  /** Its id in the peer list. */
  readonly peer: string
  /** Milliseconds of a turn, as for any other agent. */
  readonly timeoutMs?: number
  /** What a call needs now, or why there is none. */
  readonly client: () => Result<LinkClient>
  readonly target: () => Result<Target>
}

export function peerTurns(name: string, options: PeerTurnsOptions): AgentAdapter {
  const { clock, peer: id, timeoutMs = linkDefaults.turnMs, client, target } = options
  /** One for each key that there was. */
  const adapters = new Map<LinkClient, AgentAdapter>()
  let closed = false
  const adapterOf = (now: LinkClient): AgentAdapter => {
    const known = adapters.get(now)
    if (known) return known
    // Streamed, since the run has watchers (ALP-ASK-07). The time is for the turn; what each message has is more, so that the turn is ended
    // by a cancel and not by a connection that breaks.
    const patience = timeoutMs + linkDefaults.cancelMs
    const made = peerAdapter(now, { id, target }, { clock, stream: true, timeoutMs: patience })
    if (closed) void made.close()
    adapters.set(now, made)
    return made
  }
  return {
    name,
    kind: 'peer',
    async takeTurn(input, emit) {
      const now = client()
      if (!now.ok) return { outcome: 'failed', error: now.error, usage: {} }
      return within(clock, timeoutMs, id, input, limited => adapterOf(now.value).takeTurn(limited, emit))
    },
    async close() {
      closed = true
      await Promise.all([...adapters.values()].map(adapter => adapter.close()))
    },
  }
}

type Turn = ReturnType<AgentAdapter['takeTurn']>

/** The turn, ended with `timeout` where it takes longer. */
async function within(
  clock: Clock,
  timeoutMs: number,
  id: string,
  input: TurnInput,
  take: (limited: TurnInput) => Turn,
): Turn {
  const late = new AbortController()
  const error = new ParleyError('timeout', `The peer ${id} did not answer within ${timeoutMs} ms.`)
  const cancel = clock.after(timeoutMs, () => late.abort(error), { background: true })
  try {
    const result = await take({ ...input, signal: AbortSignal.any([input.signal, late.signal]) })
    const cutOff = result.outcome === 'failed' && late.signal.aborted && !input.signal.aborted
    return cutOff ? { ...result, error } : result
  } finally {
    cancel()
  }
}
