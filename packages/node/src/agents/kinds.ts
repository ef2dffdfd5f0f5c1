// Every kind of agent. Adding one is a file in the package that does its work, and a line here.
import {
  type CommandHost,
  commandKind,
  type FunctionPlace,
  functionKind,
  kindOf,
  type ProgramPlace,
  readyAgents,
} from '@parley/agents'
import { type AgentDescription, type AgentKind, type AgentSettings, ParleyError } from '@parley/core'
import { type PeerHost, type PeerPlace, peerKind } from '@parley/link'

/** Where to look for what agents need, also without a running node. */
export interface AgentPlace extends ProgramPlace, PeerPlace, FunctionPlace {}

/** What the node gives to the agents of a run. */
export interface AgentHost extends CommandHost, PeerHost, FunctionPlace {}

type NodeAgentKind = AgentKind<AgentSettings, AgentPlace, AgentHost>

export const agentKinds: readonly NodeAgentKind[] = [commandKind, functionKind, peerKind]

/** Throws `invalid_agent`: what a run keeps may come from another version. */
export function kindFor(agent: AgentSettings): NodeAgentKind {
  const kind = kindOf(agentKinds, agent)
  if (kind) return kind
  const marks = agentKinds.flatMap(({ marks }) => marks).join(', ')
  throw new ParleyError('invalid_agent', `An agent of this version has one of ${marks}; this one has none of them.`)
}

/** Agents that need no configuration, by name. */
export const ready = readyAgents(agentKinds)

/** Those of them that are in a place. */
export function readyHere(place: AgentPlace): readonly string[] {
  return [...ready].filter(([, agent]) => !kindFor(agent).missing(agent, place)).map(([name]) => name)
}

export function describeAgent(agent: AgentSettings): AgentDescription {
  return kindFor(agent).describe(agent)
}
