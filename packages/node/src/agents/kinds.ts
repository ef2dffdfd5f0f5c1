// Every kind of agent. Adding one is a file in the package that does its work, and its name in the type and the table
// here; what it needs and gets follows from its own type.
import { commandKind, functionKind, kindOf } from '@parley/agents'
import { type AgentKind, type AgentSettings, ParleyError } from '@parley/core'
import { peerKind } from '@parley/link'

type Kinds = [typeof commandKind, typeof functionKind, typeof peerKind]

type OfAll = Kinds extends readonly AgentKind<AgentSettings, infer Place, infer Host>[]
  ? { readonly place: Place; readonly host: Host }
  : never

/** Where to look for what agents need, also without a running node: all that any kind asks for. */
export type AgentPlace = OfAll['place']

/** What the node gives to the agents of a run. */
export type AgentHost = OfAll['host']

type NodeAgentKind = AgentKind<AgentSettings, AgentPlace, AgentHost>

export const agentKinds: readonly NodeAgentKind[] = [commandKind, functionKind, peerKind] satisfies Kinds

/** Throws `invalid_agent`: what a run keeps may come from another version. */
export function kindFor(agent: AgentSettings): NodeAgentKind {
  const kind = kindOf(agentKinds, agent)
  if (kind) return kind
  const marks = agentKinds.flatMap(({ marks }) => marks).join(', ')
  throw new ParleyError('invalid_agent', `An agent of this version has one of ${marks}; this one has none of them.`)
}

export function worksWithoutFolder(agent: AgentSettings): boolean {
  return kindFor(agent).folderless !== undefined
}

/** Agents that need no configuration, by name. */
export const ready: ReadonlyMap<string, AgentSettings> = new Map(
  agentKinds.flatMap(({ ready = {} }) => Object.entries(ready)),
)

/** Those of them that are in a place. */
export function readyHere(place: AgentPlace): readonly string[] {
  return [...ready].filter(([, agent]) => !kindFor(agent).missing(agent, place)).map(([name]) => name)
}

export function describeAgent(agent: AgentSettings): ReturnType<NodeAgentKind['describe']> {
  return kindFor(agent).describe(agent)
}
