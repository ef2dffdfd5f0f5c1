// Looking things up in a table of agent kinds.
import { type AgentKind, type AgentSettings, invariant } from '@parley/core'

/** By the fields of an agent in a file, or by its settings. */
export function kindOf<Kind extends AgentKind>(kinds: readonly Kind[], agent: object): Kind | undefined {
  return kinds.findLast(({ marks }) => marks.some(mark => Object.hasOwn(agent, mark)))
}

export function kindFields(kinds: readonly AgentKind[]): AgentKind['fields'] {
  const all: Record<string, AgentKind['fields'][string]> = {}
  for (const { fields } of kinds)
    for (const [name, field] of Object.entries(fields)) {
      all[name] ??= field
      invariant(all[name] === field, `the field ${name} means one thing in all kinds of agents`)
    }
  return all
}

/** Agents that need no configuration, by name. */
export function readyAgents(kinds: readonly AgentKind[]): ReadonlyMap<string, AgentSettings> {
  return new Map(kinds.flatMap(({ ready = {} }) => Object.entries(ready)))
}
