// `<agent>#<slot>`: one identity never sits in two live workspaces.
import { unwrap } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import type { WorkspaceFacts } from '../run/facts.ts'

export function nameOf(identity: string): string {
  return identity.replace(/#\d+$/, '')
}

export class Identities {
  readonly #taken = new Set<string>()

  /** The lowest slot that is free. */
  next(agent: string): string {
    for (let slot = 1; ; slot++) {
      const identity = `${agent}#${slot}`
      if (this.#taken.has(identity)) continue
      this.#taken.add(identity)
      return identity
    }
  }

  take(identities: readonly string[]): void {
    for (const identity of identities) this.#taken.add(identity)
  }

  release(identity: string): void {
    this.#taken.delete(identity)
  }
}

/** Identities that workspaces of a run still hold. */
export async function liveAgents(run: RunHandle): Promise<string[]> {
  const { bound, others } = await run.read(state => ({
    // Whoever is about to take over has its name already.
    bound: [...state.agents.keys()],
    others: [...state.workspaces.values()]
      .filter(each => each.parent !== null && each.status !== 'closed' && each.status !== 'failed')
      .filter(each => each.agent === undefined)
      .map(each => each.id),
  }))
  const agents = [...bound]
  // Of runs that began before names were on record.
  for (const id of others) {
    const { agent } = unwrap(await run.coordinator.readContext(id)) as Partial<WorkspaceFacts>
    if (agent !== undefined) agents.push(agent)
  }
  return agents
}
