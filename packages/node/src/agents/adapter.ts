// From an agent as a run keeps it to the adapter that takes its turns, each of them on the ledger.
import type { WantedAdapter } from '@parley/coordinator'
import type { AgentAdapter } from '@parley/core'
import type { Environment } from '../profile/paths.ts'
import type { Spending } from '../spending/spending.ts'
import type { AwayAgents } from './away.ts'
import { type AgentHost, kindFor } from './kinds.ts'

export interface AdapterOptions extends Omit<AgentHost, 'base' | 'environment'> {
  /** The node's own; the environment of the user who started the run takes precedence. */
  readonly env: Environment
  readonly spending: Pick<Spending, 'ledgered'>
  readonly away: Pick<AwayAgents, 'heeded'>
}

/** Throws `invalid_agent` for settings that make no sense. */
export function agentAdapter(wanted: WantedAdapter, { env, spending, away, ...host }: AdapterOptions): AgentAdapter {
  const { name, agent, base, environment: caller, check, origin, log } = wanted
  const kind = kindFor(agent)
  const environment = { ...env, ...caller }
  const made = kind.adapter(name, agent, { ...host, base, log, check, environment })
  // A check or a setup costs nothing, and what it finds must not depend on money.
  const paid = spending.ledgered(made, { origin, costs: check ? 'nothing' : kind.costs })
  return check ? paid : away.heeded(paid, agent, environment)
}
