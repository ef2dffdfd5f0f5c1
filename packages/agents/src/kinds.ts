// Looking things up in a table of agent kinds.
import type { AgentKind } from '@parley/core'

/** By the fields of an agent in a file, or by its settings. */
export function kindOf<Kind extends AgentKind>(kinds: readonly Kind[], agent: object): Kind | undefined {
  return kinds.findLast(({ marks }) => marks.some(mark => Object.hasOwn(agent, mark)))
}
