// From an agent as a run keeps it to the adapter that takes its turns.
import { type CommandPlan, commandAdapter, planCommand } from '@parley/agents'
import type { AgentConfig } from '@parley/coordinator'
import { type AgentAdapter, type Clock, type Result, unwrap } from '@parley/core'
import type { Environment } from './paths.ts'
import { inFront } from './shim.ts'

export type KeptAgent = AgentConfig & { readonly slots?: number }

export interface AdapterOptions {
  readonly clock?: Clock
  /** The node's own; that of this process by default. */
  readonly env?: Environment
  /** That of whoever started the run: what it has goes before the node's own. */
  readonly caller?: Environment | undefined
  /** Where the tokens of turns are kept; the system's temporary folder by default. */
  readonly tokens?: string
  /** In front of the PATH of every turn. */
  readonly bin?: string | undefined
}

/** Throws `invalid_agent` for a configuration that makes no sense. */
export function agentAdapter(
  name: string,
  config: KeptAgent,
  base: string | undefined,
  { clock, env = process.env, caller, bin, tokens }: AdapterOptions = {},
): AgentAdapter {
  const environment = { ...env, ...caller }
  const own = config.env?.PATH
  const found = own === undefined ? config : { ...config, env: { ...config.env, PATH: inFront(bin, own) } }
  return unwrap(
    commandAdapter(name, commandOf(found), {
      ...(base !== undefined && { base }),
      ...(clock && { clock }),
      ...(tokens !== undefined && { tokens }),
      environment: { ...environment, PATH: inFront(bin, environment.PATH) },
    }),
  )
}

/** What an agent comes to: its program, and the variables that it gets. Refuses with `invalid_agent`. */
export function agentPlan(config: KeptAgent): Result<CommandPlan> {
  return planCommand(commandOf(config))
}

/** How many turns there are at once is the coordinator's business; a run keeps milliseconds and bytes in place of words. */
function commandOf({ slots: _slots, peer: _peer, timeoutMs, maxOutputBytes, ...same }: KeptAgent): unknown {
  return {
    ...same,
    ...(timeoutMs !== undefined && { timeout: `${timeoutMs}ms` }),
    ...(maxOutputBytes !== undefined && { max_output: `${maxOutputBytes}B` }),
  }
}
