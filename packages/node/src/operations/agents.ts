// /agents: what can take a turn here without a team file.
import { operation } from '@parley/call'
import { Type } from '@parley/core'
import { type AgentDirectory, AgentViewSchema } from '../agents/directory.ts'
import { closed, forOwner, SearchPath } from './spec.ts'

export interface AgentDeps {
  readonly agents: AgentDirectory
}

export function agentService({ agents }: AgentDeps) {
  return {
    '/agents/list': operation(
      {
        name: '/agents/list',
        opType: 'query',
        description: 'Configured agents and presets: whether their programs are there, and what they need.',
        inputSchema: Type.Object({ path: Type.Optional(SearchPath) }, closed),
        outputSchema: Type.Object({ agents: Type.Array(AgentViewSchema) }, closed),
        accessControl: forOwner,
      },
      async ({ path }) => ({ agents: [...(await agents.list(path))] }),
    ),
  }
}
