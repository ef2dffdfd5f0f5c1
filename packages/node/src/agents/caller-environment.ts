// The environment of the user who starts a run: their PATH and the variables that the agents of the run are to get. It
// lives in memory only, as long as the run does; a node that starts again has none of it.
import type { Team } from '@parley/coordinator'
import { type AgentSettings, ok, type Result, refuse } from '@parley/core'
import type { Config } from '../config/load.ts'
import { nodeLimits } from '../limits.ts'
import type { Environment } from '../profile/paths.ts'
import { kindFor, ready } from './kinds.ts'

export type CallerEnvironment = Readonly<Record<string, string>>

/**
 * Of `env` what a run with these agents needs: for the caller, who sends it, and for the node, which keeps no more than
 * that.
 */
export function callerEnvironment(
  env: Environment,
  agents: Iterable<AgentSettings & Pick<Team, 'setup'>>,
  setup?: Team['setup'],
): CallerEnvironment {
  const names = new Set(['PATH', ...(setup?.pass ?? [])])
  for (const agent of agents)
    for (const name of [...kindFor(agent).passes(agent), ...(agent.setup?.pass ?? [])]) names.add(name)
  const has = [...names].filter(name => Object.hasOwn(env, name))
  return Object.fromEntries(has.map(name => [name, env[name]!]))
}

/**
 * What to send with a start: for the agents of a team, or, where the node chooses, for any that it may choose; of those
 * that only the node's configuration knows, nothing can be told without it.
 */
export function startEnvironment(
  env: Environment,
  { team, config }: { readonly team?: Pick<Team, 'agents' | 'setup'> | undefined; readonly config?: Config },
): CallerEnvironment {
  if (team) return callerEnvironment(env, Object.values(team.agents), team.setup)
  return callerEnvironment(env, [...Object.values(config?.values.agents ?? {}), ...ready.values()])
}

/** Refuses what no process could have, without repeating a value. */
export function checkedEnvironment(given: CallerEnvironment): Result<CallerEnvironment> {
  const entries = Object.entries(given)
  if (entries.length > nodeLimits.environmentVariables)
    return refuse(
      'invalid_argument',
      `The environment has ${entries.length} variables; the most is ${nodeLimits.environmentVariables}.`,
    )
  let size = 0
  for (const [name, value] of entries) {
    size += name.length + value.length
    if (!/^[^=\0]{1,256}$/.test(name) || value.includes('\0'))
      return refuse('invalid_argument', `${JSON.stringify(name.slice(0, 64))} cannot be a variable.`)
  }
  if (size <= nodeLimits.environmentLength) return ok(given)
  return refuse(
    'invalid_argument',
    `The environment has ${size} characters; the most is ${nodeLimits.environmentLength}.`,
  )
}
