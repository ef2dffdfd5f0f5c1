// The agents that this node has without a team file: those of the configuration, and those that need none and are here.
import { type AgentFunction, loginFiles, outageReasons, outageText } from '@parley/agents'
import { soloTeam, type Team } from '@parley/coordinator'
import { type AgentSettings, ok, type Result, refuse, type Static, Type } from '@parley/core'
import type { Config } from '../config/load.ts'
import { pinnedIn } from '../link/look.ts'
import { object } from '../object.ts'
import type { Environment } from '../profile/paths.ts'
import type { AwayAgents } from './away.ts'
import { kindFor, ready, readyHere } from './kinds.ts'

export const AgentViewSchema = object({
  name: Type.String(),
  /** `team`: of the team file that the caller has sent. */
  source: Type.Enum(['team', 'configured', 'preset']),
  kind: Type.String(),
  /** What it runs; `peer NAME` where a peer does the work. */
  program: Type.String(),
  preset: Type.Optional(Type.String()),
  /** What it works with is there: its program; of a peer, that it is pinned. */
  found: Type.Boolean(),
  /** What to do where it is not. */
  remedy: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
  /** Its service said that it does not work before: until then no turn of it begins. */
  away: Type.Optional(object({ reason: Type.Enum([...outageReasons]), until: Type.String(), text: Type.String() })),
  /** It solves an intent without a team file when nobody names another. */
  default: Type.Boolean(),
  needs: Type.Optional(
    object({
      hosts: Type.Array(Type.String()),
      /** One of these is enough. */
      variables: Type.Array(Type.String()),
      files: Type.Array(Type.String()),
      help: Type.String(),
    }),
  ),
})
export type AgentView = Static<typeof AgentViewSchema>

export interface AgentDirectory {
  /** `path` is where programs are looked for: the caller's, or the node's own. */
  list(path?: string, team?: Team): Promise<readonly AgentView[]>
  /** A team of one: the named agent, or the default one. Refuses with `unknown_agent` or `no_agent`. */
  team(name: string | undefined, path?: string): Promise<Result<Team>>
}

export interface AgentDirectoryOptions {
  readonly config: Config
  readonly env?: Environment
  /** Whether there is a peer of this name; as the profile's own list says, if not given. */
  readonly pinned?: (peer: string) => boolean
  readonly functions?: Readonly<Record<string, AgentFunction>>
  /** What a running node knows of agents that are away. */
  readonly away?: Pick<AwayAgents, 'of'>
}

export function agentDirectory({
  config,
  env = process.env,
  pinned = pinnedIn(config.paths.folder),
  functions = {},
  away: known,
}: AgentDirectoryOptions): AgentDirectory {
  const { agents, defaultAgent } = config.values
  const base = config.paths.folder
  const placeOn = (path = env.PATH ?? '') => ({ path, base, pinned, functions })

  const team = (name: string): Result<Team> => {
    const agent = Object.hasOwn(agents, name) ? agents[name] : undefined
    if (agent) return ok({ ...soloTeam(name, agent), base })
    const known = ready.get(name)
    if (known) return ok(soloTeam(name, known))
    const names = [...Object.keys(agents), ...ready.keys()].join(', ')
    return refuse(
      'unknown_agent',
      `There is no agent '${name}'. Known here: ${names}. Add others to ${config.paths.config}.`,
    )
  }

  return {
    async list(path, team) {
      const place = placeOn(path)
      const here = readyHere(place)
      const chosen = defaultAgent ?? (here.length === 1 ? here[0] : undefined)
      /** By program: several agents may run the same. */
      const versions = new Map<string, Promise<string | undefined>>()
      const view = async (name: string, agent: AgentSettings, source: AgentView['source']): Promise<AgentView> => {
        const kind = kindFor(agent)
        const { program, preset } = kind.describe(agent)
        const where = source === 'team' ? { ...place, base: team?.base ?? base } : place
        const found = !kind.missing(agent, where)
        if (found && kind.version && !versions.has(program)) versions.set(program, kind.version(agent, where))
        const version = await versions.get(program)
        const needs = kind.needs(agent)
        const away = known?.of(program)
        return {
          name,
          source,
          kind: kind.name,
          program,
          ...(preset !== undefined && { preset }),
          found,
          ...(!found && { remedy: kind.absence.remedy }),
          ...(found && version !== undefined && { version }),
          ...(away && { away: { reason: away.reason, until: away.until, text: outageText(away) } }),
          default: source !== 'team' && name === chosen,
          ...(needs && {
            needs: {
              hosts: [...needs.hosts],
              variables: [...needs.credentials.variables],
              files: [...loginFiles(needs.credentials, env)],
              help: needs.help,
            },
          }),
        }
      }
      const unnamed = [...ready].filter(([name]) => !Object.hasOwn(agents, name))
      return Promise.all([
        ...Object.entries(team?.agents ?? {}).map(([name, agent]) => view(name, agent, 'team')),
        ...Object.entries(agents).map(([name, agent]) => view(name, agent, 'configured')),
        ...unnamed.map(([name, agent]) => view(name, agent, 'preset')),
      ])
    },

    async team(name, path) {
      if (name !== undefined) return team(name)
      if (defaultAgent !== undefined) return team(defaultAgent)
      const found = readyHere(placeOn(path))
      const [only] = found
      if (only !== undefined && found.length === 1) return team(only)
      const why =
        only === undefined
          ? `No agent is configured as the default, and none of ${[...ready.keys()].join(', ')} is on PATH.`
          : `Several agents are on PATH (${found.join(', ')}), and none is the default.`
      const next = `Name one with --agent, set default_agent in ${config.paths.config}, or give a team file with --team.`
      return refuse('no_agent', `${why} ${next}`, { details: { found } })
    },
  }
}
