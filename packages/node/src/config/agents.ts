// The agents of a configuration. They have the format of a team file's agents, so the team file's reader checks them,
// and its findings are reported with their places in config.yaml.
import type { Team } from '@parley/coordinator'
import { member } from '@parley/core/yaml'
import { readTeamAgents } from '../agents/team-files.ts'
import { nodeLimits } from '../limits.ts'
import type { ConfigProblem, Source } from './source.ts'

export interface ReadAgents {
  readonly agents: Team['agents']
  readonly problems: readonly ConfigProblem[]
}

export function readAgents({ root, place, placeAt }: Source, file: string): ReadAgents {
  const listed = member(root, 'agents')?.value
  if (listed?.kind !== 'map') return { agents: {}, problems: [] }
  const count = listed.entries.length
  if (count > nodeLimits.configAgents) {
    const message = `there are ${count} agents; the most is ${nodeLimits.configAgents}.`
    return {
      agents: {},
      problems: [{ code: 'too_large', message, source: file, ...place(['agents']), path: 'agents' }],
    }
  }
  const { agents, problems } = readTeamAgents(listed, placeAt)
  return { agents, problems: problems.map(problem => ({ ...problem, source: file })) }
}
