// /agents: what can take a turn here without a team file.
import { Type } from '@parley/core'
import { AgentViewSchema } from '../agents/directory.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { query, SearchPath } from './spec.ts'

export function agentService({ agents }: OperationDeps) {
  return {
    '/agents/list': query({
      description: 'Configured agents and presets: whether their programs are there, and what they need.',
      input: object({ path: Type.Optional(SearchPath) }),
      output: object({ agents: Type.Array(AgentViewSchema) }),
      handle: async ({ path }) => ({ agents: await agents.list(path) }),
    }),
  }
}
