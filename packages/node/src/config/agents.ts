// The agents of a configuration. They have the format of a team file's agents, so the team file's reader checks each one, and what it
// finds is told with its place in config.yaml.
import { type AgentConfig, readTeam, type TeamProblem } from '@parley/coordinator'
import { nodeLimits } from '../limits.ts'
import type { ConfigProblem, Path, Source } from './source.ts'

export type ConfiguredAgent = AgentConfig & { readonly slots: number }

export interface ReadAgents {
  readonly agents: Readonly<Record<string, ConfiguredAgent>>
  readonly problems: readonly ConfigProblem[]
}

export function readAgents(
  entries: Readonly<Record<string, unknown>>,
  source: Source,
  file: string,
): ReadAgents {
  const problems: ConfigProblem[] = []
  const agents: [string, ConfiguredAgent][] = []
  const names = Object.keys(entries)
  if (names.length > nodeLimits.configAgents) {
    const message = `there are ${names.length} agents; the most is ${nodeLimits.configAgents}.`
    return {
      agents: {},
      problems: [{ code: 'too_large', message, source: file, ...source.place(['agents']), path: 'agents' }],
    }
  }
  for (const name of names) {
    // JSON is YAML: a team of this one agent.
    const team = readTeam(
      JSON.stringify({ version: 1, name: 'configured', agents: { [name]: entries[name] } }),
    )
    if (team.ok) agents.push([name, team.value.agents[name]!])
    else problems.push(...placed(team.error.details.problems as readonly TeamProblem[], name, source, file))
  }
  return { agents: Object.fromEntries(agents), problems }
}

function placed(found: readonly TeamProblem[], name: string, source: Source, file: string): ConfigProblem[] {
  return found.map(({ code, message, path }) => ({
    code,
    message,
    source: file,
    ...source.place(pathOf(path, name), code === 'unknown_key' || code === 'bad_name' ? 'key' : 'value'),
    path: path === '' ? `agents.${name}` : path,
  }))
}

/** `agents.writer.command[1]` as its parts. A name that is no plain key stands in brackets; it is the one that was asked for. */
function pathOf(text: string, name: string): Path {
  const rest = text.replace(/^agents(?:\.[\w$-]+|\['.*?'\])?/, '')
  const parts = [...rest.matchAll(/\.([\w$-]+)|\[(\d+)\]|\['(.*?)'\]/g)]
  return [
    'agents',
    name,
    ...parts.map(([, key, index, quoted]) => (index === undefined ? (key ?? quoted ?? '') : Number(index))),
  ]
}
