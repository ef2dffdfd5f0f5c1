// Team files as the node and the command read them: with every kind of agent.
import { type TeamReader, teamReader } from '@parley/coordinator'
import type { TSchema } from '@parley/core'
import { agentKinds } from './kinds.ts'

const reader: TeamReader = teamReader(agentKinds)

export const teamSchema: TSchema = reader.schema
export const readTeam: TeamReader['read'] = reader.read
export const readTeamAgents: TeamReader['readAgents'] = reader.readAgents
export const { agentSchema } = reader
