// /agents: what can take a turn here without a team file.
import { dirname } from 'node:path'
import { Type } from '@parley/core'
import { AgentViewSchema } from '../agents/directory.ts'
import { readTeam } from '../agents/team-files.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answered, query, SearchPath, TeamText } from './spec.ts'

export function agentService({ agents }: OperationDeps) {
  return {
    '/agents/list': query({
      description:
        'Agents of a team file, configured agents and presets: whether their programs are there, and what they need.',
      input: object({ path: Type.Optional(SearchPath), team: Type.Optional(TeamText) }),
      output: object({ agents: Type.Array(AgentViewSchema) }),
      refuses: ['invalid_team'],
      handle: async ({ path, team: given }) => {
        const team = given && answered(readTeam(given.text, { file: given.file, base: dirname(given.file) }))
        return { agents: await agents.list(path, team) }
      },
    }),
  }
}
