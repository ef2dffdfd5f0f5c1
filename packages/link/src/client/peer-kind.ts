// The kind `peer` (`peer: NAME`): a pinned peer does the work on its own machine. Its turns are asks, with the key that
// the profile has when each begins, and within the time that the agent has.
import {
  type AgentAdapter,
  type AgentKind,
  type AgentSettings,
  type Clock,
  ok,
  ParleyError,
  type Result,
  Type,
  takeTurnWithin,
} from '@parley/core'
import { linkDefaults } from '../limits.ts'
import type { LinkClient } from './client.ts'
import { peerAdapter } from './peer-adapter.ts'
import type { Target } from './target.ts'

/** The name of a pinned peer (ALP-ASK-08). */
const NAME_PATTERN = '^[A-Za-z0-9_-]{1,64}$'

export interface PeerPlace {
  /** Whether there is a peer of this name. */
  readonly pinned: (peer: string) => boolean
}

export interface PeerHost {
  readonly clock: Clock
  readonly peers: {
    /** What a call needs now, or why there is none. */
    client(): Result<LinkClient>
    target(peer: string): Result<Target>
  }
}

export interface PeerSettings extends AgentSettings {
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

function peerTurns(name: string, settings: PeerSettings, { clock, peers }: PeerHost): AgentAdapter {
  const { peer: id, timeoutMs = linkDefaults.turnMs } = settings
  /** One for each key that there was. */
  const adapters = new Map<LinkClient, AgentAdapter>()
  let closed = false
  const adapterOf = (now: LinkClient): AgentAdapter => {
    const known = adapters.get(now)
    if (known) return known
    // Streamed, since the run has watchers (ALP-ASK-07). The time is for the turn; what each message has is more, so
    // that the turn is ended by a cancel and not by a connection that breaks.
    const patience = timeoutMs + linkDefaults.cancelMs
    const peer = { id, target: () => peers.target(id) }
    const made = peerAdapter(now, peer, { clock, stream: true, timeoutMs: patience })
    if (closed) void made.close()
    adapters.set(now, made)
    return made
  }
  const late = new ParleyError('timeout', `The peer ${id} did not answer within ${timeoutMs} ms.`)
  return {
    name,
    kind: 'peer',
    async takeTurn(input, emit) {
      const now = peers.client()
      if (!now.ok) return { outcome: 'failed', error: now.error, usage: {} }
      const adapter = adapterOf(now.value)
      return takeTurnWithin({ clock, timeoutMs, late }, input, limited => adapter.takeTurn(limited, emit))
    },
    async close() {
      closed = true
      await Promise.all([...adapters.values()].map(adapter => adapter.close()))
    },
  }
}
