// Every operation of a node, in one map. Its type is what clients know inputs and outputs from.
import { type AgentDeps, agentService } from './agents.ts'
import { type BudgetDeps, budgetService } from './budget.ts'
import { type GateDeps, gateService } from './gates.ts'
import { type HighwayDeps, highwayService } from './highway.ts'
import { type LinkDeps, linkService } from './link.ts'
import { type MovingWorkDeps, movingWorkService } from './moving-work.ts'
import { type NodeDeps, nodeService } from './node.ts'
import { type PeerDeps, peerService } from './peers.ts'
import { type RunDeps, runService } from './runs.ts'
import { type TrailDeps, trailService } from './trail.ts'
import { type TrailFileDeps, trailFileService } from './trail-file.ts'
import { type TrailKeyDeps, trailKeyService } from './trail-keys.ts'
import { type TrailStorageDeps, trailStorageService } from './trail-storage.ts'
import { type UserDeps, userService } from './users.ts'
import { type WorkspaceDeps, workspaceService } from './workspaces.ts'

export type OperationDeps = NodeDeps &
  RunDeps &
  BudgetDeps &
  GateDeps &
  HighwayDeps &
  MovingWorkDeps &
  UserDeps &
  TrailDeps &
  TrailFileDeps &
  TrailKeyDeps &
  TrailStorageDeps &
  AgentDeps &
  LinkDeps &
  PeerDeps &
  WorkspaceDeps

export function nodeOperations(deps: OperationDeps) {
  return {
    ...nodeService(deps),
    ...runService(deps),
    ...budgetService(deps),
    ...gateService(deps),
    ...highwayService(deps),
    ...movingWorkService(deps),
    ...userService(deps),
    ...trailService(deps),
    ...trailFileService(deps),
    ...trailKeyService(deps),
    ...trailStorageService(deps),
    ...agentService(deps),
    ...linkService(deps),
    ...peerService(deps),
    ...workspaceService(deps),
  }
}

export type NodeOperations = ReturnType<typeof nodeOperations>
