// From an agent as a run keeps it to the adapter that takes its turns.
import { commandAdapter } from '@parley/agents'
import type { AgentConfig } from '@parley/coordinator'
import { type AgentAdapter, type Clock, unwrap } from '@parley/core'

/** Throws `invalid_agent` for a configuration that makes no sense. */
export function agentAdapter(
  name: string,
  config: AgentConfig & { readonly slots?: number },
  base: string | undefined,
  clock?: Clock,
): AgentAdapter {
  // How many turns there are at once is the coordinator's business; a run keeps milliseconds and bytes in place of words.
  const { slots: _slots, timeoutMs, maxOutputBytes, ...same } = config
  const command = {
    ...same,
    ...(timeoutMs !== undefined && { timeout: `${timeoutMs}ms` }),
    ...(maxOutputBytes !== undefined && { max_output: `${maxOutputBytes}B` }),
  }
  return unwrap(
    commandAdapter(name, command, { ...(base !== undefined && { base }), ...(clock && { clock }) }),
  )
}
