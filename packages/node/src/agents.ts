// The agents that this node has without a team file: those of the configuration, and the presets whose programs are on PATH.
import { type DetectedPreset, detectPresets, type PresetName, presetNames, presets } from '@parley/agents'
import { soloTeam, type Team } from '@parley/coordinator'
import { ok, type Result, refuse, type Static, Type } from '@parley/core'
import type { ConfiguredAgent } from './config/agents.ts'
import type { Config } from './config/load.ts'
import { findProgram } from './find-program.ts'
import { pinnedIn } from './link/pinned.ts'
import type { Environment } from './paths.ts'

const closed = { additionalProperties: false } as const

export const AgentViewSchema = Type.Object(
  {
    name: Type.String(),
    source: Type.Enum(['configured', 'preset']),
    /** What it runs; `peer NAME` where a peer does the work. */
    program: Type.String(),
    preset: Type.Optional(Type.String()),
    /** Its program is there; of a peer: it is pinned. */
    found: Type.Boolean(),
    version: Type.Optional(Type.String()),
    /** It solves an intent without a team file when nobody names another. */
    default: Type.Boolean(),
    needs: Type.Optional(
      Type.Object(
        {
          hosts: Type.Array(Type.String()),
          /** One of these is enough. */
          variables: Type.Array(Type.String()),
          files: Type.Array(Type.String()),
          help: Type.String(),
        },
        closed,
      ),
    ),
  },
  closed,
)
export type AgentView = Static<typeof AgentViewSchema>

export interface AgentDirectory {
  /** `path` is where programs are looked for: that of whoever asks, or the node's own. */
  list(path?: string): Promise<readonly AgentView[]>
  /** A team of one: the named agent, or the default one. Refuses with `unknown_agent` or `no_agent`. */
  team(name: string | undefined, path?: string): Promise<Result<Team>>
}

export interface AgentDirectoryOptions {
  readonly config: Config
  readonly env?: Environment
  /** Which presets are on PATH; for tests. */
  readonly detect?: (path: string) => Promise<readonly DetectedPreset[]>
  /** Whether there is a peer of this name; as the profile's own list says, if not given. */
  readonly pinned?: (peer: string) => boolean
}

export function agentDirectory({
  config,
  env = process.env,
  detect = detectPresets,
  pinned = pinnedIn(config.paths.folder),
}: AgentDirectoryOptions): AgentDirectory {
  const { agents, defaultAgent } = config.values
  const base = config.paths.folder
  const ownPath = env.PATH ?? ''

  const team = (name: string): Result<Team> => {
    const agent = Object.hasOwn(agents, name) ? agents[name] : undefined
    if (agent) return ok({ ...soloTeam(name, agent), base })
    if (isPreset(name)) return ok(soloTeam(name, { preset: name }))
    const known = [...Object.keys(agents), ...presetNames].join(', ')
    return refuse(
      'unknown_agent',
      `There is no agent '${name}'. Known here: ${known}. Add others to ${config.paths.config}.`,
    )
  }

  return {
    async list(path = ownPath) {
      const found = new Map((await detect(path)).map(preset => [preset.name as string, preset]))
      const only = found.size === 1 ? [...found.keys()][0] : undefined
      const chosen = defaultAgent ?? only
      const configured = Object.entries(agents).map(([name, agent]) =>
        configuredView(name, agent, found, { path, base, pinned, isDefault: name === chosen }),
      )
      const ready = presetNames
        .filter(name => !Object.hasOwn(agents, name))
        .map(name => presetView(name, name, 'preset', found, name === chosen))
      return [...configured, ...ready]
    },

    async team(name, path = ownPath) {
      if (name !== undefined) return team(name)
      if (defaultAgent !== undefined) return team(defaultAgent)
      const found = await detect(path)
      const [only] = found
      if (only && found.length === 1) return team(only.name)
      const several = found.map(preset => preset.name).join(', ')
      const why = only
        ? `Several agents are on PATH (${several}), and none is the default.`
        : `No agent is configured as the default, and none of ${presetNames.join(', ')} is on PATH.`
      const next = `Name one with --agent, set default_agent in ${config.paths.config}, or give a team file with --team.`
      return refuse('no_agent', `${why} ${next}`, { details: { found: found.map(preset => preset.name) } })
    },
  }
}

function isPreset(name: string): name is PresetName {
  return (presetNames as readonly string[]).includes(name)
}

type Found = ReadonlyMap<string, DetectedPreset>

function presetView(
  name: string,
  preset: PresetName,
  source: AgentView['source'],
  found: Found,
  isDefault: boolean,
): AgentView {
  const { program, needs } = presets[preset]
  const { hosts, credentials, help } = needs
  const version = found.get(preset)?.version
  return {
    name,
    source,
    program,
    preset,
    found: found.has(preset),
    ...(version !== undefined && { version }),
    default: isDefault,
    needs: { hosts: [...hosts], variables: [...credentials.variables], files: [...credentials.files], help },
  }
}

function configuredView(
  name: string,
  agent: ConfiguredAgent,
  found: Found,
  where: {
    readonly path: string
    readonly base: string
    readonly pinned: (peer: string) => boolean
    readonly isDefault: boolean
  },
): AgentView {
  const { peer } = agent
  if (peer !== undefined) {
    const program = `peer ${peer}`
    return { name, source: 'configured', program, found: where.pinned(peer), default: where.isDefault }
  }
  if (agent.preset !== undefined && isPreset(agent.preset))
    return presetView(name, agent.preset, 'configured', found, where.isDefault)
  const program = agent.command?.[0] ?? ''
  return {
    name,
    source: 'configured',
    program,
    found: findProgram(program, where.path, where.base) !== undefined,
    default: where.isDefault,
  }
}
