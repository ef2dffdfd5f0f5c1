// Every operation of a node, in one map. Its type is what clients know inputs and outputs from.
import { agentService } from './agents.ts'
import { budgetService } from './budget.ts'
import type { OperationDeps } from './deps.ts'
import { gateService } from './gates.ts'
import { highwayService } from './highway.ts'
import { knowledgeService } from './knowledge.ts'
import { linkService } from './link.ts'
import { movingWorkService } from './moving-work.ts'
import { nodeService } from './node.ts'
import { peerService } from './peers.ts'
import { resultService } from './results.ts'
import { runService } from './runs.ts'
import { sessionService } from './sessions.ts'
import { tokenService } from './tokens.ts'
import { trailFileService } from './trail/file.ts'
import { trailKeyService } from './trail/keys.ts'
import { trailStorageService } from './trail/storage.ts'
import { trailService } from './trail/trail.ts'
import { userService } from './users.ts'
import { workspaceService } from './workspaces.ts'

export function nodeOperations(deps: OperationDeps) {
  return {
    ...nodeService(deps),
    ...runService(deps),
    ...resultService(deps),
    ...budgetService(deps),
    ...gateService(deps),
    ...highwayService(deps),
    ...movingWorkService(deps),
    ...userService(deps),
    ...tokenService(deps),
    ...knowledgeService(deps),
    ...sessionService(deps),
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
