// A peer as an agent, for tests: its adapter, and turns for it.
import { type AgentAdapter, ok, type RunId, type TurnInput, type WorkspaceId } from '@parley/core'
import { type PeerHost, peerKind } from '../client/peer-kind.ts'
import type { Target } from '../client/target.ts'
import type { Ground } from './ground.ts'
import type { Profile } from './profile.ts'

/** The agent `far`, which is the peer bob. */
export function peerAgent({ clock, peers }: PeerHost, timeoutMs?: number): AgentAdapter {
  return peerKind.adapter('far', { peer: 'bob', timeoutMs }, { clock, peers })
}

/** The same, asked by alice at a place. */
export function agentAt(place: Ground | Profile, target: Target = place.target('unix'), timeoutMs?: number) {
  const client = ok(place.client())
  return peerAgent({ clock: place.clock, peers: { client: () => client, target: () => ok(target) } }, timeoutMs)
}

export function turn(signal: AbortSignal = new AbortController().signal, more: Partial<TurnInput> = {}): TurnInput {
  return {
    run: 'run_1' as RunId,
    workspace: 'ws_1' as WorkspaceId,
    agent: 'far#1',
    epoch: 1,
    prompt: 'do it',
    context: [],
    signal,
    ...more,
  }
}
