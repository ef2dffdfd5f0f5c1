// Every operation of a node, in one map. Its type is what clients know inputs and outputs from.
import { type AgentDeps, agentService } from './agents.ts'
import { type GateDeps, gateService } from './gates.ts'
import { type HighwayDeps, highwayService } from './highway.ts'
import { type NodeDeps, nodeService } from './node.ts'
import { type RunDeps, runService } from './runs.ts'
import { type TrailDeps, trailService } from './trail.ts'
import { type UserDeps, userService } from './users.ts'
import { type WorkspaceDeps, workspaceService } from './workspaces.ts'

export type OperationDeps = NodeDeps &
  RunDeps &
  GateDeps &
  HighwayDeps &
  UserDeps &
  TrailDeps &
  AgentDeps &
  WorkspaceDeps

export function nodeOperations(deps: OperationDeps) {
  return {
    ...nodeService(deps),
    ...runService(deps),
    ...gateService(deps),
    ...highwayService(deps),
    ...userService(deps),
    ...trailService(deps),
    ...agentService(deps),
    ...workspaceService(deps),
  }
}

export type NodeOperations = ReturnType<typeof nodeOperations>
